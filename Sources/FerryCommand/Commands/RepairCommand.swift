internal import Ferry
internal import FerryBase

struct RepairCommand: PolicyCommand {
    static let recover = Syntax.Option.flag(
        "--recover",
        "If a program was interrupted while writing to the store (a hot journal), let SQLite roll its changes back, "
            + "after copying both files to the snapshot folder.")
    static let missing = Syntax.Option.flag(
        "--missing",
        "Create tables and columns of the store's version that are missing: empty, or with the model's default values.")
    static let dropUnknown = Syntax.Option.repeated(
        "--drop-unknown", "NAME",
        "Drop an object that is not Core Data's, such as a view that a migration cannot carry over. May be repeated.")
    static let adopt = Syntax.Option.flag(
        "--adopt",
        "Migrate the store, and take over the values of columns that an unfinished attempt left in it, instead of "
            + "losing them.")
    private static let own = [recover, missing, dropUnknown, adopt]

    static let syntax = Syntax(
        "repair", summary: "Repair a store that a migration refuses.",
        discussion: """
            Takes a snapshot and changes the store in one transaction, without another version; with --output, changes \
            a copy. Only --adopt migrates, with the options of ferry migrate. Without --models, the model cached in the \
            store is used.
            """,
        operands: [MigrationInput.store],
        options: own + [MigrationInput.models()]
            + MigrateCommand.syntax.options.filter { option in
                let names = [
                    "--mappings", "--to", "--lose", "--accept-loss", "--damaged", "--config", "--wait",
                    "--snapshot", "--snapshot-dir", "--output", "--progress",
                ]
                return names.contains(option.name)
            },
        common: own.map(\.name) + ["--models", "--output", "--snapshot-dir", "--json"],
        example: "ferry repair App.sqlite --models App.xcdatamodeld --missing")

    let arguments: Arguments

    func run(on console: Console, policies: [String: PolicyFactory]) throws -> ExitCode {
        let recovers = arguments.has(Self.recover.name)
        let adopts = arguments.has(Self.adopt.name)
        let unknown = arguments.values(Self.dropUnknown.name)
        let repairs = arguments.has(Self.missing.name)
        guard recovers || adopts || repairs || !unknown.isEmpty else {
            throw arguments.wrong(
                "Nothing to repair is named.", "Give one of: \(Self.own.map(\.name).joined(separator: ", ")).")
        }
        if recovers {
            let copies = try StoreFiles(arguments.store).recoverJournal(snapshots: arguments.snapshotFolder)
            let text =
                copies.map { "SQLite rolled back the hot journal; copies of both files are in \($0.filePath)." }
                ?? "\(arguments.operands[0]) has no hot journal: there is nothing to recover."
            guard adopts || repairs || !unknown.isEmpty else {
                console.result(["store": arguments.operands[0], "copies": copies?.filePath], text: [text])
                return .success
            }
            console.warn(text)
        }
        let isCopy = arguments.value("--output") != nil
        var words = arguments.words(
            without: Set(Self.own.map(\.name) + (isCopy ? ["--snapshot", "--snapshot-dir"] : [])))
        if arguments.values("--models").isEmpty { words.insert("--models=\(arguments.operands[0])", at: 0) }
        var migration = try StoreMigration(Arguments(words, for: MigrateCommand.syntax))
        migration.configuration.repairs = repairs
        migration.configuration.adopts = adopts
        migration.configuration.dropUnknown = unknown
        migration.configuration.keepsVersion = !adopts
        if adopts { try migration.ask(before: arguments.operands, policies, on: console) }
        return migration.report(on: console, stop: InterruptWatch.start(on: console), policies: policies).code
    }
}
