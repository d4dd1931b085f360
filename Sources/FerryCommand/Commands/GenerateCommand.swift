internal import FerryBase
internal import FerryGenerate
internal import FerryModel

struct GenerateCommand: Command {
    static let syntax = Syntax(
        "generate", summary: "Makes a store of any size for a model, for tests and benchmarks.",
        discussion: "Fills a new store of the model's current version with seeded, plausible data: attributes of all "
            + "types, relationships, external values of 100 kB to 5 MB. The same model, numbers and seed give the same "
            + "store.",
        operands: [.init("MODEL", "An .xcdatamodeld, .xcdatamodel, .momd or .mom.")],
        options: [
            .value("--rows", "N", "Rows of each entity that --rows-of does not name.", isRequired: true),
            .repeated("--rows-of", "ENTITY=N", "Rows of one entity. May be repeated."),
            .value("--seed", "S", "A whole number that all values follow from. Default: 1."),
            .value("--output", "STORE", "The new store; nothing may be there yet.", isRequired: true),
            ProgressForm.option,
        ],
        example: "ferry generate App.xcdatamodeld --rows 100000 --rows-of Tag=50 --output Big.sqlite")

    private static let counts: ClosedRange<Int64> = 0...1_000_000_000_000

    private let model: String
    private let rows: Int64
    private let rowsOfEntity: [String: Int64]
    private let seed: UInt64
    private let output: String
    private let progress: ProgressForm

    init(from arguments: Arguments) throws(FerryError) {
        model = arguments.operand(0)
        rows = try arguments.count("--rows", in: GenerateCommand.counts) ?? 0
        seed = UInt64(try arguments.count("--seed", in: 0...Int64.max) ?? 1)
        output = arguments.value("--output") ?? ""
        progress = try arguments.choice("--progress", among: ProgressForm.allCases) ?? .auto
        var rowsOfEntity: [String: Int64] = [:]
        for text in arguments.values("--rows-of") {
            let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2, let count = Quantity.count(parts[1]), GenerateCommand.counts.contains(count) else {
                throw arguments.wrong("--rows-of cannot be \"\(text)\".", "It is an entity and a number: Book=1000.")
            }
            rowsOfEntity[parts[0]] = count
        }
        self.rowsOfEntity = rowsOfEntity
    }

    func run(on console: Console) throws -> ExitCode {
        let version = try currentVersion()
        try checkEntities(of: version.model)
        let renderer = progress.renderer(on: console)
        defer { renderer?.finish() }
        let files = FileLayer()
        let options = GenerationOptions(rows: rows, rowsOfEntity: rowsOfEntity, seed: seed)
        try StoreGenerator(version, options: options).generate(at: output, files: files) { renderer?.show($0) }
        renderer?.finish()
        let bytes = try files.attributes(output).size
        let total = version.model.entities.values.filter { !$0.isAbstract }
            .reduce(Int64(0)) { $0 + (rowsOfEntity[$1.name] ?? rows) }
        console.result(
            [
                ("store", .string(output)), ("rows", .integer(total)), ("seed", .integer(Int64(seed))),
                ("bytes", .integer(bytes)), ("version", .string(version.name)),
            ],
            text: [
                "Wrote \(output): \(Quantity.grouped(total)) rows of version \(version.name), "
                    + "\(Quantity.sizeText(bytes))."
            ])
        return .success
    }

    private func currentVersion() throws(FerryError) -> ModelVersion {
        let catalog = try ModelCatalog(paths: [model])
        if let version = catalog.currentVersion() { return version }
        let names = catalog.versions.map { catalog.displayName(of: $0) }.joined(separator: ", ")
        throw FerryError(
            .ambiguousVersion, "\(model) names no current version; it has \(names).",
            remedy: "Name one version's .xcdatamodel instead.")
    }

    private func checkEntities(of model: ManagedObjectModel) throws(FerryError) {
        for name in rowsOfEntity.keys.sorted() where model.entities[name] == nil {
            let nearest = NearNames.near(to: name, among: model.sortedEntityNames).first
            throw FerryError(
                .usage, "--rows-of names \(name), which is no entity of the model.",
                remedy: nearest.map { "Did you mean \($0)?" }
                    ?? "Its entities: \(model.sortedEntityNames.joined(separator: ", ")).")
        }
    }
}
