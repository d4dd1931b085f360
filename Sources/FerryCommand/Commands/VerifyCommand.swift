internal import Ferry
internal import FerryBase

struct VerifyCommand: Command {
    static let name = "verify"

    let arguments: Arguments

    private var store: FileURL { arguments.store }
    private var source: FileURL? { arguments.value("--source")?.fileURL }

    func run(on console: Console) throws -> ExitCode {
        let options = try options()
        let progress = try ProgressForm(arguments)
        return try ReportFile.named(by: arguments).written(VerificationRendering.title, of: store.filePath) {
            let stop = InterruptWatch.start(on: console)
            let renderer = ProgressRenderer(progress, on: console)
            defer { renderer.finish() }
            let verifier = try Verifier(store: store, models: arguments.models, mappings: arguments.mappings)
            let summary =
                if let source {
                    try verifier.verifyMigration(from: source, options, stop: stop) { renderer.show($0) }
                } else {
                    try verifier.verifyStore(options, stop: stop) { renderer.show($0) }
                }
            renderer.finish()
            let report = VerificationRendering(
                summary: summary, store: store.filePath, source: source?.filePath, isSample: options.sample < 1)
            console.result(report.json, text: report.text(width:))
            return (report, summary.differences.isEmpty ? .success : .differs)
        }
    }

    private func options() throws(FerryError) -> Verifier.Options {
        var options = Verifier.Options()
        options.checksIntegrity = arguments.has("--integrity")
        let sample = try arguments.value("--sample", "a percentage, such as 1%") { text in
            text.hasSuffix("%") ? Double(text.dropLast()).flatMap { $0 > 0 && $0 <= 100 ? $0 / 100 : nil } : nil
        }
        if let sample { options.sample = sample }
        if source == nil {
            for option in ["--mappings", "--sample"] where arguments.isTyped(option) {
                throw arguments.wrong("\(option) has no effect without --source.", "Leave it out.")
            }
        } else if arguments.values("--models").isEmpty {
            throw arguments.wrong("--source needs the models of both versions: --models PATH.")
        }
        return options
    }
}

struct VerificationRendering: CommandReport {
    static let title = "Verification"

    let summary: VerificationSummary
    let store: String
    /// The store that ``store`` was migrated from; nil if it was checked on its own.
    let source: String?
    var isSample = false

    private var mode: String { source == nil ? "store" : isSample ? "sample" : "full" }

    var json: JSON {
        [
            "mode": mode, "checked": summary.checked,
            "notRecomputed": summary.notRecomputed, "differences": summary.differencesJSON,
            "store": store, "source": source, "added": summary.added,
        ]
    }

    var report: Report {
        var what = "\(store): \(summary.checked.counting("row"))"
        if let source {
            what =
                "\(store) against \(source): \(summary.checked.counting("row")) compared"
                + (summary.notRecomputed > 0 ? ", \(summary.notRecomputed.counting("value")) not recomputed" : "")
        }
        let names = summary.added ?? []
        let reason =
            source == nil ? "Not Core Data's, and not checked" : "Added to the schema by the app, and not compared"
        let added: [Report.Part] = names.isEmpty ? [] : [.paragraph("\(reason): \(names.listed(8)).")]
        let advice = Template.messages.part(
            source == nil ? "verify store" : "verify source", ["store": ShellWord.quoted(store)])
        if summary.differences.isEmpty { return Report(Self.title, .good, "\(what), no differences.", added) }
        return Report(
            Self.title, .bad, "\(what), with differences:",
            [.space] + Report.Part.differences(summary.differences).dropFirst() + added + [
                .heading("What to do"), .remedy(advice),
            ])
    }
}

extension VerificationSummary {
    /// `differences` is their number; `found` lists them.
    var json: JSON {
        [
            "mode": mode.rawValue, "checked": checked, "notRecomputed": notRecomputed,
            "differences": differences.map(\.count).clampedSum, "found": differencesJSON,
        ]
    }

    fileprivate var differencesJSON: JSON {
        .list(differences) {
            [
                "check": $0.check.rawValue, "entity": $0.entity, "property": $0.property, "count": $0.count,
                "example": $0.example,
            ]
        }
    }

    var words: String {
        if mode == .none { return "none" }
        return "\(mode.rawValue): " + (checked > 0 ? "\(checked.counting("row")) compared, " : "")
            + (differences.isEmpty ? "no differences" : Int64(differences.count).counting("difference"))
            + (notRecomputed > 0 ? "; \(notRecomputed.counting("value")) not recomputed" : "")
    }
}
