internal import FerryBase

/// A run at work: its folder, held by its lock, and its record, whose changes ``save()`` makes durable.
package final class RunSession {
    package let folder: RunFolder
    package var head: RunRecord

    package init(_ folder: RunFolder, _ head: RunRecord) {
        (self.folder, self.head) = (folder, head)
    }

    /// The part of the record that only a migration has.
    var migration: RunRecord.Migration {
        get {
            guard let migration = head.migration else { preconditionFailure("the run is a rollback") }
            return migration
        }
        set { head.migration = newValue }
    }

    package func save() throws { try folder.save(head) }

    /// Takes the record as it was last saved.
    func takeSaved() { head = folder.record ?? head }

    /// The finished store of a step, counted from 1.
    func destination(ofStep number: Int) -> String { folder.stepFolder(number) + "/destination.sqlite" }

    /// Checks that the last step's destination is still the verified file; a rollback has no step.
    ///
    /// - Throws: ``FerryError`` `.destinationChanged`.
    func checkVerified(_ destination: String, of store: String) throws {
        guard let verified = head.migration?.steps.last?.destination else { return }
        guard try folder.files.attributesIfPresent(destination).map(FileState.init) != verified else { return }
        throw FerryError(
            .destinationChanged,
            "\(destination) was modified or removed after verification. \(store) is unchanged.",
            remedy: "\(action: .again) with \(on: .restart), which recreates the new store.")
    }
}
