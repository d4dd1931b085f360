internal import BenchmarkHarness

/// Two attributes of every book become objects of their own, each related one to one.
struct ExtractCase: MigrationBesideSQL {
    let name = "extract"
    let summary = "two assets split out of every book, one with its key and one with a new key, related one to one"
    let sides = [
        Side("ferry", "the library, without snapshot and verification", isCounted: true),
        Side("statements", "three INSERT … SELECT and the indexes by hand in one durable transaction"),
    ]
    let measures: [Measure] = [
        .speed(against: "statements", budget: 0.85), .work(against: "statements"), .written(against: "statements"),
        .peak(),
        .statements(), .allocationsPerRow(),
    ]

    func prepare(_ point: BenchPoint, in folder: String) throws {
        try Subject.assets.write(rows: point.rows, to: folder)
    }

    static func filledTable(_ plan: SQLFloor.Plan) -> String { "ZBOOK" }

    static func statements(_ plan: SQLFloor.Plan) throws -> [String] {
        let kept = "Z_OPT, ZADDEDON, ZAUTHORNAME, ZISBN, ZLANGUAGE, ZPAGES, ZPRICE, ZTITLE"
        let asset = try plan.number(of: "Asset")
        // Hand-written SQL can compute a text's key: its book's key, above the keys of all covers.
        let text = "Z_PK + (SELECT max(Z_PK) FROM source.ZBOOK)"
        return [
            """
            INSERT INTO main.ZBOOK (Z_PK, Z_ENT, \(kept), ZCOVER, ZTEXT)
            SELECT Z_PK, \(try plan.number(of: "Book")), \(kept), Z_PK, \(text) FROM source.ZBOOK
            """,
            """
            INSERT INTO main.ZASSET (Z_PK, Z_ENT, Z_OPT, ZCOVEROF, ZNAME)
            SELECT Z_PK, \(asset), 1, Z_PK, ZSHELF FROM source.ZBOOK
            """,
            """
            INSERT INTO main.ZASSET (Z_PK, Z_ENT, Z_OPT, ZTEXTOF, ZNAME)
            SELECT \(text), \(asset), 1, Z_PK, ZFILEURL FROM source.ZBOOK
            """,
        ]
    }
}
