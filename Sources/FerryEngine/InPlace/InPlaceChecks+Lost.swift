internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// What does not go along, for the report.
extension InPlaceChecks {
    /// Changes of entities that the new version does not have.
    func droppedHistory(_ history: HistoryTables?) throws -> [(kind: String, entity: String, rows: Int64)] {
        guard let changes = history?.changes else { return [] }
        let carried = Set(step.resolved.entityMappings.map(\.source))
        let removed = source.entityNumbers.filter { !carried.contains($0.key) }.sorted { $0.value < $1.value }
        return try removed.compactMap { entity, number in
            let rows =
                try connection.integer(
                    "SELECT count(*) FROM \(changes.quotedName) WHERE ZENTITY = ?", [.integer(number)]) ?? 0
            return rows > 0 ? ("droppedHistory", entity, rows) : nil
        }
    }

    /// The names of what earlier versions had left and what is not there any more: it stood in the way, or in a table
    /// that was made anew.
    func leftBehind(of leftovers: [Leftover]) throws -> [String] {
        let catalog = try StoreCatalog(connection)
        let known = Set(destination.tables.values.map(\.name) + destination.joinTables.map(\.name))
        let wanted = Set(destination.indexes.map(\.name))
        let indexes = Set(catalog.indexes.map(\.name)).subtracting(wanted)
        let lost = leftovers.filter { leftover in
            switch leftover.kind {
            case .table: known.contains(leftover.table) || catalog.table(leftover.table) == nil
            case .column:
                plan.altered[leftover.table].flatMap { catalog.table($0)?.column(leftover.part ?? "") } == nil
            case .index: !indexes.contains(leftover.name)
            case .entityName: true
            }
        }
        return lost.map(\.name)
    }
}
