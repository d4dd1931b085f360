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
