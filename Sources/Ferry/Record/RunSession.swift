internal import FerryBase

/// A run at work: its folder, held by its lock, and its record, whose changes ``save()`` makes durable.
package class RunSession {
    package let folder: RunFolder
    /// The record; ``MigrationSession`` has what only a migration has.
    package var head: RunRecord

    package init(_ folder: RunFolder, _ head: RunRecord) {
        (self.folder, self.head) = (folder, head)
    }

    package var record: RunRecord { head }
    /// Whether all work before the commit is recorded, so that the store can be the new one.
    var isComplete: Bool { true }

    package final func save() throws { try folder.save(record) }
}

package final class MigrationSession: RunSession {
    var migration: RunRecord.Migration

    package init(_ folder: RunFolder, _ head: RunRecord, _ migration: RunRecord.Migration) {
        self.migration = migration
        super.init(folder, head)
    }

    package override var record: RunRecord {
        var record = head
        record.migration = migration
        return record
    }

    override var isComplete: Bool { migration.steps.count == migration.stepCount }

    /// Whether the run is one transaction on the store itself.
    var isOnStore: Bool { migration.isInPlace && !migration.runsInFolder && migration.options.output == nil }

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
        guard let record = folder.record, let migration = record.migration else { return false }
        (head, self.migration) = (record, migration)
        return true
    }
}

extension RunFolder {
    /// The session of the run whose record is in the folder; nil if there is none.
    package func session(of record: RunRecord?) -> RunSession? {
        guard let record else { return nil }
        return record.migration.map { MigrationSession(self, record, $0) } ?? RunSession(self, record)
    }
}
