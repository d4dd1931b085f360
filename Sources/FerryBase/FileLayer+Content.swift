internal import CSystem

extension FileLayer {
    /// The size of the longest file that is read whole, unless a caller says otherwise.
    package static let longestText = 16 << 20

    /// Reads a whole file of bounded size.
    ///
    /// - Throws: ``FerryError`` `.fileFailed` if the file is larger than `limit` bytes.
    package func read(_ path: String, limit: Int = longestText) throws(FerryError) -> [UInt8] {
        let input = try open(path)
        let size = try input.size()
        guard size <= Int64(limit) else {
            throw FerryError(
                .fileFailed, "\(path) has \(size) bytes, more than the \(limit) expected.",
                remedy: "Check that it is the right file.")
        }
        return try input.read(count: Int(size), at: 0)
    }

    /// Replaces or creates a file atomically: writes a new file aside, syncs it, and renames it.
    ///
    /// The new file gets the permissions `mode`, without the bits of the process's umask.
    package func replace(_ path: String, with bytes: [UInt8], mode: UInt32 = 0o644) throws(FerryError) {
        let aside = path + ".new"
        try removeIfPresent(aside)
        var output = try create(aside, mode: mode)
        try output.write(bytes)
        try output.sync()
        try output.close()
        try rename(aside, to: path)
        try syncFolder(Self.parent(of: path))
    }

    /// Copies a file by the cheapest method that the volumes support.
    ///
    /// The copy gets its final name when its content is whole and durable; the name is durable after a sync of its
    /// folder. A killed call leaves a file with another name (``removeUnfinishedCopies(in:)``). With `allowsLink` the
    /// copy may be a hard link, for content that never changes. Unless `isReplacing`, the destination must not exist.
    ///
    /// - Throws: ``FerryError`` `.notFound`, `.fileFailed`; the destination is unchanged then.
    package func copy(
        _ path: String, to destination: String, allowsLink: Bool = false, isReplacing: Bool = false
    ) throws(FerryError) {
        let source = try attributes(path)
        guard source.isRegularFile else { throw Self.notRegular(path) }
        if let there = try attributesIfPresent(destination) {
            guard isReplacing else { throw FerryError("create \(destination)", .existing) }
            // A rename between two names of one file does nothing.
            if there.isSameFile(as: source) { return }
        }
        let aside = destination + Self.unfinishedCopy
        try removeIfPresent(aside)
        do throws(FerryError) {
            try copyContent(path, to: aside, mode: source.mode, allowsLink: allowsLink)
            if isReplacing { try rename(aside, to: destination) } else { try renameToFree(aside, to: destination) }
        } catch {
            // A failed cleanup must not hide the first error.
            do { _ = try removeIfPresent(aside) } catch _ {}
            throw error
        }
    }

    private static let unfinishedCopy = ".ferry-copy"

    /// Removes unfinished files of killed calls of ``copy(_:to:allowsLink:isReplacing:)`` from a folder.
    package func removeUnfinishedCopies(in folder: String) throws {
        try forEachEntry(in: folder) { entry in
            guard !entry.isDirectory, entry.name.hasSuffix(Self.unfinishedCopy) else { return }
            try removeIfPresent(folder + "/" + entry.name)
        }
    }

    private func copyContent(
        _ path: String, to destination: String, mode: UInt32, allowsLink: Bool
    ) throws(FerryError) {
        if faults?.hasLinks != false {
            if try ClonedFile(path, files: self).clone(to: destination, mode: mode) { return try syncFile(destination) }
            if allowsLink {
                do throws(FerryError) {
                    return try link(path, to: destination)
                } catch {
                    // A failure by the fault plan, or one that the next method would meet too.
                    guard error.systemError?.meansUnsupported == true else { throw error }
                }
            }
        }
        let input = try open(path)
        var output = try create(destination, mode: mode)
        try input.forEachPiece { piece throws(FerryError) in try output.write(piece) }
        try output.sync()
        try output.close()
    }

    /// Renames a file to a name that must not exist.
    ///
    /// - Throws: ``FerryError`` `.fileFailed` if the name exists.
    package func renameToFree(_ path: String, to destination: String) throws(FerryError) {
        // Before the call, so that a witness gets no rename that then fails.
        if try exists(destination) { throw FerryError("rename \(path) to \(destination)", .existing) }
        try call("rename \(path) to \(destination) (which must not exist)", telling: .renames(path, to: destination)) {
            ferry_rename_to_free(path, destination)
        }
    }
}

extension SystemError {
    /// Whether the volume does not support the operation, or not between two volumes, so that another method may work.
    var meansUnsupported: Bool {
        [EOPNOTSUPP, ENOTSUP, EXDEV, EINVAL, ENOTTY, ENOSYS, EPERM, EMLINK].contains(number)
    }
}

extension FileLayer {
    package enum Comparison: Sendable {
        case same
        /// The file is a proper prefix of the expected file.
        case cutOff
        case different
    }

    /// Compares a file with the expected file, byte for byte.
    package func compare(_ path: String, with expected: String) throws(FerryError) -> Comparison {
        let (first, second) = (try attributes(path), try attributes(expected))
        if first.isSameFile(as: second) { return .same }
        // A read of anything but a regular file may never end.
        guard first.isRegularFile, second.isRegularFile, first.size <= second.size else { return .different }
        let own = try open(path)
        let other = try open(expected)
        let bytes = 128 << 10
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 2 * bytes, alignment: 4096)
        defer { buffer.deallocate() }
        let ownPiece = UnsafeMutableRawBufferPointer(rebasing: buffer[..<bytes])
        let otherPiece = UnsafeMutableRawBufferPointer(rebasing: buffer[bytes...])
        var offset: Int64 = 0
        while true {
            let count = try own.read(into: ownPiece, at: offset)
            let otherCount = try other.read(into: otherPiece, at: offset)
            guard count <= otherCount, memcmp(ownPiece.baseAddress!, otherPiece.baseAddress!, count) == 0 else {
                return .different
            }
            if count < otherCount { return .cutOff }
            if count == 0 { return .same }
            offset += Int64(count)
        }
    }
}
