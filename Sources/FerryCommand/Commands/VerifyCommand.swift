internal import Ferry
internal import FerryBase

struct VerifyCommand: Command {
    static let syntax = Syntax(
        "verify", summary: "Checks a store, or a store against the one it was migrated from; touches nothing.",
        discussion: "By itself, a store is checked against its model: metadata, numbers, keys, references, inverses, "
            + "mandatory and unique values, derived values, index entries, external files, and SQLite's quick_check. "
            + "With --source every row and relationship is computed again from the old store and compared, as a "
            + "migration of one step does before it ends. Differences give exit 3.\n"
            + "What now() gave is compared where the store's ferry-log.json tells the time; else it counts as not "
            + "recomputed. Without --models the model cached in the store is taken.",
        operands: [MigrationInput.store],
        options: [
            .repeated(
                "--models", "PATH",
                "Model versions: .xcdatamodeld, .xcdatamodel, .momd, .mom, or a folder of them. May be repeated."),
            .value("--source", "OLD", "The store that STORE was migrated from: a copy, or a restored snapshot."),
            .repeated("--mappings", "PATH", "The mapping models of that migration. May be repeated."),
            .flag("--integrity", "SQLite's integrity_check instead of quick_check; takes much longer."),
            .value(
                "--sample", "P%", "Compare the values of that part of the rows only; all are counted. Default: 100%."),
            jobs, ReportFile.option, ProgressForm.option, ConfigFile.option,
        ],
        example: "ferry verify App.sqlite --models App.xcdatamodeld --source Old.sqlite --mappings Mappings")

    static let jobs = Syntax.Option.value(
        "--jobs", "N",
        "How many parts are verified at one time. Default: as many as there are processors, and as the memory limit "
            + "allows. What is found is the same for any number."
    )

    static func jobs(_ arguments: Arguments) throws(FerryError) -> Int? {
        try arguments.count("--jobs", in: 1...1_000).map { Int($0) }
    }

    private let store: FileURL
    private let source: FileURL?
    private let models: [ModelSource]
    private let mappings: [MappingSource]
    private var options = Verifier.Options()
    private let progress: ProgressForm
    private let report: ReportFile?

    init(from arguments: Arguments) throws(FerryError) {
        store = arguments.operand(0).fileURL
        source = arguments.value("--source")?.fileURL
        models = arguments.values("--models").map { .url($0.fileURL) }
        mappings = arguments.values("--mappings").map { .url($0.fileURL) }
        options.checksIntegrity = arguments.has("--integrity")
        options.jobs = try Self.jobs(arguments)
        progress = try arguments.choice("--progress", among: ProgressForm.allCases) ?? .auto
        report = try ReportFile(from: arguments)
        if let text = arguments.value("--sample") {
            guard text.hasSuffix("%"), let part = Double(text.dropLast()), part > 0, part <= 100 else {
                throw arguments.wrong("--sample cannot be \"\(text)\".", "It is a part of the rows, like 1%.")
            }
            options.sample = part / 100
        }
        guard source == nil else {
            if models.isEmpty { throw arguments.wrong("--source needs the models of both versions: --models PATH.") }
            return
        }
        for option in ["--mappings", "--sample"] {
            if arguments.isTyped(option) {
                throw arguments.wrong("\(option) has no meaning without --source.", "Leave it out.")
            }
        }
    }

    func run(on console: Console) throws -> ExitCode {
        try report.written(.verify, of: store.filePath) {
            let summary = try verified(on: console)
            let members = json(summary)
            console.result(members) { text(summary, width: $0) }
            return (members, summary.differences.isEmpty ? .success : .differs)
        }
    }

    private func verified(on console: Console) throws -> VerificationSummary {
        let stop = StopRequest()
        InterruptWatch.start(stop, on: console)
        let renderer = progress.renderer(on: console)
        defer { renderer.finish() }
        let verifier = try Verifier(store: store, models: models, mappings: mappings)
        if let source { return try verifier.verifyMigration(from: source, options, stop: stop) { renderer.show($0) } }
        return try verifier.verifyStore(options, stop: stop) { renderer.show($0) }
    }

    private func json(_ summary: VerificationSummary) -> [(String, JSON)] {
        let differences = summary.differences.map { difference in
            JSON.object([
                "check": difference.check.rawValue, "entity": difference.entity, "count": difference.count,
                "example": difference.example,
            ])
        }
        return JSON.members([
            "mode": source == nil ? "store" : options.sample < 1 ? "sample" : "full", "checked": summary.checked,
            "notRecomputed": summary.notRecomputed, "differences": differences, "store": store.filePath,
            "source": source?.filePath,
        ])
    }

    private func text(_ summary: VerificationSummary, width: Int) -> [String] {
        let what =
            source.map { old in
                let values =
                    summary.notRecomputed > 0
                    ? ", \(summary.notRecomputed.counting("value")) not recomputed" : ""
                return "\(store.filePath) against \(old.filePath): \(summary.checked.counting("row")) compared"
                    + values
            } ?? "\(store.filePath): \(summary.checked.counting("row"))"
        guard !summary.differences.isEmpty else { return [Emphasis.good.mark("\(what), no differences.")] }
        var table = TextTable(["Check", "Entity", "Count", "Example"], [.left, .left, .right, .left])
        for difference in summary.differences {
            table.add([
                difference.check.rawValue, difference.entity ?? "", Quantity.grouped(difference.count),
                difference.example ?? "",
            ])
        }
        return [Emphasis.bad.mark("\(what), with differences:"), ""] + table.lines(width: width)
    }
}
