internal import Ferry
internal import FerryBase
internal import FerryGenerate
internal import FerryModel

struct GenerateCommand: Command {
    static let name = "generate"

    private static let counts: ClosedRange<Int64> = 0...1_000_000_000_000

    let arguments: Arguments

    func run(on console: Console) throws -> ExitCode {
        let options = try options()
        let progress = try ProgressForm(arguments)
        let files = FileLayer()
        let named = try VersionWord(arguments.operands[0]).version(named: arguments.value("--version"))
        let (version, warnings) = try TargetNames(
            like: arguments.value("--like") ?? (named.isStore ? named.path : nil),
            joinTables: arguments.values("--join-table")
        ).settled(named, files: files)
        for warning in warnings { console.warn("\(warning) Use --like to choose another name.") }
        let names = version.model.sortedEntityNames
        if let name = options.rowsOfEntity.keys.sorted().first(where: { !names.contains($0) }) {
            throw FerryError(
                .usage, "The model has no entity \(name) (--rows-of).",
                remedy: NearNames.question(for: name, among: names)
                    ?? "Its entities: \(names.joined(separator: ", ")).")
        }
        let renderer = ProgressRenderer(progress, on: console)
        defer { renderer.finish() }
        let output = arguments.value("--output") ?? ""
        try WritePlace.checkStoreName(output)
        try WritePlace().check(output, endings: [])
        let generator = try StoreGenerator(version, options: options)
        let start = Clock.nanoseconds()
        try FerryError.wrapping(on: output) { try generator.generate(at: output, files: files) { renderer.show($0) } }
        let seconds = Clock.seconds(since: start)
        renderer.finish()
        let bytes = try files.attributes(output).size
        let rows = generator.rows.inOrder { codeUnitOrder($0.key, $1.key) }
        let total = generator.rows.values.reduce(0, +)
        console.result(
            [
                "store": output, "rows": total, "seed": Int64(options.seed), "bytes": bytes, "version": version.name,
                "entities": JSON.list(rows) { ["name": $0.key, "rows": $0.value] },
                "wallSeconds": seconds, "peakResidentBytes": ProcessUse.peakMemory(),
            ],
            text: [
                "Wrote \(output): \(total.counting("row")) of version \(version.name), "
                    + "\(bytes.bytesInUnits)."
            ]
                + rows.filter { $0.value > options.rowsOfEntity[$0.key] ?? options.rows }
                .map { "  \($0.key): \($0.value.counting("row")), as mandatory relationships require." })
        return .success
    }

    private func options() throws(FerryError) -> GenerationOptions {
        var options = GenerationOptions(
            rows: try arguments.count("--rows", in: Self.counts) ?? 1_000,
            seed: UInt64(try arguments.count("--seed", in: 0...Int64.max) ?? 1))
        for text in arguments.values("--rows-of") {
            let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2, let count = Quantity.count(parts[1]), Self.counts.contains(count) else {
                throw arguments.wrong("--rows-of cannot be \"\(text)\".", "Expected an entity and a number: Book=1000.")
            }
            options.rowsOfEntity[parts[0]] = count
        }
        return options
    }
}
