internal import Ferry
internal import FerryBase
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

struct InspectCommand: Command {
    static let syntax = Syntax(
        "inspect", summary: "Tells what a store is and what is in it; touches nothing.",
        discussion: "Version, entities with their rows and bytes, features of the layout, side files, history and "
            + "CloudKit tables, objects that are not Core Data's, what earlier versions left, and damage. Without "
            + "--models the model cached in the store is taken, if there is one. Where no version fits, the nearest one "
            + "is named with the entities that differ, and why.\n"
            + "A store above 64 MiB is only looked at, which takes a moment whatever its size: rows are estimated (~), "
            + "bytes of tables and damage are left out. --full reads it all.",
        operands: [MigrationInput.store],
        options: [
            .repeated(
                "--models", "PATH",
                "Model versions: .xcdatamodeld, .xcdatamodel, .momd, .mom, or a folder of them. May be repeated."),
            .flag("--full", "Count every row, measure every table and look for damage, whatever the store's size."),
            ConfigFile.option,
        ], example: "ferry inspect App.sqlite --models App.xcdatamodeld")

    /// Reading this much takes well below a second.
    private static let smallBytes: Int64 = 64 << 20

    private let store: URL
    private let models: [String]
    private let isFull: Bool

    init(from arguments: Arguments) throws(FerryError) {
        store = URL(filePath: arguments.operand(0))
        models = arguments.values("--models")
        isFull = arguments.has("--full")
    }

    func run(on console: Console) throws -> ExitCode {
        let catalog = models.isEmpty ? ModelCatalog(versions: []) : try ModelCatalog(paths: models)
        // Before SQLite opens the store: what is there now is the store's, not this command's.
        let size = try FileLayer().exists(store.filePath) ? StoreSize(store.filePath) : nil
        let rendering = try StoreFiles(store).read { connection in
            let size = try size ?? StoreSize(store.filePath)
            let isSmall = size.bytes + size.logBytes <= InspectCommand.smallBytes
            return try InspectRendering(
                path: store.filePath,
                contents: StoreContents(connection, catalog: catalog, isFull: isFull || isSmall), size: size,
                hasModels: !models.isEmpty)
        }
        console.result(rendering.json, text: rendering.text(width:))
        return .success
    }
}
