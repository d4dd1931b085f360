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

    func prepare(_ point: BenchPoint, in folder: String) throws {
        try Subject.authors(booksPerAuthor: 10).write(rows: point.rows, to: folder)
    }

    static func filledTable(_ plan: SQLFloor.Plan) throws -> String { try plan.new.join("Book", "authors").table }

    static func statements(_ plan: SQLFloor.Plan) throws -> [String] {
        try BookSQL.authors("Z_OPT, ZADDEDON, ZFILEURL, ZISBN, ZLANGUAGE, ZPAGES, ZPRICE, ZTITLE", plan)
    }
}
