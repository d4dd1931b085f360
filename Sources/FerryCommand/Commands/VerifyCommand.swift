internal import Ferry
internal import FerryBase

struct VerifyCommand: Command {
    static let syntax = Syntax(
        "verify", summary: "Check a store, or compare it with the one it came from.",
        discussion: "Checks a store against its model: metadata, numbers, keys, references, inverses, "
            + "mandatory and unique values, derived values, index entries, external files, and SQLite's quick_check. "
            + "With --source, every row and relationship is computed again from the old store and compared, as a "
            + "migration of one step does before it ends. Exits with 3 if there are differences.\n"
            + "Values of now() are compared if the store's ferry-log.json has the time; otherwise they count as not "
            + "recomputed. Without --models, the model cached in the store is used.",
        operands: [MigrationInput.store],
        options: [
            MigrationInput.models(),
            .value("--source", "OLD", "The store that STORE was migrated from: a copy, or a restored snapshot."),
            .repeated("--mappings", "PATH", "The mapping models of that migration. May be repeated."),
            .flag("--integrity", "Run SQLite's integrity_check instead of quick_check. This takes much longer."),
            .value(
                "--sample", "P%", "Compare the values of only this part of the rows; all are counted. Default: 100%."),
            ReportFile.option, ProgressForm.option, ConfigFile.option,
        ],
        common: [
            "--models", "--source", "--mappings", "--sample", "--integrity", "--report", "--json",
        ],
        example: "ferry verify App.sqlite --models App.xcdatamodeld --source Old.sqlite --mappings Mappings")

    let arguments: Arguments

    private var store: FileURL { arguments.store }
    private var source: FileURL? { arguments.value("--source")?.fileURL }

    func run(on console: Console) throws -> ExitCode {
        let options = try options()
        let progress = try ProgressForm(arguments)
        return try ReportFile(from: arguments).written(VerificationRendering.title, of: store.filePath) {
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
