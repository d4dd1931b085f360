internal import FerryStore

/// The hand-written SQL that carries books.
enum BookSQL {
    private static let kept = "Z_OPT, ZADDEDON, ZFILEURL, ZISBN"

    /// Returns the statement for every column of the new book, as in the mapping file of ``Subject/books``; without a
    /// range.
    static func carry(_ plan: SQLFloor.Plan) throws -> String {
        """
        INSERT INTO main.ZBOOK
            (Z_PK, Z_ENT, \(kept), ZAUTHORNAME, ZLANGUAGE, ZPAGES, ZPRICE, ZHEADING, ZRATING)
        SELECT Z_PK, \(try plan.number(of: "Book")), \(kept), ZAUTHORNAME, ZLANGUAGE, ZPAGES, ZPRICE * 1.2, ZTITLE, 3
        FROM source.ZBOOK
        """
    }

    /// Returns the statement for ``Subject/computedBooks``, with SQLite's own functions.
    static func compute(_ plan: SQLFloor.Plan) throws -> String {
        """
        INSERT INTO main.ZBOOK
            (Z_PK, Z_ENT, \(kept), ZAUTHORNAME, ZLANGUAGE, ZPAGES, ZPRICE, ZHEADING, ZHEADINGLENGTH)
        SELECT Z_PK, \(try plan.number(of: "Book")), \(kept), ZAUTHORNAME, upper(ZLANGUAGE), ZPAGES * 2, ZPRICE / 1.2,
            ZTITLE, length(ZTITLE)
        FROM source.ZBOOK
        """
    }

    /// Returns the statement that copies users unchanged.
    static func users(_ plan: SQLFloor.Plan) throws -> String {
        """
        INSERT INTO main.ZUSER (Z_PK, Z_ENT, Z_OPT, ZMEMBERSINCE, ZNAME)
        SELECT Z_PK, \(try plan.number(of: "User")), Z_OPT, ZMEMBERSINCE, ZNAME FROM source.ZUSER
        """
    }

    /// Returns the statement for the rows of a join table that both stores have, in the order of the new table's key.
    static func links(_ relationship: String, _ plan: SQLFloor.Plan) throws -> String {
        let from = try plan.old.join("Book", relationship)
        let to = try plan.new.join("Book", relationship)
        return """
            INSERT INTO main.\(to.table) (\(to.own), \(to.other))
            SELECT \(from.own), \(from.other) FROM source.\(from.table)
            ORDER BY \(to.isOwnFirst ? "1, 2" : "2, 1")
            """
    }

    /// Returns the statements for authors by name in the order of their first books, the books with the columns that
    /// both stores have, and the rows of the join table.
    static func authors(_ kept: String, _ plan: SQLFloor.Plan) throws -> [String] {
        let join = try plan.new.join("Book", "authors")
        return [
            "CREATE TEMP TABLE author (name TEXT PRIMARY KEY, first INTEGER) WITHOUT ROWID",
            """
            INSERT INTO temp.author SELECT ZAUTHORNAME, min(Z_PK) FROM source.ZBOOK WHERE ZAUTHORNAME IS NOT NULL
            GROUP BY ZAUTHORNAME ORDER BY ZAUTHORNAME
            """,
            """
            INSERT INTO main.ZAUTHOR (Z_PK, Z_ENT, Z_OPT, ZNAME)
            SELECT row_number() OVER (ORDER BY first), \(try plan.number(of: "Author")), 1, name FROM temp.author
            """,
            "DROP TABLE temp.author",
            "CREATE TEMP TABLE author (name TEXT PRIMARY KEY, key INTEGER) WITHOUT ROWID",
            "INSERT INTO temp.author SELECT ZNAME, Z_PK FROM main.ZAUTHOR ORDER BY ZNAME",
            """
            INSERT INTO main.ZBOOK (Z_PK, Z_ENT, \(kept))
            SELECT Z_PK, \(try plan.number(of: "Book")), \(kept) FROM source.ZBOOK
            """,
            """
            INSERT INTO main.\(join.table) (\(join.own), \(join.other))
            SELECT b.Z_PK, a.key FROM source.ZBOOK AS b JOIN temp.author AS a ON a.name = b.ZAUTHORNAME
            ORDER BY \(join.isOwnFirst ? "1, 2" : "2, 1")
            """,
            "DROP TABLE temp.author",
        ]
    }

    static let range = " WHERE Z_PK > ?1 AND Z_PK <= ?2"

    /// Returns the reading and the writing statement, for the loop in C; the price is column 8, counted from 0.
    static func loop(_ plan: SQLFloor.Plan) throws -> (read: String, write: String, price: Int32) {
        (
            """
            SELECT Z_PK, \(kept), ZAUTHORNAME, ZLANGUAGE, ZPAGES, ZPRICE, ZTITLE FROM source.ZBOOK
            """,
            """
            INSERT INTO main.ZBOOK
                (Z_PK, \(kept), ZAUTHORNAME, ZLANGUAGE, ZPAGES, ZPRICE, ZHEADING, Z_ENT, ZRATING)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, \(try plan.number(of: "Book")), 3)
            """, 8
        )
    }
}
