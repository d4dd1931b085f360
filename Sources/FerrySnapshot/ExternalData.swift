package import FerryBase

/// The external data of a store, or of its snapshot: a folder with a file per large value.
///
/// Core Data never changes such a file, but writes a new one; a hard link is therefore as good as a copy.
struct ExternalData {
    let files: FileLayer
    let stop: StopRequest
    /// Whether files are read to hash them.
    var hashesFiles = true

    /// The deepest nesting of folders that is copied; Core Data makes one level.
    private static let deepest = 8

    /// Copies all files of a folder, one at a time in memory, except equal ones; reports each with its size and hash.
    func copy(
        from source: String, to destination: String, prefix: String = "", depth: Int = 0,
        report: (Manifest.ExternalFile) throws -> Void
    ) throws {
        guard depth < Self.deepest else {
            throw FerryError(
                .snapshotFailed, "The external data has folders nested more than \(Self.deepest) deep: \(source).",
                remedy: "Check the contents of the folder next to the store.")
        }
        try files.createDirectory(destination, mode: 0o700)
        try files.removeUnfinishedCopies(in: destination)
        try files.forEachEntry(in: source) { entry in
            try stop.check()
            let (from, to) = (source + "/" + entry.name, destination + "/" + entry.name)
            if entry.isDirectory {
                try copy(from: from, to: to, prefix: prefix + entry.name + "/", depth: depth + 1, report: report)
                return
            }
            guard try files.attributesIfPresent(from)?.isRegularFile == true else { return }
            if try place(from, at: to) { try report(described(to, as: prefix + entry.name)) }
        }
        try files.syncFolder(destination)
    }

    /// Copies one file, whole or not at all; an existing equal file is kept.
    ///
    /// - Returns: False if the source is gone: an app that fails to save deletes the files that it has written.
    private func place(_ source: String, at destination: String) throws(FerryError) -> Bool {
        do {
            let isThere = try files.exists(destination)
            if isThere, try files.compare(destination, with: source) == .same { return true }
            // The existing file is truncated or damaged, since its name identifies one content. The replacement is
            // atomic, because a store may name the file.
            try files.copy(source, to: destination, allowsLink: true, isReplacing: isThere)
            return true
        } catch {
            if error.code == .notFound, try !files.exists(source) { return false }
            throw error
        }
    }

    /// Copies a snapshot's file, whose name and hash are in the manifest, into the external data of a store.
    ///
    /// - Throws: ``FerryError`` `.snapshotDamaged` when the file differs from the manifest.
    func restore(_ file: Manifest.ExternalFile, from source: String, to destination: String) throws {
        try check(file, in: source)
        let target = destination + "/" + file.name
        try files.createDirectory(FileLayer.parent(of: target))
        _ = try place(source + "/" + file.name, at: target)
    }

    /// - Throws: ``FerryError`` `.snapshotDamaged` when a file differs from the manifest.
    func check(_ file: Manifest.ExternalFile, in folder: String) throws {
        let path = folder + "/" + file.name
        switch try matches(file, in: folder) {
        case .none: throw ArchiveReader.damaged(path, "it is missing")
        case .some(false): throw ArchiveReader.damaged(path, "it is not the file that was copied")
        case .some(true): break
        }
    }

    /// Whether a file is as in the manifest; nil if it is missing.
    ///
    /// - Throws: ``FerryError`` `.snapshotDamaged` when the manifest names a file outside of the folder.
    func matches(_ file: Manifest.ExternalFile, in folder: String) throws -> Bool? {
        try stop.check()
        let parts = file.name.split(separator: "/", omittingEmptySubsequences: false)
        guard !parts.contains(where: { $0.isEmpty || $0 == "." || $0 == ".." }), !file.name.utf8.contains(0) else {
            throw ArchiveReader.damaged(folder, "its manifest names a file outside it")
        }
        let path = folder + "/" + file.name
        guard let attributes = try files.attributesIfPresent(path) else { return nil }
        guard attributes.isRegularFile, attributes.size == file.bytes else { return false }
        guard hashesFiles, let expected = file.sha256 else { return true }
        return try hash(path).hexadecimal == expected
    }

    private func described(_ path: String, as name: String) throws -> Manifest.ExternalFile {
        Manifest.ExternalFile(
            name: name, bytes: try files.attributes(path).size, sha256: hashesFiles ? try hash(path).hexadecimal : nil)
    }

    private func hash(_ path: String) throws(FerryError) -> [UInt8] {
        let input = try files.open(path)
        var hash = SHA256()
        try hash.update(contentOf: input)
        return hash.finalize()
    }
}

extension SHA256 {
    /// Adds the content of a file; a stop request may end the reading.
    package mutating func update(contentOf input: borrowing InputFile, stop: StopRequest? = nil) throws(FerryError) {
        try input.forEachPiece { piece throws(FerryError) in
            try stop?.check()
            update(piece)
        }
    }
}
