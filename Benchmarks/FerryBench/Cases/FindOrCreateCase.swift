internal import BenchmarkHarness

/// Authors found by name or created, related many to many.
struct FindOrCreateCase: MigrationBesideSQL {
    let name = "find-or-create"
    let summary = "an author for every ten books, found by name or created, related many to many"
    let sides = [
        Side("ferry", "the library, without snapshot and verification", isCounted: true),
        Side("statements", "GROUP BY into a table of names, then joins, by hand in one durable transaction"),
    ]
    let measures: [Measure] = [
        .speed(against: "statements", budget: 1), .work(against: "statements"), .written(against: "statements"),
        .peak(), .statements(),
        .allocationsPerRow(),
    ]

    func prepare(_ point: Point, in folder: String) throws {
        try Subject.authors(booksPerAuthor: 10).write(rows: point.rows, to: folder)
    }

    static func filledTable(_ plan: SQLFloor.Plan) throws -> String { try plan.new.join("Book", "authors").table }

    static func statements(_ plan: SQLFloor.Plan) throws -> [String] {
        let join = try plan.new.join("Book", "authors")
        let kept = "Z_OPT, ZADDEDON, ZFILEURL, ZISBN, ZLANGUAGE, ZPAGES, ZPRICE, ZTITLE"
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
}
