internal import FerryBase
internal import FerrySnapshot
public import Foundation

/// A migration or a rollback that has ended, as the log beside the store describes it.
public struct FinishedRun: Sendable, Codable {
    public var id: String
    /// Whether the run put a snapshot back; otherwise it is a migration.
    public var isRollback: Bool
    /// Nil if the log has no readable time.
    public var finished: Date?
    /// The tool, with its version.
    public var tool: String
    /// The version before the run; nil if unknown.
    public var from: String?
    /// The version after the run; nil if unknown.
    public var to: String?
    /// The versions of a migration, from the store's to the target.
    public var chain: [String]
    /// The rows of the migrated store; nil for a rollback.
    public var rows: Int64?
    /// What the migration lost, as counted by the run; nil for a rollback, and in logs of earlier versions.
    public var losses: [Loss]?
    /// The snapshot taken before the migration, or the one that the rollback put back.
    public var snapshot: URL?
    /// Whether the snapshot is still where the run left it.
    public var hasSnapshot: Bool
    /// The time of the last rollback to the snapshot from before this migration; nil if there was none.
    public var rolledBack: Date?
    /// Whether the store was rolled back to its state before this migration.
    public var isRolledBack: Bool
}

extension StoreFiles {
    /// The last runs that ended on the store, oldest first; the log keeps twenty.
    ///
    /// - Throws: ``FerryError`` `.badLog` when the log cannot be read.
    public func history() throws -> [FinishedRun] {
        let entries = try RunLog(beside: realPath(), files: files).entries()
        var runs: [FinishedRun] = []
        for entry in entries {
            let isRollback = entry.kind == .rollback
            let last = entry.entityMappings.map(\.step).max()
            var run = FinishedRun(
                id: entry.id, isRollback: isRollback, finished: RunLog.date(entry.finished), tool: entry.tool,
                from: entry.from, to: entry.to, chain: entry.chain,
                rows: isRollback ? nil : entry.entityMappings.filter { $0.step == last }.map(\.written).clampedSum,
                losses: isRollback ? nil : entry.losses, snapshot: entry.snapshot.map { URL(fileURLWithPath: $0) },
                hasSnapshot: false, isRolledBack: false)
            let snapshot = try entry.snapshot.flatMap { try SnapshotStore.left(at: $0, files: files) }
            if let snapshot { run.snapshot = URL(fileURLWithPath: snapshot.archivePath) }
            run.hasSnapshot = try run.snapshot.map { try files.exists($0.path) } ?? false
            if isRollback {
                run.from = runs.last?.to
                run.to = snapshot?.version
                noteRollback(to: entry.snapshot, of: run.to, at: run.finished, in: &runs)
            }
            runs.append(run)
        }
        return runs
    }

    /// Marks the migrations that a rollback to a snapshot has undone: the one that took it, and those after it.
    private func noteRollback(
        to snapshot: String?, of version: String?, at time: Date?, in runs: inout [FinishedRun]
    ) {
        guard let snapshot else { return }
        let name = Snapshot.name(ofArchive: snapshot)
        // The store may have been moved, so only names count.
        let first = runs.lastIndex { !$0.isRollback && $0.snapshot.map { Snapshot.name(ofArchive: $0.path) } == name }
        guard let first else {
            // A rollback that undoes one restores what that has replaced.
            let again = runs.lastIndex { $0.isRolledBack && $0.to == version }
            for index in runs.indices.prefix((again ?? -1) + 1) {
                (runs[index].isRolledBack, runs[index].rolledBack) = (false, nil)
            }
            return
        }
        for index in runs.indices[first...] where !runs[index].isRollback {
            (runs[index].isRolledBack, runs[index].rolledBack) = (true, time)
        }
    }
}
