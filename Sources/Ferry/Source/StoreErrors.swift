internal import FerryBase
internal import FerrySQLite
internal import Foundation

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
        case let error as DatabaseError where error.isBusy: storeInUse(path, cause: error)
        case let error as DatabaseError where error.cannotOpen:
            FerryError(
                .databaseFailed, "\(path) cannot be opened.",
                remedy: "Check that its folder exists, and the permissions of the file and its folder.",
                cause: error)
        case let error as DatabaseError where error.isCorrupt:
            FerryError(
                .databaseFailed, "The file \(path) is damaged: SQLite cannot read it (\(error.message)).",
                remedy: damagedRemedy, cause: error)
        case let error as DatabaseError: FerryError(database: error, whileDoing: "working on \(path)")
        default:
            FerryError(.internalError, "An unexpected error occurred on \(path): \(error).", cause: error)
        }
    }

    /// Calls a body, and throws any of its errors as one on the file.
    package static func wrapping<Result>(on path: String, _ body: () throws -> Result) throws(FerryError) -> Result {
        do { return try body() } catch { throw wrapping(error, on: path) }
    }

    /// Whether a stop request interrupted a statement, so that the current unit is lost.
    var gaveUpUnit: Bool {
        switch cause {
        case let cause as DatabaseError: cause.isInterrupted
        case let cause as FerryError: cause.gaveUpUnit
        default: false
        }
    }

    /// An error before anything was written; one that says that the store's pages do not fit together refuses.
    static func beforeRun(_ error: any Error, on path: String) -> FerryError {
        var wrapped = wrapping(error, on: path)
        if (wrapped.cause as? DatabaseError)?.isCorrupt == true { wrapped.code = .storeDamaged }
        return wrapped
    }

    /// Calls a body before anything was written, and throws any of its errors as one on the file.
    static func beforeRun<Result>(on path: String, _ body: () throws -> Result) throws(FerryError) -> Result {
        do { return try body() } catch { throw beforeRun(error, on: path) }
    }

    private static let damagedRemedy: Remedy = """
        Restore a backup or a snapshot, or recover what is left into a new file with .recover of the sqlite3 shell and \
        migrate that.
        """

    /// `what` are the words of ``DatabaseFiles/guess(_:)``, or like them.
    static func notADatabase(_ path: String, _ what: String) -> FerryError {
        func has(_ words: String...) -> Bool { words.contains { what.contains($0) } }
        let remedy: Remedy =
            if has("encrypted") {
                "Pass the store's main file; an encrypted one must be decrypted first."
            } else if has("XML", "property list") {
                "Ferry migrates SQLite stores. If this is a Core Data store of another type, have the app move it to one."
            } else if has("without its database") {
                "Pass the store's main file, which has the same name without its last ending."
            } else if has("empty file", "zero bytes", "cut off", "damaged") {
                "Restore the store from a backup or a snapshot."
            } else {
                "Pass the store's main file."
            }
        if has("its header") {
            return FerryError(.notADatabase, "The database \(path) is \(what).", remedy: damagedRemedy)
        }
        return FerryError(.notADatabase, "\(path) is not an SQLite database but \(what).", remedy: remedy)
    }

    /// An error by another program's use of a store, or that a run of another process is that program.
    static func namingRun(_ error: any Error, on path: String, files: FileLayer) -> any Error {
        guard let known = error as? FerryError, [.storeInUse, .sourceChanged].contains(known.code) else { return error }
        let lock = RunFolder.path(beside: path) + "/lock"
        do {
            guard try files.isLocked(lock), let process = try files.lockHolder(lock), process != getpid() else {
                return error
            }
            return FerryError(
                .runActive, "A migration of \(path) by process \(process) is running.",
                remedy: "Wait for it to end or stop it, and \(action: .again).", cause: known)
        } catch {
            return known
        }
    }

    static func storeInUse(_ path: String, cause: (any Error)? = nil) -> FerryError {
        FerryError(
            .storeInUse, "\(path) is in use: another program is writing to it.",
            remedy: "Close the app that has it open and \(action: .again).", cause: cause)
    }
}
