internal import FerryBase
package import FerrySQLite

/// What makes a commit of several attached databases one: the journals of SQLite, joined by a super-journal.
package enum AtomicCommit {
    /// Looks whether SQLite will write a super-journal; to be asked after every ATTACH, before anything is written.
    ///
    /// With another journal mode, or with `synchronous=OFF` on one of the files, it writes none, and a crash could keep
    /// the rows and lose what was noted of them.
    ///
    /// - Throws: ``FerryError`` `.internalError` with the name of the database that has no such journal.
    package static func require(of schemas: [String], on connection: Connection) throws {
        for schema in schemas {
            let journal = try connection.value("PRAGMA \(schema).journal_mode")
            let isSynchronous = try connection.integer("PRAGMA \(schema).synchronous") ?? 0 >= 1
            guard journal == .text("truncate"), isSynchronous else {
                throw FerryError(
                    .internalError, "SQLite does not give the \(schema) database a journal that survives a crash.",
                    remedy: "Use a file system that supports file locking.")
            }
        }
    }
}
