internal import FerryStore

/// The hand-written SQL that carries books.
enum BookSQL {
    private static let kept = "Z_OPT, ZADDEDON, ZFILEURL, ZISBN"

    /// Every column of the new book, as the mapping file of ``Subject/books`` has it; without a range.
    static func carry(_ plan: SQLFloor.Plan) throws -> String {
        """
        INSERT INTO main.ZBOOK
            (Z_PK, Z_ENT, \(kept), ZAUTHORNAME, ZLANGUAGE, ZPAGES, ZPRICE, ZHEADING, ZRATING)
        SELECT Z_PK, \(try plan.number(of: "Book")), \(kept), ZAUTHORNAME, ZLANGUAGE, ZPAGES, ZPRICE * 1.2, ZTITLE, 3
        FROM source.ZBOOK
        """
    }

    /// The same for ``Subject/computedBooks``, with SQLite's own functions.
    static func compute(_ plan: SQLFloor.Plan) throws -> String {
        """
        INSERT INTO main.ZBOOK
            (Z_PK, Z_ENT, \(kept), ZAUTHORNAME, ZLANGUAGE, ZPAGES, ZPRICE, ZHEADING, ZHEADINGLENGTH)
        SELECT Z_PK, \(try plan.number(of: "Book")), \(kept), ZAUTHORNAME, upper(ZLANGUAGE), ZPAGES * 2, ZPRICE / 1.2,
            ZTITLE, length(ZTITLE)
        FROM source.ZBOOK
        """
    }

    static let range = " WHERE Z_PK > ?1 AND Z_PK <= ?2"

    /// Reading and writing apart, for the loop in C; the price is its column 8, counted from 0.
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
