package import FerryBase

extension SnapshotStore {
    /// Checks the manifest and the archive with their hashes, the content with size and hash, and every external file.
    ///
    /// A clone has no hash: SQLite checks its pages. Unless `decodes`, only the archive's hash and the sizes of external
    /// files are compared: an archive that was decoded when it was made decodes to the same content while its bytes are
    /// the same.
    ///
    /// - Throws: ``FerryError`` `.snapshotDamaged`, or the reason of the stop request.
    package func verify(_ snapshot: Snapshot, decodes: Bool = true, stop: StopRequest = StopRequest()) throws {
        do {
            let head = try Manifest.read(snapshot.manifestPath, files: files)
            if snapshot.form == .clone {
                if decodes { try checkPages(of: snapshot, stop: stop) }
            } else if decodes {
                try decode(snapshot, head, hashesContent: true, stop) { _ in }
            } else {
                var hash = SHA256()
                try hash.update(contentOf: files.open(snapshot.archivePath), stop: stop)
                guard hash.finalize().hexadecimal == head.archive.sha256 else {
                    throw ArchiveReader.damaged(snapshot.archivePath, "its content has changed")
                }
            }
            guard head.external != nil else { return }
            let external = ExternalData(files: files, stop: stop, hashesFiles: decodes)
            _ = try Manifest.read(snapshot.manifestPath, files: files) {
                try external.check($0, in: snapshot.externalPath)
            }
        } catch let error as FerryError where error.code == .notFound {
            throw FerryError(
                .snapshotDamaged, "The snapshot \(snapshot.name) is damaged. \(error.message)",
                remedy: "Use another snapshot.", cause: error)
        }
    }

    /// Checks that manifest, archive and external files of a snapshot are as they were made, without decoding it.
    ///
    /// - Throws: ``FerryError`` `.snapshotDamaged`, `.noSnapshot`, or the reason of the stop request.
    package func lookAgain(at archive: String, stop: StopRequest = StopRequest()) throws {
        // A clone may have been compressed since.
        let snapshot = try snapshot(archive)
        if let problem = snapshot.problem { throw problem }
        try verify(snapshot, decodes: false, stop: stop)
    }

    /// Reads a whole snapshot, and returns its damage, or nil.
    package func problem(of snapshot: Snapshot, stop: StopRequest = StopRequest()) throws -> FerryError? {
        do {
            try verify(snapshot, stop: stop)
            return nil
        } catch let error as FerryError where error.code == .snapshotDamaged {
            return error
        }
    }

    /// Compares the external files of a store with a snapshot's files of the same names.
    ///
    /// A name identifies one content, so each file that the store still has must be equal. `folder` is the store's
    /// external data (`.NAME_SUPPORT`), and `report` gets the name of each different file.
    ///
    /// - Throws: ``FerryError`` `.snapshotDamaged`, or the reason of the stop request.
    package func compareExternalFiles(
        of snapshot: Snapshot, with folder: String, stop: StopRequest = StopRequest(), report: (String) -> Void
    ) throws {
        let external = ExternalData(files: files, stop: stop)
        _ = try Manifest.read(snapshot.manifestPath, files: files) { file in
            if try external.matches(file, in: folder) == false { report(file.name) }
        }
    }

    /// Restores the database of a snapshot, and its external data.
    ///
    /// The database gets its name only when it is complete, verified and durable. The external files are added to those
    /// of `externalFolder`; nil leaves them out.
    ///
    /// - Throws: ``FerryError`` `.badSnapshot`, `.outputExists`, `.fileFailed`, or the reason of the stop request.
    package func restore(
        _ snapshot: Snapshot, to path: String, externalFolder: String?, stop: StopRequest = StopRequest()
    ) throws {
        guard try !files.exists(path) else {
            throw FerryError(.outputExists, "\(path) already exists.", remedy: "Choose the path of a new file.")
        }
        do {
            let head = try Manifest.read(snapshot.manifestPath, files: files)
            let aside = path + ".partial"
            try files.removeIfPresent(aside)
            do {
                if snapshot.form == .clone {
                    if let problem = try load(snapshot.name).problem { throw problem }
                    try files.copy(snapshot.archivePath, to: aside)
                } else {
                    // An equal archive decodes to equal content: its hash and the form's checksums suffice, and the
                    // content's own hash would take as long again.
                    try ContentWriter(try files.create(aside, mode: 0o600)).run { write in
                        try decode(snapshot, head, hashesContent: false, stop, write)
                    }
                }
                if head.external != nil, let externalFolder {
                    let external = ExternalData(files: files, stop: stop)
                    _ = try Manifest.read(snapshot.manifestPath, files: files) {
                        try external.restore($0, from: snapshot.externalPath, to: externalFolder)
                    }
                    try tidyFolders(below: externalFolder)
                }
                try files.rename(aside, to: path)
                try files.syncFolder(FileLayer.parent(of: path))
            } catch {
                // The first error is reported.
                do { _ = try files.removeIfPresent(aside) } catch {}
                throw error
            }
        } catch let error as FerryError where error.code == .snapshotDamaged || error.code == .notFound {
            throw FerryError(
                .badSnapshot, "The snapshot \(snapshot.name) cannot be restored. \(error.message)",
                remedy: "Choose another one; \(action: .verifySnapshots) shows which are undamaged.", cause: error)
        }
    }

    /// Decodes the archive and compares it with its manifest.
    private func decode(
        _ snapshot: Snapshot, _ head: Manifest.Head, hashesContent: Bool, _ stop: StopRequest,
        _ body: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        let path = snapshot.archivePath
        guard try files.attributes(path).size == head.archive.bytes else {
            throw ArchiveReader.damaged(path, "its size differs from its manifest")
        }
        var hashes = ArchiveHashes()
        let bytes = try ArchiveReader(files: files, stop: stop, hashesContent: hashesContent).decode(
            path, as: snapshot.form, bytes: head.archive.bytes, limit: head.content.bytes, hashes: &hashes, body)
        let (archive, content) = hashes.finalize()
        guard archive.hexadecimal == head.archive.sha256 else {
            throw ArchiveReader.damaged(path, "its content has changed")
        }
        guard bytes == head.content.bytes, !hashesContent || content.hexadecimal == head.content.sha256 else {
            throw ArchiveReader.damaged(path, "its content differs from its manifest")
        }
    }

    /// Removes unfinished copies of a killed call, and makes the names durable.
    private func tidyFolders(below folder: String) throws {
        guard try files.exists(folder) else { return }
        try files.removeUnfinishedCopies(in: folder)
        try files.forEachEntry(in: folder) { entry in
            if entry.isDirectory { try tidyFolders(below: folder + "/" + entry.name) }
        }
        try files.syncFolder(folder)
    }
}
