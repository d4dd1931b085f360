internal import Ferry
internal import FerryBase

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

struct RollbackCommand: Command {
    static let syntax = Syntax(
        "rollback", summary: "Puts a snapshot back in the place of the store.",
        discussion: "Reads the snapshot through first: a damaged one is refused (exit 2) and the store stays as it is. "
            + "Without a name the newest snapshot is taken, by its number. What is replaced is kept until the swap has succeeded.",
        operands: [MigrationInput.store, SnapshotOptions.snapshot], options: [SnapshotOptions.folder],
        example: "ferry rollback App.sqlite")

    private let store: URL
    private let snapshot: URL?
    private let folder: URL?

    init(from arguments: Arguments) throws(FerryError) {
        store = URL(filePath: arguments.operand(0))
        snapshot = arguments.optionalOperand(1).map { URL(filePath: $0) }
        folder = SnapshotOptions.folder(arguments)
    }

    func run(on console: Console) throws -> ExitCode {
        let report = try StoreFiles(store).rollback(to: snapshot, folder: folder)
        console.result(
            [
                ("outcome", .string("rolledBack")), ("store", .string(report.store.filePath)),
                ("snapshot", .string(report.snapshot.filePath)), ("replaced", .string(report.replaced)),
                ("version", .string(report.version)), ("sequence", .integer(report.sequence)),
                ("reason", .string(report.reason)),
            ],
            text: [
                "\(report.store.filePath) has version \(report.version ?? "unknown") again"
                    + (report.replaced.map { ", instead of \($0)." } ?? "."),
                "From \(report.snapshot.filePath), which is kept.",
            ] + (report.reason.map { ["\(number(report)) was taken: \($0)."] } ?? []))
        return .success
    }

    private func number(_ report: RollbackReport) -> String {
        report.sequence.map { "Snapshot \($0)" } ?? "This snapshot"
    }
}
