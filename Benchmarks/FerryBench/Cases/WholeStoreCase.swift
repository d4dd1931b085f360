internal import BenchmarkHarness

/// Two entities, their join table and their indexes, by the library from one file to another.
struct WholeStoreCase: MigrationBesideSQL {
    let name = "whole-store"
    let summary = "books, users, two users a book, indexes: from one file to another"
    let sides = [
        Side("ferry", "the library, without snapshot and verification", isCounted: true),
        Side("statements", "rows, sorted links and indexes by hand-written SQL in one durable transaction"),
    ]
    let measures: [Measure] = [
        .speed(against: "statements", budget: 0.85), .work(against: "statements"), .written(against: "statements"),
        .peak(), .statements(),
        .allocationsPerRow(),
    ]

    func prepare(_ point: BenchPoint, in folder: String) throws {
        try Subject.booksAndUsers.write(rows: point.rows, to: folder)
    }

    static func filledTable(_ plan: SQLFloor.Plan) -> String { "ZBOOK" }

    static func statements(_ plan: SQLFloor.Plan) throws -> [String] {
        [try BookSQL.carry(plan), try BookSQL.users(plan), try BookSQL.links("users", plan)]
    }
}
