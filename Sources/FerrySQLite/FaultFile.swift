internal import CDatabase
internal import CSQLite
internal import FerryBase

/// The filter before a file of SQLite's own VFS under a ``FaultPlan``.
///
/// Counts operations that change the disk; others, like shared memory and file controls, pass through (`filter.h`).
struct FaultFile {
    private var filter: ferry_filter_file
    private var state: Unmanaged<State>

    final class State {
        let name: String
        private let isTemporary: Bool
        /// Whether the next sync makes the file's name durable too.
        private var syncsFolder: Bool
        let faults: FaultPlan

        init(_ name: String, isTemporary: Bool, syncsFolder: Bool, faults: FaultPlan) {
            (self.name, self.isTemporary, self.syncsFolder) = (name, isTemporary, syncsFolder)
            self.faults = faults
        }

        func strikes(_ operation: String) -> Bool {
            faults.strikes("\(operation) \(name.isEmpty ? "a temporary file" : name)")
        }

        /// Passes a change to the witness, except of temporary files.
        func tell(_ change: (String) -> DiskChange) { if !isTemporary { faults.tell(change(name)) } }

        func tellOfSync() {
            tell { .synced($0) }
            guard syncsFolder else { return }
            syncsFolder = false
            faults.tell(.syncedFolder(FileLayer.parent(of: name)))
        }
    }

    private static func state(of file: UnsafeMutablePointer<sqlite3_file>?) -> Unmanaged<State> {
        UnsafeMutableRawPointer(file!).assumingMemoryBound(to: FaultFile.self).pointee.state
    }

    /// Makes a counted call that changes the file, and passes it to the witness if it succeeds.
    private static func change(
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ operation: String, orFail failure: Int32, _ call: () -> Int32,
        _ tell: (State) -> Void
    ) -> Int32 {
        state(of: file)._withUnsafeGuaranteedRef { state in
            if state.strikes(operation) { return failure }
            let code = call()
            if code == SQLITE_OK { tell(state) }
            return code
        }
    }

    static func install(
        _ file: UnsafeMutablePointer<sqlite3_file>, before inner: UnsafeMutablePointer<sqlite3_file>, _ state: State
    ) {
        UnsafeMutableRawPointer(file).initializeMemory(
            as: FaultFile.self, to: FaultFile(filter: ferry_filter_file(), state: .passRetained(state)))
        let filter = UnsafeMutableRawPointer(file).assumingMemoryBound(to: ferry_filter_file.self)
        ferry_filter_install(filter, inner)
        filter.pointee.methods.xClose = { file in
            let code = ferry_pass_close(file)
            FaultFile.state(of: file).release()
            return code
        }
        filter.pointee.methods.xRead = { file, bytes, count, offset in
            FaultFile.state(of: file)._withUnsafeGuaranteedRef { $0.faults.hasRead(Int64(count), of: $0.name) }
            return ferry_pass_read(file, bytes, count, offset)
        }
        filter.pointee.methods.xWrite = { file, bytes, count, offset in
            let isRefused = FaultFile.state(of: file)._withUnsafeGuaranteedRef { $0.faults.refusesMemory() }
            if isRefused { return SQLITE_NOMEM }
            return FaultFile.change(file, "write", orFail: ExtendedCode.writeFailed) {
                ferry_pass_write(file, bytes, count, offset)
            } _: { state in
                let written = UnsafeRawBufferPointer(start: bytes, count: Int(count))
                state.tell { .wrote($0, offset: offset, written) }
            }
        }
        filter.pointee.methods.xTruncate = { file, size in
            FaultFile.change(file, "truncate", orFail: ExtendedCode.truncateFailed) {
                ferry_pass_truncate(file, size)
            } _: { state in
                state.tell { .resized($0, size) }
            }
        }
        filter.pointee.methods.xSync = { file, flags in
            FaultFile.change(file, "sync", orFail: ExtendedCode.syncFailed) {
                ferry_pass_sync(file, flags)
            } _: { state in
                state.tellOfSync()
            }
        }
    }
}
