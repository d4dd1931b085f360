package import FerryBase
internal import FerryStore

/// What is left to do once the rename of a swap has happened; any later command may do it.
package struct CleanUp {
    let store: String
    let files: FileLayer
    /// Whether the external files beside the store are its own alone.
    var ownsExternalFiles: Bool

    package init(store: String, files: FileLayer, ownsExternalFiles: Bool = true) {
        self.store = store
        self.files = files
        self.ownsExternalFiles = ownsExternalFiles
    }

    /// What ``finish(_:in:after:)`` did, and what it could not do.
    package struct Done {
        package var external = MigrationReport.ExternalFiles()
        package var warnings: [FerryWarning] = []
    }

    /// Does all that is left to do, the removal of the run folder included.
    ///
    /// Never throws: the new store is in its place, and what fails now is done by the next command.
    ///
    /// - Parameters:
    ///   - record: The run, to be saved once more.
    ///   - folder: Its folder.
    ///   - problem: What has failed behind the swap already; then the rest is left to the next command too.
    /// - Returns: What was done.
    package func finish(_ record: RunRecord, in folder: RunFolder, after problem: (any Error)? = nil) -> Done {
        var done = Done()
        do {
            if let problem { throw problem }
            try folder.save(record)
            done.external = try run(record, in: folder, warnings: &done.warnings)
            try folder.remove()
        } catch {
            let reason = FerryError.wrapping(error, on: store)
            done.warnings.append(
                FerryWarning(
                    .cleanUpFailed,
                    "The store is done, but cleaning up behind it failed: \(reason.message) The next call on the store "
                        + "finishes that.",
                    about: .init(path: store)))
        }
        return done
    }

    /// Removes external files that only the old store named, and writes the log; the run folder is the caller's to remove.
    ///
    /// - Returns: What became of the external files.
    /// - Throws: ``FerryError``.
    @discardableResult
    package func run(_ record: RunRecord, in folder: RunFolder) throws -> MigrationReport.ExternalFiles {
        var warnings: [FerryWarning] = []
        return try run(record, in: folder, warnings: &warnings)
    }

    private func run(
        _ record: RunRecord, in folder: RunFolder, warnings: inout [FerryWarning]
    ) throws -> MigrationReport.ExternalFiles {
        var external = MigrationReport.ExternalFiles()
        if ownsExternalFiles {
            external = try ExternalFiles(store: store, files: files).removeReleased(workFolder: folder.path)
        }
        let reader = try SourceGuard(path: store, purpose: .reading, files: files)
        do {
            let hashes = try OpenedStore(reader).metadata.hashes
            if let warning = try RunLog(beside: store, files: files).add(record, hashes: hashes) {
                warnings.append(warning)
            }
        } catch {
            reader.release()
            throw FerryError.wrapping(error, on: store)
        }
        try reader.close()
        return external
    }
}
