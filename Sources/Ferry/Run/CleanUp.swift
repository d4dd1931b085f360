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

    /// Removes external files that only the old store named, and writes the log; the run folder is the caller's to remove.
    ///
    /// - Returns: What became of the external files.
    /// - Throws: ``FerryError``.
    @discardableResult
    package func run(_ record: RunRecord, in folder: RunFolder) throws -> MigrationReport.ExternalFiles {
        var external = MigrationReport.ExternalFiles()
        if ownsExternalFiles {
            external = try ExternalFiles(store: store, files: files).removeReleased(workFolder: folder.path)
        }
        let reader = try SourceGuard(path: store, purpose: .reading, files: files)
        do {
            try RunLog(beside: store, files: files).add(record, hashes: OpenedStore(reader).metadata.hashes)
        } catch {
            reader.release()
            throw FerryError.wrapping(error, on: store)
        }
        try reader.close()
        return external
    }
}
