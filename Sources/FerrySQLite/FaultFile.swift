internal import CSQLite
internal import FerryBase

/// A file of the VFS wrapper when faults are planned: SQLite's own file behind a header of ours.
///
/// Only what changes the disk is counted; all else, shared memory and file controls included, is passed through.
struct FaultFile {
    private var base: sqlite3_file
    private var state: Unmanaged<State>

    /// What a file is to a witness.
    struct Identity {
        var name: String
        var isTemporary: Bool
        /// Whether the next sync makes its name durable too.
        var syncsFolder = false
    }

    private final class State {
        var identity: Identity
        let faults: FaultPlan
        /// The methods that the file shows; as many as its inner file has.
        let methods: UnsafeMutablePointer<sqlite3_io_methods>

        init(_ identity: Identity, faults: FaultPlan, version: Int32) {
            self.identity = identity
            self.faults = faults
            methods = .allocate(capacity: 1)
            methods.initialize(to: FaultFile.methods(version: version))
        }

        deinit { methods.deallocate() }
    }

    static func install(
        over file: UnsafeMutablePointer<sqlite3_file>, version: Int32, as identity: Identity, faults: FaultPlan
    ) {
        let state = State(identity, faults: faults, version: version)
        UnsafeMutableRawPointer(file).initializeMemory(
            as: FaultFile.self,
            to: FaultFile(
                base: sqlite3_file(pMethods: UnsafePointer(state.methods)), state: .passRetained(state)))
    }

    private static func header(of file: UnsafeMutablePointer<sqlite3_file>) -> UnsafeMutablePointer<FaultFile> {
        UnsafeMutableRawPointer(file).assumingMemoryBound(to: FaultFile.self)
    }

    private static func strikes(_ operation: String, _ file: UnsafeMutablePointer<sqlite3_file>) -> Bool {
        header(of: file).pointee.state._withUnsafeGuaranteedRef { state in
            let name = state.identity.name
            return state.faults.strikes("\(operation) \(name.isEmpty ? "a temporary file" : name)")
        }
    }

    /// Tells what was done to a file that has a name.
    private static func tell(_ file: UnsafeMutablePointer<sqlite3_file>, _ change: (String) -> DiskChange) {
        header(of: file).pointee.state._withUnsafeGuaranteedRef { state in
            guard !state.identity.isTemporary else { return }
            state.faults.tell(change(state.identity.name))
        }
    }

    private static func tellOfSync(_ file: UnsafeMutablePointer<sqlite3_file>) {
        tell(file) { .synced($0) }
        header(of: file).pointee.state._withUnsafeGuaranteedRef { state in
            guard state.identity.syncsFolder else { return }
            state.identity.syncsFolder = false
            state.faults.tell(.syncedFolder(FileLayer.parent(of: state.identity.name)))
        }
    }

    private static func methods(version: Int32) -> sqlite3_io_methods {
        var methods = sqlite3_io_methods()
        methods.iVersion = min(version, 3)
        methods.xClose = { file in
            let code = FaultFile.pass(file) { $0.pointee.xClose($1) }
            FaultFile.header(of: file!).pointee.state.release()
            return code
        }
        methods.xWrite = { file, bytes, count, offset in
            if FaultFile.strikes("write", file!) { return ExtendedCode.writeFailed }
            let code = FaultFile.pass(file) { $0.pointee.xWrite($1, bytes, count, offset) }
            if code == SQLITE_OK {
                let written = UnsafeRawBufferPointer(start: bytes, count: Int(count))
                FaultFile.tell(file!) { .wrote($0, offset: offset, written) }
            }
            return code
        }
        methods.xTruncate = { file, size in
            if FaultFile.strikes("truncate", file!) { return ExtendedCode.truncateFailed }
            let code = FaultFile.pass(file) { $0.pointee.xTruncate($1, size) }
            if code == SQLITE_OK { FaultFile.tell(file!) { .resized($0, size) } }
            return code
        }
        methods.xSync = { file, flags in
            if FaultFile.strikes("sync", file!) { return ExtendedCode.syncFailed }
            let code = FaultFile.pass(file) { $0.pointee.xSync($1, flags) }
            if code == SQLITE_OK { FaultFile.tellOfSync(file!) }
            return code
        }
        passThrough(&methods)
        return methods
    }

    private static func passThrough(_ methods: inout sqlite3_io_methods) {
        methods.xRead = { file, bytes, count, offset in
            FaultFile.header(of: file!).pointee.state._withUnsafeGuaranteedRef { state in
                state.faults.hasRead(Int64(count), of: state.identity.name)
            }
            return FaultFile.pass(file) { $0.pointee.xRead($1, bytes, count, offset) }
        }
        methods.xFileSize = { file, size in FaultFile.pass(file) { $0.pointee.xFileSize($1, size) } }
        methods.xLock = { file, level in FaultFile.pass(file) { $0.pointee.xLock($1, level) } }
        methods.xUnlock = { file, level in FaultFile.pass(file) { $0.pointee.xUnlock($1, level) } }
        methods.xCheckReservedLock = { file, result in
            FaultFile.pass(file) { $0.pointee.xCheckReservedLock($1, result) }
        }
        methods.xFileControl = { file, operation, argument in
            FaultFile.pass(file) { $0.pointee.xFileControl($1, operation, argument) }
        }
        methods.xSectorSize = { file in FaultFile.pass(file) { $0.pointee.xSectorSize($1) } }
        methods.xDeviceCharacteristics = { file in FaultFile.pass(file) { $0.pointee.xDeviceCharacteristics($1) } }
        methods.xShmMap = { file, region, size, extends, memory in
            FaultFile.pass(file) { $0.pointee.xShmMap($1, region, size, extends, memory) }
        }
        methods.xShmLock = { file, offset, count, flags in
            FaultFile.pass(file) { $0.pointee.xShmLock($1, offset, count, flags) }
        }
        methods.xShmBarrier = { file in FaultFile.pass(file) { $0.pointee.xShmBarrier($1) } }
        methods.xShmUnmap = { file, deletes in FaultFile.pass(file) { $0.pointee.xShmUnmap($1, deletes) } }
        methods.xFetch = { file, offset, count, memory in
            FaultFile.pass(file) { $0.pointee.xFetch($1, offset, count, memory) }
        }
        methods.xUnfetch = { file, offset, memory in
            FaultFile.pass(file) { $0.pointee.xUnfetch($1, offset, memory) }
        }
    }

    /// Calls a method of the inner file.
    private static func pass<Result>(
        _ file: UnsafeMutablePointer<sqlite3_file>?,
        _ call: (UnsafePointer<sqlite3_io_methods>, UnsafeMutablePointer<sqlite3_file>) -> Result
    ) -> Result {
        let inner = FileRoom.inner(of: file!)
        return call(inner.pointee.pMethods, inner)
    }
}
