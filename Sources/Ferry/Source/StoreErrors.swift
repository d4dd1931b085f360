internal import FerryBase
internal import FerrySQLite

extension FerryError {
    /// Any error as one for the user: unchanged if it is a ``FerryError``, else as one on the file.
    package static func wrapping(_ error: any Error, on path: String) -> FerryError {
        switch error {
        case let error as FerryError: error
        case let error as DatabaseError where error.isLibraryTooOld:
            FerryError(
                .unsupported, "Ferry needs SQLite \(SQLiteLibrary.oldest) or newer: \(error.message).",
                remedy: "Install a newer SQLite library, or build Ferry against one.", cause: error)
        case let error as DatabaseError where error.isNotADatabase: notADatabase(path, "damaged, or encrypted")
        case let error as DatabaseError where error.isInterrupted:
            FerryError(
                .interrupted, "Stopped while working on \(path).", remedy: "\(action: .again) to go on.",
                cause: error)
        case let error as DatabaseError where error.isBusy: storeInUse(path, cause: error)
        case let error as DatabaseError where error.isOutOfMemory:
            FerryError(
                .outOfMemory, "SQLite got no more memory while working on \(path).",
                remedy: "Raise \(setting: .memoryLimit) and \(action: .again).", cause: error)
        case let error as DatabaseError where error.isFull:
            FerryError(
                .databaseFailed, "The volume is full: \(path) could not be written.",
                remedy: "Make room and \(action: .again).", cause: error)
        case let error as DatabaseError where error.cannotOpen:
            FerryError(
                .databaseFailed, "\(path) cannot be opened.",
                remedy: "Check that its folder is there, and the permissions of the file and of its folder.",
                cause: error)
        case let error as DatabaseError:
            FerryError(
                .databaseFailed, "SQLite failed on \(path): \(error.message) (code \(error.code)).",
                remedy: "\(action: .again); if it fails again, check the file with PRAGMA integrity_check.",
                cause: error)
        default:
            FerryError(.internalError, "Something failed on \(path): \(error).", cause: error)
        }
    }

    /// Whether a stop request interrupted a statement, so that the current unit is lost.
    var gaveUpUnit: Bool {
        switch cause {
        case let cause as DatabaseError: cause.isInterrupted
        case let cause as FerryError: cause.gaveUpUnit
        default: false
        }
    }

    static func notADatabase(_ path: String, _ what: String) -> FerryError {
        FerryError(
            .notADatabase, "\(path) is no SQLite database: it is \(what).",
            remedy: "Name the store's main file; an encrypted one must be decrypted first.")
    }

    static func storeInUse(_ path: String, cause: (any Error)? = nil) -> FerryError {
        FerryError(
            .storeInUse, "\(path) is in use: another program is writing to it.",
            remedy: "Close the app that has it open and \(action: .again).", cause: cause)
    }
}
