internal import CDatabase
internal import CSQLite
package import FerryBase

/// A wrapper around SQLite's own VFS under another name: it puts temporary files into a given folder, reads or writes
/// pages in larger pieces, and can count every write operation and make it fail.
///
/// Connections hold their VFS, which unregisters itself with the last one.
package final class VFS: Sendable {
    package enum Use: Sendable {
        /// Writes consecutive pages together: at most 192 KiB of memory for each database and each rollback journal.
        /// The connections must sync their journals (`synchronous` NORMAL or above).
        case writing
        /// Reads ahead in read-only databases while SQLite reads pages in the file's order: 64 KiB of memory for each.
        case reading
    }

    package let name: String
    // Set in `init`, freed in `deinit`; SQLite only reads them in between.
    private nonisolated(unsafe) let vfs: UnsafeMutablePointer<sqlite3_vfs>
    private nonisolated(unsafe) let context: UnsafeMutablePointer<VFSContext>

    /// Registers a VFS; sorters, temporary tables and statement journals spill into `temporaryFolder`, if any.
    ///
    /// `faults` counts creates, writes, syncs, truncations and deletions, makes them fail, and disables the read-ahead.
    ///
    /// - Throws: ``DatabaseError`` if SQLite rejects the VFS, or if the folder's path is too long.
    package init(
        temporaryFolder: String?, for use: Use = .writing, faults: FaultPlan? = nil
    ) throws(DatabaseError) {
        guard let base = sqlite3_vfs_find(nil) else {
            throw DatabaseError(code: SQLITE_ERROR, message: "SQLite has no VFS")
        }
        let longest = Int(base.pointee.mxPathname)
        if let temporaryFolder, temporaryFolder.utf8.count + TemporaryName.suffixLength > longest {
            throw DatabaseError(
                code: SQLITE_CANTOPEN, message: "the path of the folder for temporary files is too long")
        }
        context = .allocate(capacity: 1)
        context.initialize(
            to: VFSContext(
                base: base, temporaryFolder: temporaryFolder.map { Array($0.utf8) }, use: use, faults: faults))
        vfs = .allocate(capacity: 1)
        // Live contexts have different addresses, so the name is unique.
        name = "ferry-" + String(UInt(bitPattern: context), radix: 16)
        vfs.initialize(to: Self.methods(of: base.pointee, context: context))
        let copy = UnsafeMutableBufferPointer<CChar>.allocate(capacity: name.utf8.count + 1)
        _ = copy.initialize(from: name.utf8CString)
        vfs.pointee.zName = UnsafePointer(copy.baseAddress)
        let code = sqlite3_vfs_register(vfs, 0)
        guard code == SQLITE_OK else {
            free()
            throw DatabaseError(code: code, message: "the VFS could not be registered")
        }
    }

    deinit {
        sqlite3_vfs_unregister(vfs)
        free()
    }

    private func free() {
        vfs.pointee.zName.deallocate()
        vfs.deallocate()
        context.deinitialize(count: 1)
        context.deallocate()
    }

    private static func methods(
        of base: sqlite3_vfs, context: UnsafeMutablePointer<VFSContext>
    ) -> sqlite3_vfs {
        var vfs = sqlite3_vfs()
        vfs.iVersion = min(base.iVersion, 2)
        vfs.szOsFile = Int32(FileRoom.nameOffset(base) + Int(base.mxPathname) + 2)
        vfs.mxPathname = base.mxPathname
        vfs.pAppData = UnsafeMutableRawPointer(context)
        vfs.xOpen = { vfs, path, file, flags, outFlags in
            VFSContext.of(vfs).pointee.open(path, file!, flags, outFlags)
        }
        vfs.xDelete = { vfs, path, syncFolder in
            let context = VFSContext.of(vfs)
            if let faults = context.pointee.faults, faults.strikes("delete " + VFSContext.text(path)) {
                return ExtendedCode.deleteFailed
            }
            context.pointee.faults?.tell(.removes(VFSContext.text(path)))
            let code = context.pointee.base.pointee.xDelete(context.pointee.base, path, syncFolder)
            if code == SQLITE_OK, syncFolder != 0 {
                context.pointee.faults?.tell(.syncedFolder(FileLayer.parent(of: VFSContext.text(path))))
            }
            return code
        }
        vfs.xAccess = { vfs, path, flags, result in
            VFSContext.pass(vfs) { $0.pointee.xAccess($0, path, flags, result) }
        }
        vfs.xFullPathname = { vfs, path, count, result in
            VFSContext.pass(vfs) { $0.pointee.xFullPathname($0, path, count, result) }
        }
        // Ferry loads no extensions: `xDlOpen` and its relatives stay nil.
        vfs.xRandomness = { vfs, count, bytes in VFSContext.pass(vfs) { $0.pointee.xRandomness($0, count, bytes) } }
        vfs.xSleep = { vfs, microseconds in VFSContext.pass(vfs) { $0.pointee.xSleep($0, microseconds) } }
        vfs.xCurrentTime = { vfs, time in VFSContext.pass(vfs) { $0.pointee.xCurrentTime($0, time) } }
        vfs.xGetLastError = { vfs, count, text in VFSContext.pass(vfs) { $0.pointee.xGetLastError($0, count, text) } }
        vfs.xCurrentTimeInt64 = { vfs, time in VFSContext.pass(vfs) { $0.pointee.xCurrentTimeInt64($0, time) } }
        return vfs
    }
}

struct VFSContext {
    let base: UnsafeMutablePointer<sqlite3_vfs>
    let temporaryFolder: [UInt8]?
    let use: VFS.Use
    let faults: FaultPlan?

    static func of(_ vfs: UnsafeMutablePointer<sqlite3_vfs>?) -> UnsafeMutablePointer<VFSContext> {
        vfs!.pointee.pAppData.assumingMemoryBound(to: VFSContext.self)
    }

    static func pass(
        _ vfs: UnsafeMutablePointer<sqlite3_vfs>?, _ call: (UnsafeMutablePointer<sqlite3_vfs>) -> Int32
    ) -> Int32 {
        call(of(vfs).pointee.base)
    }

    static func text(_ path: UnsafePointer<CChar>?) -> String { path.map { String(cString: $0) } ?? "" }

    /// Opens a file in SQLite's memory (``FileRoom``), with a temporary file's name, which must live as long as the
    /// file.
    func open(
        _ path: UnsafePointer<CChar>?, _ file: UnsafeMutablePointer<sqlite3_file>, _ flags: Int32,
        _ outFlags: UnsafeMutablePointer<Int32>?
    ) -> Int32 {
        // SQLite calls `xClose` if and only if this is set.
        file.pointee.pMethods = nil
        var path = path
        if path == nil, let temporaryFolder {
            let start = UnsafeMutableRawPointer(file) + FileRoom.nameOffset(base.pointee)
            path = TemporaryName.write(in: temporaryFolder, at: start, vfs: base)
        }
        let pages = SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_TEMP_DB | SQLITE_OPEN_TRANSIENT_DB
        switch use {
        case .writing where flags & SQLITE_OPEN_READWRITE != 0 && flags & pages != 0:
            return open(before: file, { openCounted(path, $0, flags, outFlags) }, ferry_behind_install)
        case .reading where flags & SQLITE_OPEN_READONLY != 0 && flags & SQLITE_OPEN_MAIN_DB != 0 && faults == nil:
            return open(before: file, { base.pointee.xOpen(base, path, $0, flags, outFlags) }, ferry_ahead_install)
        default: return openCounted(path, file, flags, outFlags)
        }
    }

    private func open(
        before file: UnsafeMutablePointer<sqlite3_file>, _ open: (UnsafeMutablePointer<sqlite3_file>) -> Int32,
        _ install: (UnsafeMutablePointer<sqlite3_file>, UnsafeMutablePointer<sqlite3_file>) -> Void
    ) -> Int32 {
        let inner = FileRoom.inner(of: file)
        inner.pointee.pMethods = nil
        let code = open(inner)
        if inner.pointee.pMethods != nil { install(file, inner) }
        return code
    }

    private func openCounted(
        _ path: UnsafePointer<CChar>?, _ file: UnsafeMutablePointer<sqlite3_file>, _ flags: Int32,
        _ outFlags: UnsafeMutablePointer<Int32>?
    ) -> Int32 {
        guard let faults else { return base.pointee.xOpen(base, path, file, flags, outFlags) }
        let name = Self.text(path)
        if flags & SQLITE_OPEN_CREATE != 0, faults.strikes("create " + name) { return SQLITE_CANTOPEN }
        // A file that is deleted on close has no name.
        let isNamed = flags & SQLITE_OPEN_DELETEONCLOSE == 0
        var exists: Int32 = 1
        if isNamed, flags & SQLITE_OPEN_CREATE != 0 {
            _ = base.pointee.xAccess(base, path, SQLITE_ACCESS_EXISTS, &exists)
        }
        return open(before: file, { base.pointee.xOpen(base, path, $0, flags, outFlags) }) { file, inner in
            if exists == 0 { faults.tell(.created(name)) }
            let journals = SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL | SQLITE_OPEN_WAL
            // The first sync of a new journal makes its name durable too.
            let syncsFolder = exists == 0 && flags & journals != 0
            FaultFile.install(
                file, before: inner,
                FaultFile.State(name, isTemporary: !isNamed, syncsFolder: syncsFolder, faults: faults))
        }
    }
}

/// The memory of an open file: up to two filters, and SQLite's own file after them.
enum FileRoom {
    private static func rounded(_ size: Int) -> Int { (size + 15) & ~15 }

    private static var headerSize: Int {
        rounded(
            max(
                MemoryLayout<FaultFile>.size, MemoryLayout<ferry_ahead_file>.size, MemoryLayout<ferry_behind_file>.size)
        )
    }

    static func nameOffset(_ base: sqlite3_vfs) -> Int { 2 * headerSize + rounded(Int(base.szOsFile)) }

    static func inner(of file: UnsafeMutablePointer<sqlite3_file>) -> UnsafeMutablePointer<sqlite3_file> {
        (UnsafeMutableRawPointer(file) + headerSize).assumingMemoryBound(to: sqlite3_file.self)
    }
}

private enum TemporaryName {
    private static let prefix = Array("/ferry-tmp-".utf8)
    private static let randomBytes = 12
    /// Prefix, two digits per random byte, and the two NULs that SQLite expects after a name.
    static let suffixLength = prefix.count + 2 * randomBytes + 2

    static func write(
        in folder: [UInt8], at start: UnsafeMutableRawPointer, vfs: UnsafeMutablePointer<sqlite3_vfs>
    ) -> UnsafePointer<CChar> {
        var random = [CChar](repeating: 0, count: randomBytes)
        _ = vfs.pointee.xRandomness(vfs, Int32(randomBytes), &random)
        let name = folder + prefix + Array(random.map(UInt8.init(bitPattern:)).hexadecimal.utf8) + [0, 0]
        start.copyMemory(from: name, byteCount: name.count)
        return UnsafePointer(start.assumingMemoryBound(to: CChar.self))
    }
}
