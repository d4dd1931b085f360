internal import CSQLite

/// The SQLite that this process runs with.
package enum SQLiteLibrary {
    /// The oldest one that has all that is used: counts of changes with 64 bits, extended codes from `sqlite3_open_v2`,
    /// `PRAGMA table_list`.
    package static let oldest = "3.37.0"
    private static let oldestNumber: Int32 = 3_037_000

    package static var version: String { String(cString: sqlite3_libversion()) }

    /// Whether a row counts with all its values against the limit of lengths, also where a small one alone is read.
    ///
    /// From 3.39 on the limit is held against each value that is read.
    package static var limitsWholeRows: Bool { sqlite3_libversion_number() < 3_039_000 }

    /// - Parameter number: SQLite's number of its version (`sqlite3_libversion_number`).
    /// - Throws: ``DatabaseError`` that ``DatabaseError/isLibraryTooOld``.
    package static func check(_ number: Int32 = sqlite3_libversion_number()) throws(DatabaseError) {
        guard number < oldestNumber else { return }
        let version = "\(number / 1_000_000).\(number / 1_000 % 1_000).\(number % 1_000)"
        throw DatabaseError(
            code: ExtendedCode.libraryTooOld, message: "the SQLite library is version \(version), older than \(oldest)")
    }
}
