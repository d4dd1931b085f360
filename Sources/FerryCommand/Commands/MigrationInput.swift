internal import Ferry
internal import FerryBase

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

/// The words that `plan` and `migrate` share: a store, model versions, mapping models, a target.
struct MigrationInput {
    static let store = Syntax.Operand("STORE", "The store's main file (not its -wal).")
    static let options: [Syntax.Option] = [
        .repeated(
            "--models", "PATH",
            "Model versions: .xcdatamodeld, .xcdatamodel, .momd, .mom, or a folder of them. May be repeated.",
            isRequired: true),
        .repeated(
            "--mappings", "PATH",
            "Mapping models: .xcmappingmodel, .cdm, Ferry's JSON, or a folder of them. May be repeated."),
        .value("--to", "VERSION", "The version to migrate to, by name or Bundle/Name. Default: the current version."),
        .value("--executor", "WHO", "What carries the rows: auto (default), row (Swift), or set (SQL, or refuse)."),
    ]

    let store: URL
    let target: String?
    let executor: Configuration.Executor
    private let models: [ModelSource]
    private let mappings: [MappingSource]

    init(from arguments: Arguments) throws(FerryError) {
        executor = try arguments.choice("--executor", among: Configuration.Executor.allCases) ?? .automatic
        store = URL(filePath: arguments.operand(0))
        target = arguments.value("--to")
        models = arguments.values("--models").map { .url(URL(filePath: $0)) }
        mappings = arguments.values("--mappings").map { .url(URL(filePath: $0)) }
    }

    func migrator(_ policies: [String: PolicyFactory]) throws -> Migrator {
        try Migrator(store: store, models: models, mappings: mappings, policies: policies)
    }
}

extension URL {
    /// - Throws: `.notFound` when there is no store at this path: then it is no answer that nothing was found beside it.
    func checkStoreExists() throws(FerryError) {
        guard try !FileLayer().exists(filePath) else { return }
        throw FerryError(.notFound, "There is no store at \(filePath).", remedy: "Check the path.")
    }
}
