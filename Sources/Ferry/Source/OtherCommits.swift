internal import FerryBase
internal import FerrySQLite

/// The commits of other connections, since a transaction of one that lets others write after it.
///
/// After COMMIT another program may write before the store's state can be recorded, and its writes must not pass for
/// those of the run.
struct OtherCommits {
    private let number: Int64?

    /// Remembers the present state; inside a transaction that keeps other writers out.
    init(seenBy connection: Connection) throws { number = try Self.number(connection) }

    /// The store's fingerprint; nil if another connection has committed, or is writing now.
    func fingerprintIfNone(on connection: Connection, files: FileLayer) throws -> DatabaseFingerprint? {
        do {
            try connection.execute("BEGIN IMMEDIATE")
        } catch {
            guard error.isBusy else { throw error }
            return nil
        }
        let fingerprint =
            try Self.number(connection) == number ? PageReader(connection).fingerprint(files: files) : nil
        try connection.execute("ROLLBACK")
        return fingerprint
    }

    /// A number that only commits of other connections change, whatever the journal mode.
    private static func number(_ connection: Connection) throws -> Int64? {
        try connection.integer("PRAGMA data_version")
    }
}
