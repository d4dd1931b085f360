internal import Ferry
internal import FerryBase
internal import FerrySnapshot

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

/// The words that the commands about snapshots share; they tell the form that this build writes.
enum SnapshotOptions {
    private static let form = SnapshotForm.preferred
    /// What is said of the words that name an archive.
    private static let archive = "The archive (…\(form.ending))."

    static let snapshot = Syntax.Operand("SNAPSHOT", .optional, "\(archive) Default: the newest in the folder.")
    static let snapshotAmongAll = Syntax.Operand("SNAPSHOT", .optional, "\(archive) Default: all of the folder.")
    static let folder = Syntax.Option.value(
        "--snapshot-dir", "DIR", "The folder of the snapshots. Default: STORE.snapshots.")

    static let levelOption = Syntax.Option.value(
        "--snapshot-level", "N",
        "The level of \(form.name), \(form.levels.lowerBound) (default, quick) to \(form.levels.upperBound) (small).")
    /// How an archive becomes a database without Ferry.
    static let restoring = "Stock \(form.program) -d restores the database."

    static func folder(_ arguments: Arguments) -> URL? { arguments.value("--snapshot-dir").map { URL(filePath: $0) } }

    static func level(_ arguments: Arguments) throws(FerryError) -> Int {
        let levels = Int64(form.levels.lowerBound)...Int64(form.levels.upperBound)
        guard let level = try arguments.count("--snapshot-level", in: levels) else { return form.levels.lowerBound }
        return Int(level)
    }
}

/// Snapshots as text and as JSON.
struct SnapshotRendering {
    let entries: [SnapshotEntry]

    var json: [(String, JSON)] { [("snapshots", list)] }

    var list: JSON {
        let snapshots = entries.map { entry in
            var members: [(String, JSON)] = [
                ("path", .string(entry.url.filePath)), ("created", .string(entry.created.formatted(.iso8601))),
                ("version", .string(entry.version)), ("bytes", .integer(entry.bytes)),
                ("compressedBytes", .integer(entry.compressedBytes)),
                ("verified", entry.verified.map { .bool($0) } ?? .null), ("sequence", .integer(entry.sequence)),
            ]
            if let problem = entry.problem { members.append(("problem", problem.json)) }
            return JSON.object(members)
        }
        return .array(snapshots)
    }

    func text(width: Int) -> [String] {
        var table = TextTable(
            ["No.", "Created", "Version", "Size", "Archive", "State", "Path"],
            [.right, .left, .left, .right, .right, .left, .left])
        for entry in entries {
            let state = entry.problem != nil ? "damaged" : entry.verified == true ? "whole" : "not read"
            table.add([
                entry.sequence.map(String.init) ?? "", entry.created.formatted(.iso8601), entry.version ?? "?",
                Quantity.sizeText(entry.bytes),
                Quantity.sizeText(entry.compressedBytes), state, entry.url.filePath,
            ])
        }
        return table.lines(width: width) + entries.flatMap { $0.problem?.lines ?? [] }
    }
}
