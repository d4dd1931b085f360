internal import CSQLite
internal import FerryBase
internal import Foundation

/// A client of SQLite that does not know Ferry and writes to its own table at any time.
final class HostileClient {
    /// The results of the client's writes.
    final class Ledger: Sendable {
        struct State {
            var next: Int64 = 1
            var acknowledged: Set<Int64> = []
            /// Error codes of SQLite that no correct store gives.
            var failures: [String] = []
        }
        let state = Locked(State())

        func number() -> Int64 {
            state.withLock { state in
                defer { state.next += 1 }
                return state.next
            }
        }
    }

    static let table = "APP_LOG"
    private let ledger: Ledger
    private let database: OpaquePointer?

    /// Opens the store; SQLite reads nothing from the file yet.
    init(_ path: String, _ ledger: Ledger, patience milliseconds: Int32 = 0) {
        self.ledger = ledger
        var opened: OpaquePointer?
        _ = sqlite3_open_v2(path, &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_FULLMUTEX, nil)
        database = opened
        sqlite3_busy_timeout(database, milliseconds)
    }

    deinit { sqlite3_close(database) }

    /// Adds a row in one transaction.
    ///
    /// - Returns: Whether SQLite has acknowledged the write.
    @discardableResult
    func write() -> Bool {
        let number = ledger.number()
        guard run("INSERT INTO \(Self.table) VALUES (\(number))") else { return false }
        ledger.state.withLock { _ = $0.acknowledged.insert(number) }
        return true
    }

    func read() { _ = run("SELECT count(*) FROM \(Self.table)") }

    /// Reads within a transaction that stays open.
    func holdReading() { _ = run("BEGIN; SELECT count(*) FROM \(Self.table)") }

    func letGo() { _ = run("ROLLBACK") }

    private func run(_ sql: String) -> Bool {
        let code = sqlite3_exec(database, sql, nil, nil, nil) & 0xff
        switch code {
        case SQLITE_OK: return true
        // Another client holds a lock, so the transaction that this statement ends never began.
        case SQLITE_BUSY, SQLITE_LOCKED: return false
        case SQLITE_ERROR where sql == "ROLLBACK": return false
        default:
            let text = "\(sql.prefix(6)): \(code) \(String(cString: sqlite3_errmsg(database)))"
            ledger.state.withLock { $0.failures.append(text) }
            return false
        }
    }
}
