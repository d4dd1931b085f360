internal import Ferry
internal import FerryBase
internal import FerrySQLite

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

/// A few questions in SQL whose answers show what a migration did.
struct DemoFacts {
    private let questions: [(meaning: String, sql: String)]

    /// Of a store before the migration; the join table's name follows from the model.
    static func before(joinTable: String) -> DemoFacts {
        DemoFacts(questions: [
            ("books", "SELECT count(*) FROM ZBOOK"),
            ("different authors' names", "SELECT count(DISTINCT ZAUTHORNAME) FROM ZBOOK"),
            ("books that a user has", "SELECT count(*) FROM \(joinTable)"),
            ("books by Ada Abel", "SELECT count(*) FROM ZBOOK WHERE ZAUTHORNAME = 'Ada Abel'"),
        ])
    }

    static let after = DemoFacts(questions: [
        ("books", "SELECT count(*) FROM ZBOOK"),
        ("authors", "SELECT count(*) FROM ZAUTHOR"),
        ("files", "SELECT count(*) FROM ZFILE"),
        (
            "books by Ada Abel",
            "SELECT count(*) FROM ZBOOK b JOIN ZAUTHOR a ON b.ZAUTHOR = a.Z_PK WHERE a.ZNAME = 'Ada Abel'"
        ),
    ])

    /// Asks a store; a line for each question, its answer first.
    func lines(_ store: String, width: Int) throws -> [String] {
        var table = TextTable(["", "", ""], [.right, .left, .left])
        // Not by a connection of our own: that would leave a -wal and a -shm beside the store.
        try StoreFiles(URL(filePath: store)).read { connection in
            for (meaning, sql) in questions {
                table.add([Quantity.grouped(try connection.integer(sql) ?? 0), meaning, sql])
            }
        }
        return Array(table.lines(width: width).dropFirst())
    }
}
