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
        discussion: "Version, entities with their rows, features of the layout, side files, tables that are not Core "
            + "Data's, and damage. Without --models the model cached in the store is taken, if there is one.",
        operands: [MigrationInput.store],
        options: [
            .repeated(
                "--models", "PATH",
                "Model versions: .xcdatamodeld, .xcdatamodel, .momd, .mom, or a folder of them. May be repeated.")
        ], example: "ferry inspect App.sqlite --models App.xcdatamodeld")

    private let store: URL
    private let models: [String]

    init(from arguments: Arguments) throws(FerryError) {
        store = URL(filePath: arguments.operand(0))
        models = arguments.values("--models")
    }

    func run(on console: Console) throws -> ExitCode {
        let catalog = models.isEmpty ? ModelCatalog(versions: []) : try ModelCatalog(paths: models)
        let rendering = try StoreFiles(store).read { connection in
            try InspectRendering(
                path: store.filePath, contents: StoreContents(connection, catalog: catalog),
                size: StoreSize(store.filePath))
        }
        console.result(rendering.json, text: rendering.text)
        return .success
    }
}
