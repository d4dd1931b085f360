internal import FerryBase
internal import Foundation

extension SnapshotStore {
    /// Makes a snapshot, or resumes one that was begun from the same state of the store.
    ///
    /// The archive is decoded and compared while it is written. A failed call leaves no file that looks like a finished
    /// snapshot; with a fingerprint, the next call repeats at most one unit.
    ///
    /// - Throws: ``FerryError`` `.snapshotFailed` with the file's or the database's error as its cause; or the reason
    ///   of the stop request, which is checked between units and external files.
    package func create(
        from source: some PageSource, description: SnapshotDescription, options: SnapshotOptions = SnapshotOptions()
    ) throws -> Snapshot {
        try reporting { try createOrResume(from: source, description, options) }
    }

    /// Runs the making of a snapshot, with the folder in its errors.
    func reporting(_ body: () throws -> Snapshot) throws -> Snapshot {
        do {
            return try body()
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
        precondition(options.frameBytes > 0 && options.unitBytes > 0, "a frame holds something")
        try files.createDirectory(folder, mode: 0o755)
        try files.syncFolder(FileLayer.parent(of: folder))

        var found: ArchiveState?
        for state in try unfinished() where state.matches(source.byteCount, options) {
            let made =
                try files.exists(folder + "/" + state.name + SnapshotNames.manifest) ? load(state.name) : nil
            guard let made, made.form == state.form else {
                found = state
                break
            }
            // Only the removal of the state was missing.
            try removeState(of: state)
            if made.problem == nil { return made }
        }
        let begun = try found ?? begin(source, description, options)
        let (state, archiveHash, contentHash) = try writeArchive(source, from: begun, options)
        let form = state.form
        let archive = Manifest.Head.Archive(
            file: state.name + form.ending, form: form.rawValue, bytes: state.archiveOffset,
            sha256: archiveHash.hexadecimal, frames: state.frames)
        let content = Manifest.Head.Content(bytes: state.contentBytes, sha256: contentHash.hexadecimal)
        try finish(state.name, form, archive, content, created: state.createdSeconds, description, options.stop)
        let snapshot = try load(state.name)
        // The last call that can fail: until then the next call finds this work.
        try removeState(of: state)
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

    func freeName(_ description: SnapshotDescription) throws -> String {
        let version = SnapshotNames.file(version: description.version)
        let wanted = try Snapshot.stamp(description.created) + "-" + version + mark()
        let endings = SnapshotForm.allCases.flatMap { [$0.ending, $0.partialEnding] }
        return FileLayer.name(
            of: try files.freePath(
                folder + "/" + wanted,
                endings: [SnapshotNames.manifest, SnapshotNames.external, SnapshotNames.partialState] + endings))
    }

    /// What names have where stores share the folder, because two may make a snapshot at the same time; else nothing.
    func mark() throws -> String {
        try place().map { "-" + SHA256.hash(Array($0.utf8)).hexadecimal.prefix(8) } ?? ""
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
        let path = folder + "/" + begun.name + begun.form.partialEnding
        let finished = folder + "/" + begun.name + begun.form.ending
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
        let workers = try SnapshotMemory.workers(
            level: state.level, form: state.form, within: options.memory, processors: options.processors)
        let writer = ArchiveWriter(progress: options.progress, stop: options.stop, workers: workers)
        return try writer.write(
            source, to: output, from: state, unitBytes: options.unitBytes, hashes: hashes, recordState: record)
    }

    /// Checks the durable part of the archive by reading it, and adds it to both hashes.
    private func isWhole(
        _ path: String, _ state: ArchiveState, _ hashes: inout ArchiveHashes, _ stop: StopRequest
    ) throws -> Bool {
        guard state.frames > 0, try files.exists(path) else { return false }
        do {
            let bytes = try ArchiveReader(files: files, stop: stop).decode(
                path, as: state.form, bytes: state.archiveOffset, limit: state.contentOffset, hashes: &hashes
            ) { _ in }
            return bytes == state.contentOffset
        } catch let error as FerryError where error.code == .snapshotDamaged {
            return false
        }
    }

    /// Copies the external data, and gives the archive and its manifest their names.
    func finish(
        _ name: String, _ form: SnapshotForm, _ archive: Manifest.Head.Archive, _ content: Manifest.Head.Content,
        created: Int64, _ description: SnapshotDescription, _ stop: StopRequest
    ) throws {
        let path = folder + "/" + name
        var externalFolder: String?
        if let given = description.externalFolder, try files.exists(given) { externalFolder = given }
        let head = Manifest.Head(
            sequence: try nextSequence(), created: SnapshotNames.time(created),
            createdSeconds: created, tool: description.tool, store: description.store,
            place: try place(), version: description.version,
            versionHashes: description.versionHashes.mapValues { Data($0).base64EncodedString() },
            rows: description.rows, archive: archive, content: content,
            external: externalFolder.map { _ in name + SnapshotNames.external })

        try files.removeIfPresent(path + SnapshotNames.partialManifest)
        var manifest = try ManifestWriter.begin(path + SnapshotNames.partialManifest, head: head, files: files)
        if let externalFolder {
            try ExternalData(files: files, stop: stop, hashesFiles: form != .clone).copy(
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
        let highest = max(0, try all().compactMap(\.sequence).max() ?? 0)
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
        fingerprint != nil && fingerprint == options.fingerprint && form == options.form
            && level == options.level && frameBytes == options.frameBytes && contentBytes == bytes
    }
}
