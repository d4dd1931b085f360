internal import Ferry
internal import FerryBase

struct RepairCommand: Command {
    private static let own = ["--recover", "--missing", "--drop-unknown", "--adopt"]

    static let name = "repair"

    let arguments: Arguments

    func run(on console: Console) throws -> ExitCode {
        let recovers = arguments.has("--recover")
        let adopts = arguments.has("--adopt")
        let unknown = arguments.values("--drop-unknown")
        let repairs = arguments.has("--missing")
        guard recovers || adopts || repairs || !unknown.isEmpty else {
            throw arguments.wrong(
                "Nothing to repair is named.", "Give one of: \(Self.own.joined(separator: ", ")).")
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
            without: Set(Self.own + (isCopy ? ["--snapshot", "--snapshot-dir"] : [])))
        if arguments.values("--models").isEmpty { words.insert("--models=\(arguments.operands[0])", at: 0) }
        var migration = try StoreMigration(Arguments(words, for: MigrateCommand.syntax, policies: arguments.policies))
        migration.configuration.repairs.missingParts = repairs
        migration.configuration.repairs.adoption = adopts
        migration.configuration.repairs.removals = unknown
        migration.configuration.repairs.keepsVersion = !adopts
        if adopts { try migration.ask(before: arguments.operands, on: console) }
        return migration.report(on: console, stop: InterruptWatch.start(on: console)).code
    }
}
