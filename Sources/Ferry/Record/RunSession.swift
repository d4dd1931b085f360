internal import FerryBase

/// A run at work: its folder, held by its lock, and its record, whose changes ``save()`` makes durable.
package protocol RunSession: AnyObject {
    var folder: RunFolder { get }
    var head: RunHead { get set }
    var record: RunRecord { get }
    /// Whether the run changes the store itself by steps in place, whose end is not recorded.
    var isUnfinishedInPlace: Bool { get }
}

extension RunSession {
    package func save() throws { try folder.save(record) }
}

package final class MigrationSession: RunSession {
    package let folder: RunFolder
    package var head: RunHead
    var migration: RunRecord.Migration

    package init(_ folder: RunFolder, _ head: RunHead, _ migration: RunRecord.Migration) {
        (self.folder, self.head, self.migration) = (folder, head, migration)
    }

    package var record: RunRecord { RunRecord(head: head, content: .migration(migration)) }

    package var isUnfinishedInPlace: Bool {
        migration.isInPlace && !migration.runsInFolder && migration.options.output == nil
    }

    /// Whether this run gave a store the hashes of a version.
    func isCommitted(to version: String) -> Bool {
        isUnfinishedInPlace && migration.steps.count == migration.stepCount && migration.to == version
    }

    /// The finished store of a step, counted from 1.
    func destination(ofStep number: Int) -> String { folder.stepFolder(number) + "/destination.sqlite" }

    /// Checks that the last step's destination is still the verified file.
    ///
    /// - Throws: ``FerryError`` `.destinationChanged`.
    func checkVerified(_ destination: String, of store: String) throws {
        guard let verified = migration.steps.last?.destination else { return }
        guard try folder.files.attributesIfPresent(destination).map(FileState.init) != verified else { return }
        throw FerryError(
            .destinationChanged,
            "\(destination) was modified or removed after verification. \(store) is unchanged.",
            remedy: "\(action: .again) with \(on: .restart), which recreates the new store.")
    }

    /// Takes the record as it was last saved; without one, nothing was saved.
    ///
    /// - Returns: Whether there is one.
    func takeSaved() -> Bool {
        guard let record = folder.record, case .migration(let migration) = record.content else { return false }
        (head, self.migration) = (record.head, migration)
        return true
    }
}

package final class RollbackSession: RunSession {
    package let folder: RunFolder
    package var head: RunHead
    var rollback: RunRecord.Rollback

    init(_ folder: RunFolder, _ head: RunHead, _ rollback: RunRecord.Rollback = .init()) {
        (self.folder, self.head, self.rollback) = (folder, head, rollback)
    }

    package var record: RunRecord { RunRecord(head: head, content: .rollback(rollback)) }
    package var isUnfinishedInPlace: Bool { false }
}

extension RunFolder {
    /// The session of the run whose record is in the folder; nil if there is none.
    package func session(of record: RunRecord?) -> (any RunSession)? {
        guard let record else { return nil }
        switch record.content {
        case .migration(let migration): return MigrationSession(self, record.head, migration)
        case .rollback(let rollback): return RollbackSession(self, record.head, rollback)
        }
    }
}
