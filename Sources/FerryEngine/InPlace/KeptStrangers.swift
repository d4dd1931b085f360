internal import FerryBase
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// Rows whose entity no model version knows, which stay in their tables as they are.
///
/// They can stay where their table does, and where their number does not come to mean an entity of the new version.
struct KeptStrangers {
    let plan: InPlacePlan
    let source: StoreLayout
    let destination: StoreLayout
    let connection: Connection

    /// The rows by source table.
    func counts() throws(DatabaseError) -> [String: Int64] {
        var counts: [String: Int64] = [:]
        for table in source.tablesInOrder {
            let rows = try connection.integer("SELECT count(*) FROM \(strangers(in: table))") ?? 0
            if rows > 0 { counts[table.name] = rows }
        }
        return counts
    }

    private func strangers(in table: EntityTable) -> String {
        let numbers = source.model.family(of: table.root).compactMap { source.number(of: $0) }.sorted()
        return "\(Connection.quoted(table.name)) WHERE Z_ENT IS NULL OR Z_ENT NOT IN "
            + "(\(numbers.sqlList))"
    }

    /// Why they cannot stay; nil when they can, or when there are none.
    func refusal() throws(DatabaseError) -> FerryError? {
        let counts = try counts()
        for table in source.tablesInOrder {
            guard let rows = counts[table.name] else { continue }
            guard let heir = plan.altered[table.name] else {
                return refusal(rows, table.root, "the table is made anew or goes, and they have no place in a new one")
            }
            let root = destination.tables.values.first { $0.name == heir }?.root ?? ""
            let numbers = Set(destination.model.family(of: root).compactMap { destination.number(of: $0) })
            let own = try connection.rows("SELECT DISTINCT Z_ENT FROM \(strangers(in: table))").compactMap(
                \.[0].integer)
            if own.contains(where: numbers.contains) {
                return refusal(rows, table.root, "their number is that of another entity in the new version")
            }
        }
        return nil
    }

    private func refusal(_ rows: Int64, _ entity: String, _ reason: String) -> FerryError {
        FerryError(
            .damagedSource,
            "\(rows.counting("row")) in the table of \(entity) \(rows == 1 ? "has" : "have") a Z_ENT that is no entity of that table, and "
                + "cannot be kept: \(reason).",
            remedy: "Leave them out with \(setting: .damaged, .choice("drop")), or repair them with the app.",
            place: .init(entity: entity))
    }
}
