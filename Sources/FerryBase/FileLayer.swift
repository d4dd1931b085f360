internal import CSystem

/// The file system: every file operation of Ferry is a call of this type.
///
/// A ``FaultPlan`` counts each operation and can make it fail. An operation that a signal interrupts is repeated.
/// Operations throw ``FerryError`` `.notFound` or `.fileFailed` with a ``SystemError`` as its cause.
///
/// Operations that open a file (read, copy, sync, `OutputFile`) later close its descriptor, and with *any* close POSIX
/// drops all locks of the process on the file. Never use them on a database file that this process has open through
/// SQLite. Operations by path are safe there: attributes, rename, link, remove, ``copyMetadata(from:to:)``.
package struct FileLayer: Sendable {
    package let faults: FaultPlan?
    package let trace: TraceHook?

    package init(faults: FaultPlan? = nil, trace: TraceHook? = nil) {
        self.faults = faults
        self.trace = trace
    }

    /// Counts, traces and runs one operation.
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

    /// Makes one system call that returns -1 on failure, and passes its change to the witness.
    func call(
        _ operation: @autoclosure () -> String, telling change: @autoclosure () -> DiskChange? = nil,
        _ call: () -> Int32
    ) throws(FerryError) {
        try perform(operation()) { () throws(SystemError) in
            let change = faults == nil ? nil : change()
            if let change, change.removesName { faults?.tell(change) }
            _ = try uninterrupted(call)
            if let change, !change.removesName { faults?.tell(change) }
        }
    }

    /// Returns the result of the body, or nil if it throws `.notFound`.
    func ifPresent<Result>(_ body: () throws(FerryError) -> Result) throws(FerryError) -> Result? {
        do throws(FerryError) {
            return try body()
        } catch {
            if error.code == .notFound { return nil }
            throw error
        }
    }

    // MARK: Attributes

    /// Whether the path exists; false for a dangling symbolic link.
    package func exists(_ path: String) throws(FerryError) -> Bool { try attributesIfPresent(path) != nil }

    /// - Throws: ``FerryError`` `.notFound` if the path does not exist.
    package func attributes(_ path: String) throws(FerryError) -> FileAttributes {
        try perform("access \(path)") { () throws(SystemError) in try FileAttributes(path: path) }
    }

    package func attributesIfPresent(_ path: String) throws(FerryError) -> FileAttributes? {
        try ifPresent { () throws(FerryError) in try attributes(path) }
    }

    /// Whether the path is a symbolic link, dangling or not.
    package func isSymbolicLink(_ path: String) throws(FerryError) -> Bool {
        var info = stat()
        let found: Void? = try ifPresent { () throws(FerryError) in
            try call("access \(path)") { lstat(path, &info) }
        }
        return found != nil && ferry_is_link(info.st_mode) != 0
    }

    /// The absolute path without symbolic links; the path must exist.
    package func realPath(_ path: String) throws(FerryError) -> String {
        try perform("resolve \(path)") { () throws(SystemError) in
            guard let resolved = realpath(path, nil) else { throw .last }
            defer { free(resolved) }
            return String(cString: resolved)
        }
    }

    /// Whether two existing paths lead to one file, also by names that differ in case or Unicode normalization.
    package func leadToOne(_ path: String, _ other: String) throws(FerryError) -> Bool {
        if path == other { return true }
        guard let one = try attributesIfPresent(path), let two = try attributesIfPresent(other) else { return false }
        return one.isSameFile(as: two)
    }

    /// The free bytes for unprivileged users on the volume of a path.
    package func freeBytes(at path: String) throws(FerryError) -> Int64 {
        if let bytes = faults?.freeBytes { return bytes }
        return try perform("get the free space at \(path)") { () throws(SystemError) in
            try uninterrupted { ferry_free_bytes(path) }
        }
    }

    /// Whether a folder's volume is of a kind that has copy-on-write files, such as APFS, Btrfs or XFS.
    package func mayClone(at path: String) throws(FerryError) -> Bool {
        try perform("get the kind of the volume of \(path)") { () throws(SystemError) in
            try uninterrupted { ferry_may_clone(path) }
        } == 1
    }

    package func volume(of path: String) throws(FerryError) -> UInt64 { try attributes(path).device }

    // MARK: Names

    /// Creates a folder and its missing parents; does nothing if it exists.
    package func createDirectory(_ path: String, mode: UInt32 = 0o755) throws(FerryError) {
        if let attributes = try attributesIfPresent(path), attributes.isDirectory { return }
        let parent = Self.parent(of: path)
        if parent != path, try !exists(parent) { try createDirectory(parent, mode: mode) }
        try perform("create the folder \(path)") { () throws(SystemError) in
            faults?.tell(.makesFolder(path))
            do throws(SystemError) {
                _ = try uninterrupted { mkdir(path, mode_t(mode)) }
            } catch {
                // A race with another process.
                guard error.isExisting, try FileAttributes(path: path).isDirectory else { throw error }
            }
        }
    }

    package func remove(_ path: String) throws(FerryError) {
        try call("remove \(path)", telling: .removes(path)) { unlink(path) }
    }

    /// Removes a file; false if it did not exist.
    @discardableResult
    package func removeIfPresent(_ path: String) throws(FerryError) -> Bool {
        try ifPresent { () throws(FerryError) in try remove(path) } != nil
    }

    /// Renames a file, and replaces a file of the new name.
    package func rename(_ path: String, to destination: String) throws(FerryError) {
        try call("rename \(path) to \(destination)", telling: .renames(path, to: destination)) {
            CSystem.rename(path, destination)
        }
    }

    /// Makes a hard link; the new name must not exist.
    package func link(_ path: String, to destination: String) throws(FerryError) {
        try call("link \(path) to \(destination)", telling: .linked(path, to: destination)) {
            CSystem.link(path, destination)
        }
    }

    // MARK: Durability

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
                // Some file systems cannot sync a folder.
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

    package static func name(of path: String) -> String {
        let trimmed = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
        guard let slash = trimmed.utf8.lastIndex(of: UInt8(ascii: "/")) else { return trimmed }
        return String(trimmed[trimmed.utf8.index(after: slash)...])
    }

    /// The file's name before its last dot, and the extension behind it in lower case; a leading dot begins none.
    package static func parts(of path: String) -> (stem: String, extension: String) {
        let name = name(of: path)
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return (name, "") }
        return (String(name[..<dot]), name[name.index(after: dot)...].lowercased())
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
