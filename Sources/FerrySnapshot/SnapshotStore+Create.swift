internal import FerryBase
internal import Foundation

extension SnapshotStore {
    /// Makes a snapshot, or resumes one that was begun from the same state of the store.
    ///
    /// The archive is decoded and compared while it is written. A failed call leaves no file that looks like a finished
    /// snapshot; with a fingerprint, the next call repeats at most one frame.
    ///
    /// - Throws: ``FerryError`` `.snapshotFailed` with the file's or the database's error as its cause; or the reason
    ///   of the stop request, which is checked between frames and external files.
    package func create(
        from source: some PageSource, description: SnapshotDescription, options: SnapshotOptions = SnapshotOptions()
    ) throws -> Snapshot {
        do {
            return try createOrResume(from: source, description, options)
        } catch let error as FerryError {
            guard error.code == .fileFailed || error.code == .notFound else { throw error }
            throw FerryError(
                .snapshotFailed, "The snapshot in \(folder) could not be created. \(error.message)",
                remedy: error.remedy, cause: error)
        } catch {
            throw FerryError(
                .snapshotFailed, "The snapshot in \(folder) could not be created: the store could not be read.",
                remedy: "Check the volume of the store and \(action: .again).", cause: error)
        }
    }

    private func createOrResume(
        from source: some PageSource, _ description: SnapshotDescription, _ options: SnapshotOptions
    ) throws -> Snapshot {
        precondition(options.frameBytes > 0, "a frame holds something")
        try files.createDirectory(folder, mode: 0o755)
        try files.syncFolder(FileLayer.parent(of: folder))

        var found: ArchiveState?
        for state in try unfinished() where state.matches(source.byteCount, options) {
            if try files.exists(folder + "/" + state.name + SnapshotNames.manifest) {
                // Only the removal of the state was missing.
                let snapshot = try load(state.name)
                try removeState(of: state)
                if snapshot.problem == nil { return snapshot }
            } else {
                found = state
                break
            }
        }
        let begun = try found ?? begin(source, description, options)
        let result = try writeArchive(source, from: begun, options)
        try finish(result, description, options)
        let snapshot = try load(result.state.name)
        // The last call that can fail: until then the next call finds this work.
        try removeState(of: result.state)
        return snapshot
    }

    private func begin(
        _ source: some PageSource, _ description: SnapshotDescription, _ options: SnapshotOptions
    ) throws -> ArchiveState {
        let state = ArchiveState(
            name: try freeName(description), form: options.form, createdSeconds: description.created,
            fingerprint: options.fingerprint, level: options.level, frameBytes: options.frameBytes,
            contentBytes: source.byteCount)
        try record(state)
        return state
    }

    private func freeName(_ description: SnapshotDescription) throws -> String {
        let wanted = Snapshot.stamp(description.created) + "-" + SnapshotNames.file(version: description.version)
        let endings = SnapshotForm.allCases.flatMap { [$0.ending, $0.partialEnding] }
        return FileLayer.name(
            of: try files.freePath(
                folder + "/" + wanted,
                endings: [SnapshotNames.manifest, SnapshotNames.external, SnapshotNames.partialState] + endings))
    }

    @Sendable private func record(_ state: ArchiveState) throws {
        try files.replace(path(of: state), with: [UInt8](Manifest.encoder().encode(state)), mode: 0o600)
    }

    /// Not synced: if the state reappears after a crash, the next call finds the manifest and removes the state again.
    private func removeState(of state: ArchiveState) throws { try files.removeIfPresent(path(of: state)) }

    private func path(of state: ArchiveState) -> String { folder + "/" + state.name + SnapshotNames.partialState }

    private func writeArchive(
        _ source: some PageSource, from begun: ArchiveState, _ options: SnapshotOptions
    ) throws -> ArchiveWriter.Result {
        let path = folder + "/" + begun.name + begun.archiveForm.partialEnding
        let finished = folder + "/" + begun.name + begun.archiveForm.ending
        if try !files.exists(path), try files.exists(finished) {
            // The last call was killed between the renames of archive and manifest.
            try files.rename(finished, to: path)
        }
        var state = begun
        var hashes = ArchiveHashes()
        if try !isWhole(path, state, &hashes, options.stop) {
            hashes = ArchiveHashes()
            state.frames = 0
            state.contentOffset = 0
            state.archiveOffset = 0
        }
        var output = try files.exists(path) ? files.append(to: path) : files.create(path, mode: 0o600)
        try output.truncate(to: state.archiveOffset)
        let writer = ArchiveWriter(progress: options.progress, stop: options.stop)
        return try writer.write(source, to: output, from: state, hashes: hashes, recordState: record)
    }

    /// Checks the durable part of the archive by reading it, and adds it to both hashes.
    private func isWhole(
        _ path: String, _ state: ArchiveState, _ hashes: inout ArchiveHashes, _ stop: StopRequest
    ) throws -> Bool {
        guard state.frames > 0, try files.exists(path) else { return false }
        do {
            let bytes = try ArchiveReader(files: files, stop: stop).decode(
                path, as: state.archiveForm, bytes: state.archiveOffset, limit: state.contentOffset, hashes: &hashes
            ) { _ in }
            return bytes == state.contentOffset
        } catch let error as FerryError where error.code == .snapshotDamaged {
            return false
        }
    }

    private func finish(
        _ result: ArchiveWriter.Result, _ description: SnapshotDescription, _ options: SnapshotOptions
    ) throws {
        let path = folder + "/" + result.state.name
        let form = result.state.archiveForm
        var externalFolder: String?
        if let given = description.externalFolder, try files.exists(given) { externalFolder = given }
        let head = Manifest.Head(
            sequence: try nextSequence(), created: SnapshotNames.time(result.state.createdSeconds),
            createdSeconds: result.state.createdSeconds, tool: description.tool, store: description.store,
            version: description.version,
            versionHashes: description.versionHashes.mapValues { Data($0).base64EncodedString() },
            rows: description.rows,
            archive: .init(
                file: result.state.name + form.ending, form: form.rawValue, bytes: result.state.archiveOffset,
                sha256: result.archiveSHA256.hexadecimal, frames: result.state.frames),
            content: .init(bytes: result.state.contentBytes, sha256: result.contentSHA256.hexadecimal),
            external: externalFolder.map { _ in result.state.name + SnapshotNames.external })

        try files.removeIfPresent(path + SnapshotNames.partialManifest)
        var manifest = try ManifestWriter.begin(path + SnapshotNames.partialManifest, head: head, files: files)
        if let externalFolder {
            try ExternalData(files: files, stop: options.stop).copy(
                from: externalFolder, to: path + SnapshotNames.external
            ) { try manifest.add($0) }
        }
        try manifest.finish()

        // The manifest is last, since a snapshot exists with its manifest.
        try files.rename(path + form.partialEnding, to: path + form.ending)
        try files.syncFolder(folder)
        try files.rename(path + SnapshotNames.partialManifest, to: path + SnapshotNames.manifest)
        try files.syncFolder(folder)
    }

    private func nextSequence() throws -> Int64 {
        let highest = max(0, try list().compactMap(\.sequence).max() ?? 0)
        guard highest < Int64.max else {
            throw FerryError(
                .snapshotFailed, "A snapshot in \(folder) has the highest possible number.",
                remedy: "Choose another folder with \(setting: .snapshotFolder).")
        }
        return highest + 1
    }
}

extension ArchiveState {
    /// Whether the options allow to resume the archive.
    fileprivate func matches(_ bytes: Int64, _ options: SnapshotOptions) -> Bool {
        fingerprint != nil && fingerprint == options.fingerprint && archiveForm == options.form
            && level == options.level && frameBytes == options.frameBytes && contentBytes == bytes
    }
}
