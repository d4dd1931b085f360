internal import CSystem

/// The one way to the file system: every file operation of Ferry goes through it.
///
/// Each operation is counted, can be made to fail by a ``FaultPlan``, is repeated when a signal interrupts it, and
/// throws ``FerryError`` `.notFound` or `.fileFailed` with a ``SystemError`` as its cause.
///
/// Operations that open a file (reading, copying, syncing, `OutputFile`) close a descriptor on it at the end, and POSIX
/// drops all of a process's locks on a file when *any* of its descriptors is closed. Never use them on a database file
/// that this process has open through SQLite. Operations by path alone are safe there: attributes, rename, link, remove,
/// ``copyMetadata(from:to:)``.
package struct FileLayer: Sendable {
    package let faults: FaultPlan?
    package let trace: TraceHook?

    package init(faults: FaultPlan? = nil, trace: TraceHook? = nil) {
        self.faults = faults
        self.trace = trace
    }

    /// Counts, times and reports one operation.
    func perform<Result: ~Copyable>(
        _ operation: @autoclosure () -> String, _ body: () throws(SystemError) -> Result
    ) throws(FerryError) -> Result {
        if let faults, faults.strikes(operation()) { throw FerryError(operation(), SystemError.inputOutput) }
        let start = trace == nil ? 0 : Clock.nanoseconds()
        do throws(SystemError) {
            let result = try body()
            if let trace {
                trace(TraceEvent(kind: .file, text: operation(), nanoseconds: Clock.nanoseconds(since: start)))
            }
            return result
        } catch {
            throw FerryError(operation(), error)
        }
    }

    /// Makes one system call that gives -1 where it fails, and tells what it changes.
    func call(
        _ operation: @autoclosure () -> String, telling change: @autoclosure () -> DiskChange? = nil,
        _ call: () -> Int32
    ) throws(FerryError) {
        try perform(operation()) { () throws(SystemError) in
            let change = faults == nil ? nil : change()
            if let change, change.takesAway { faults?.tell(change) }
            _ = try uninterrupted(call)
            if let change, !change.takesAway { faults?.tell(change) }
        }
    }

    /// What the body gives; nil where nothing is at its path.
    func ifPresent<Result>(_ body: () throws(FerryError) -> Result) throws(FerryError) -> Result? {
        do throws(FerryError) {
            return try body()
        } catch {
            if error.code == .notFound { return nil }
            throw error
        }
    }

    // MARK: Looking

    /// Whether something is at the path; a dangling symbolic link counts as nothing.
    package func exists(_ path: String) throws(FerryError) -> Bool { try attributesIfPresent(path) != nil }

    /// - Throws: ``FerryError`` `.notFound` when nothing is there.
    package func attributes(_ path: String) throws(FerryError) -> FileAttributes {
        try perform("look at \(path)") { () throws(SystemError) in try FileAttributes(path: path) }
    }

    /// The attributes of what is at the path, or nil when nothing is.
    package func attributesIfPresent(_ path: String) throws(FerryError) -> FileAttributes? {
        try ifPresent { () throws(FerryError) in try attributes(path) }
    }

    /// Whether a symbolic link is at the path, wherever it leads.
    package func isSymbolicLink(_ path: String) throws(FerryError) -> Bool {
        var info = stat()
        let found: Void? = try ifPresent { () throws(FerryError) in
            try call("look at \(path)") { lstat(path, &info) }
        }
        return found != nil && ferry_is_link(info.st_mode) != 0
    }

    /// The absolute path without symbolic links; something must be there.
    package func realPath(_ path: String) throws(FerryError) -> String {
        try perform("resolve \(path)") { () throws(SystemError) in
            guard let resolved = realpath(path, nil) else { throw .last }
            defer { free(resolved) }
            return String(cString: resolved)
        }
    }

    /// Whether two paths lead to one file or folder, as two spellings of a name do where a folder ignores case or how
    /// letters are composed; false where nothing is there.
    package func leadToOne(_ path: String, _ other: String) throws(FerryError) -> Bool {
        if path == other { return true }
        guard let one = try attributesIfPresent(path), let two = try attributesIfPresent(other) else { return false }
        return one.isSameFile(as: two)
    }

    /// Bytes that an unprivileged user can still write on the volume of a path.
    package func freeBytes(at path: String) throws(FerryError) -> Int64 {
        if let bytes = faults?.freeBytes { return bytes }
        return try perform("ask for the free space at \(path)") { () throws(SystemError) in
            try uninterrupted { ferry_free_bytes(path) }
        }
    }

    /// A number that is equal for two paths on one volume.
    package func volume(of path: String) throws(FerryError) -> UInt64 { try attributes(path).device }

    // MARK: Names

    /// Makes a folder, with those above it; an existing one is fine.
    package func createDirectory(_ path: String, mode: UInt32 = 0o755) throws(FerryError) {
        if let attributes = try attributesIfPresent(path), attributes.isDirectory { return }
        let parent = Self.parent(of: path)
        if parent != path, try !exists(parent) { try createDirectory(parent, mode: mode) }
        try perform("make the folder \(path)") { () throws(SystemError) in
            faults?.tell(.makesFolder(path))
            do throws(SystemError) {
                _ = try uninterrupted { mkdir(path, mode_t(mode)) }
            } catch {
                // Another process may have made it in the meantime.
                guard error.isExisting, try FileAttributes(path: path).isDirectory else { throw error }
            }
        }
    }

    /// Removes a file, a symbolic link, or nothing more than that.
    package func remove(_ path: String) throws(FerryError) {
        try call("remove \(path)", telling: .removes(path)) { unlink(path) }
    }

    /// Removes a file.
    ///
    /// - Returns: False when nothing was there.
    @discardableResult
    package func removeIfPresent(_ path: String) throws(FerryError) -> Bool {
        try ifPresent { () throws(FerryError) in try remove(path) } != nil
    }

    /// Gives a file a new name, in place of whatever has that name.
    package func rename(_ path: String, to destination: String) throws(FerryError) {
        try call("rename \(path) to \(destination)", telling: .renames(path, to: destination)) {
            CSystem.rename(path, destination)
        }
    }

    /// Gives a file a second name; nothing may have that name.
    package func link(_ path: String, to destination: String) throws(FerryError) {
        try call("link \(path) to \(destination)", telling: .linked(path, to: destination)) {
            CSystem.link(path, destination)
        }
    }

    // MARK: Durability

    /// Makes the content of a file durable.
    package func syncFile(_ path: String) throws(FerryError) {
        try perform("sync \(path)") { () throws(SystemError) in
            try Self.sync(path: path, flags: O_RDONLY)
            faults?.tell(.synced(path))
        }
    }

    /// Makes the names in a folder durable.
    package func syncFolder(_ path: String) throws(FerryError) {
        try perform("sync the folder \(path)") { () throws(SystemError) in
            do throws(SystemError) {
                try Self.sync(path: path, flags: O_RDONLY | O_DIRECTORY)
            } catch {
                // Some file systems have nothing to sync in a folder and say so.
                guard error.number == EINVAL || error.number == ENOTSUP else { throw error }
            }
            faults?.tell(.syncedFolder(path))
        }
    }

    // MARK: Paths

    /// The path without its last component; "." for a bare name, "/" for the root.
    package static func parent(of path: String) -> String {
        let trimmed = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
        guard let slash = trimmed.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == trimmed.startIndex ? "/" : String(trimmed[..<slash])
    }

    /// The last component of a path.
    package static func name(of path: String) -> String {
        let trimmed = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
        guard let slash = trimmed.utf8.lastIndex(of: UInt8(ascii: "/")) else { return trimmed }
        return String(trimmed[trimmed.utf8.index(after: slash)...])
    }

    private static func sync(path: String, flags: Int32) throws(SystemError) {
        let descriptor = try uninterrupted { ferry_open(path, flags | O_CLOEXEC | O_NONBLOCK, 0) }
        defer { _ = close(descriptor) }
        try Self.sync(descriptor: descriptor)
    }

    static func sync(descriptor: Int32) throws(SystemError) {
        _ = try uninterrupted { ferry_sync(descriptor) }
    }
}
