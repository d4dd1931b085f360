internal import FerryBase
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// R-Trees: made as the model requires, with an entry around each object that has coordinates, and no other.
struct RTreesCheck: Check {
    static let name = "rTrees"

    func run(in context: VerificationContext) throws {
        for rTree in context.destination.rTrees {
            try context.announce(rTree.name)
            guard try context.statement(of: "table", rTree.name) == rTree.sql else {
                context.report(RTreesCheck.self, entity: rTree.entity, example: "virtual table \(rTree.name)")
                continue
            }
            let isOld = context.source.rTrees.contains { $0.name == rTree.name && $0.sql == rTree.sql }
            if isOld, KeptTables.hold(rTree.table, in: context) { continue }
            try checkEntries(of: rTree, in: context)
            let structure = try context.connection.value(
                "SELECT rtreecheck('destination', ?)", [.text(rTree.name)])
            if structure?.text != "ok" {
                context.report(RTreesCheck.self, entity: rTree.entity, example: "structure of \(rTree.name)")
            }
        }
    }

    private func checkEntries(of rTree: RTree, in context: VerificationContext) throws {
        // R-Trees store coordinates as 32-bit floats, with seven digits.
        let around = rTree.columns.flatMap { column in
            ["MIN", "MAX"].map { "abs(r.\(column)_\($0) - t.\(column)) <= abs(t.\(column)) * 1e-6 + 1e-37" }
        }.balanced(by: "AND")
        let isPlaced =
            rTree.columns.map { "t.\($0) IS NOT NULL" }
            + ["t.Z_ENT IN (\(context.destinationNumbers(ofFamily: rTree.entity)))"]
        let wrong = try context.connection.rows(
            """
            SELECT count(*), count(r.Z_PK), sum(NOT ifnull(\(around), 0)),
                min(CASE WHEN ifnull(\(around), 0) THEN NULL ELSE t.Z_PK END)
            FROM destination.\(rTree.table) AS t LEFT JOIN destination.\(rTree.name) AS r ON r.Z_PK = t.Z_PK
            WHERE \(isPlaced.balanced(by: "AND"))
            """)
        let entries = try context.connection.integer("SELECT count(*) FROM destination.\(rTree.name)") ?? 0
        guard let row = wrong.first else { return }
        context.report(
            RTreesCheck.self, entity: rTree.entity, count: row[2].integer ?? 0,
            example: row[3].integer.map { "\(rTree.table) Z_PK \($0) in \(rTree.name)" })
        // An object has at most one entry, so additional entries belong to no object.
        context.report(
            RTreesCheck.self, entity: rTree.entity, count: entries - (row[1].integer ?? 0),
            example: "entries of \(rTree.name)")
        context.report.checked += entries
    }
}
