internal import BenchmarkHarness

/// Artists out of a JSON array, found by name or created, related many to many.
struct JSONCase: MigrationBesideSQL {
    let name = "json"
    let summary = "one to three artists out of each track's JSON, found by name or created, related many to many"
    let sides = [
        Side("ferry", "the library, without snapshot and verification", isCounted: true),
        Side("statements", "json_each into a table of elements, then joins, by hand in one durable transaction"),
    ]
    let measures: [Measure] = [
        .speed(against: "statements", budget: 1.3), .work(against: "statements"), .written(against: "statements"),
        .peak(), .statements(),
        .allocationsPerRow(),
    ]

    func prepare(_ point: BenchPoint, in folder: String) throws {
        try Subject.tracks.write(rows: point.rows, to: folder)
    }

    static func filledTable(_ plan: SQLFloor.Plan) -> String { "ZTRACK" }

    static func statements(_ plan: SQLFloor.Plan) throws -> [String] {
        let join = try plan.new.join("Track", "artists")
        return [
            // The floor keeps the elements in a table: exploding the array twice would cost more.
            "CREATE TEMP TABLE element (n INTEGER PRIMARY KEY, track INTEGER, name TEXT, url TEXT)",
            """
            INSERT INTO temp.element (track, name, url)
            SELECT t.Z_PK, json_extract(e.value, '$.name'), json_extract(e.value, '$.imageURL')
            FROM source.ZTRACK AS t, json_each(t.ZJSON, '$.artists') AS e
            """,
            "CREATE TEMP TABLE artist (name TEXT PRIMARY KEY, n INTEGER, key INTEGER) WITHOUT ROWID",
            """
            INSERT INTO temp.artist (name, n, key)
            SELECT name, n, row_number() OVER (ORDER BY n)
            FROM (SELECT name, min(n) AS n FROM temp.element GROUP BY name)
            """,
            """
            INSERT INTO main.ZARTIST (Z_PK, Z_ENT, Z_OPT, ZNAME, ZIMAGEURL)
            SELECT a.key, \(try plan.number(of: "Artist")), 1, a.name, e.url
            FROM temp.artist AS a JOIN temp.element AS e ON e.n = a.n ORDER BY a.key
            """,
            """
            INSERT INTO main.ZTRACK (Z_PK, Z_ENT, Z_OPT, ZALBUM, ZSECONDS, ZTITLE)
            SELECT Z_PK, \(try plan.number(of: "Track")), Z_OPT, ZALBUM, ZSECONDS, ZTITLE FROM source.ZTRACK
            """,
            """
            INSERT OR IGNORE INTO main.\(join.table) (\(join.own), \(join.other))
            SELECT e.track, a.key FROM temp.element AS e JOIN temp.artist AS a ON a.name = e.name
            ORDER BY \(join.isOwnFirst ? "1, 2" : "2, 1")
            """,
            "DROP TABLE temp.element", "DROP TABLE temp.artist",
        ]
    }
}
