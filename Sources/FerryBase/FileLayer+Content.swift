internal import CSystem

extension FileLayer {
    /// How a file came to have the content of another.
    package enum CopyMethod: String, Sendable {
        /// Copy-on-write: shares its blocks until one of the two is changed.
        case reflink
        /// A second name of the same file.
        case hardLink
        case bytes
    }

    /// Reads a whole file of bounded size.
    ///
    /// - Throws: ``FerryError`` `.fileFailed` when it is larger than `limit` bytes.
    package func read(_ path: String, limit: Int = 16 << 20) throws(FerryError) -> [UInt8] {
        let input = try open(path)
        let size = try input.size()
        guard size <= Int64(limit) else {
            throw FerryError(
                .fileFailed, "\(path) has \(size) bytes, where at most \(limit) are expected.",
                remedy: "Check that it is the file that was meant.")
        }
        return try input.read(count: Int(size), at: 0)
    }

    /// Puts a file of these bytes in place of another, or of none: what was there stays whole until the new one is.
    ///
    /// The new file gets the permissions `mode`, less the process's mask.
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

    /// Copies a file in the cheapest way that the volumes allow, and says in which.
    ///
    /// The copy gets its name when it is whole and durable: a file under its final name is never a part of one. Its name
    /// is durable once its folder is synced. What a killed call leaves has a name of its own
    /// (``removeUnfinishedCopies(in:)``). With `allowsLink` a second name of the same file will do, for content that is
    /// never changed.
    /// Unless `isReplacing`, nothing may be at the copy's path.
    ///
    /// - Throws: ``FerryError`` `.notFound`, `.fileFailed`; what was at the path stays then.
    @discardableResult
    package func copy(
        _ path: String, to destination: String, allowsLink: Bool = false, isReplacing: Bool = false
    ) throws(FerryError) -> CopyMethod {
        let source = try attributes(path)
        guard source.isRegularFile else { throw Self.notRegular(path) }
        if let there = try attributesIfPresent(destination) {
            guard isReplacing else { throw FerryError("create \(destination)", .existing) }
            // Renaming one name of a file to another one of its names does nothing at all.
            if there.isSameFile(as: source) { return .hardLink }
        }
        let aside = destination + Self.unfinishedCopy
        try removeIfPresent(aside)
        do throws(FerryError) {
            let method = try copyContent(path, to: aside, mode: source.mode, allowsLink: allowsLink)
            if isReplacing { try rename(aside, to: destination) } else { try renameToFree(aside, to: destination) }
            return method
        } catch {
            // Cleaning up must not hide why it failed.
            do { _ = try removeIfPresent(aside) } catch _ {}
            throw error
        }
    }

    /// What the name of a copy that is being made ends in.
    private static let unfinishedCopy = ".ferry-copy"

    /// Removes what killed calls of ``copy(_:to:allowsLink:isReplacing:)`` have left in a folder.
    package func removeUnfinishedCopies(in folder: String) throws {
        try forEachEntry(in: folder) { entry in
            guard !entry.isDirectory, entry.name.hasSuffix(Self.unfinishedCopy) else { return }
            try removeIfPresent(folder + "/" + entry.name)
        }
    }

    /// Gives the new file, which is durable then, the content of another.
    private func copyContent(
        _ path: String, to destination: String, mode: UInt32, allowsLink: Bool
    ) throws(FerryError) -> CopyMethod {
        if faults?.hasLinks != false {
            do throws(FerryError) {
                try reflink(path, to: destination, mode: mode)
                try syncFile(destination)
                return .reflink
            } catch {
                // Struck by the fault plan, or a real failure that the next way would only meet again.
                guard error.systemError?.meansUnsupported == true else { throw error }
            }
            if allowsLink {
                do throws(FerryError) {
                    try link(path, to: destination)
                    return .hardLink
                } catch {
                    guard error.systemError?.meansUnsupported == true else { throw error }
                }
            }
        }
        let input = try open(path)
        var output = try create(destination, mode: mode)
        // Large enough that the calls do not count, small enough not to show in resident memory.
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 4096)
        defer { buffer.deallocate() }
        var offset: Int64 = 0
        while true {
            let count = try input.read(into: buffer, at: offset)
            if count == 0 { break }
            try output.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            offset += Int64(count)
        }
        try output.sync()
        try output.close()
        return .bytes
    }

    /// Gives a file a new name that nothing has.
    ///
    /// - Throws: ``FerryError`` `.fileFailed` when something has it.
    package func renameToFree(_ path: String, to destination: String) throws(FerryError) {
        // First, so that a disk that is watched is told of no rename that does not happen.
        if try exists(destination) { throw FerryError("rename \(path) to \(destination)", .existing) }
        try call("rename \(path) to \(destination), where nothing is", telling: .renames(path, to: destination)) {
            ferry_rename_to_free(path, destination)
        }
    }

    private func reflink(_ path: String, to destination: String, mode: UInt32) throws(FerryError) {
        try call("clone \(path) to \(destination)", telling: .cloned(path, to: destination)) {
            ferry_reflink(path, destination, mode_t(mode))
        }
    }
}

extension SystemError {
    /// Whether the volume cannot do this at all (or not between two volumes), so that another way should be tried.
    fileprivate var meansUnsupported: Bool {
        [EOPNOTSUPP, ENOTSUP, EXDEV, EINVAL, ENOTTY, ENOSYS, EPERM, EMLINK].contains(number)
    }
}

extension FileLayer {
    /// How the content of a file stands to that of another one.
    package enum Comparison: Sendable {
        case same
        /// It ends early, and is the same up to there.
        case cutOff
        case different
    }

    /// Compares the content of a file with that of the one that it should equal, byte for byte.
    package func compare(_ path: String, with expected: String) throws(FerryError) -> Comparison {
        let (first, second) = (try attributes(path), try attributes(expected))
        if first.isSameFile(as: second) { return .same }
        // Only regular files have an end.
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
