package import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryStore

extension StepPlan {
    /// The treatments of all tables, in the order of the new version's layout, then the dropped ones.
    ///
    /// Models, mapping and schema decide. The layouts are those that Core Data gives both versions; a store's own can have
    /// other names.
    ///
    /// - Throws: ``FerryError`` if a version has no layout.
    package func treatments() throws(FerryError) -> [PlannedTable] {
        let (source, destination) = try resolved.assumedLayouts()
        let moves = try StepProgram.altering(self, source, nil, destination)?.moves ?? TableMoves()
        let kept = Dictionary(first: moves.kept.map { ($0.newName, $0) })
        let linked = keptPart?.linkedColumns ?? [:]
        let refilled = Set(destination.indexes.filter { keptPart?.fills($0) == true }.map(\.table))
        func treatment(_ table: String, _ entity: String?, _ reason: () -> String) -> PlannedTable {
            guard let move = kept[table] else {
                return PlannedTable(name: table, entity: entity, treatment: .filled, reason: reason())
            }
            let isWritten = moves.touched.contains(table) || linked[table] != nil || refilled.contains(table)
            let isSame = move.name == table && move.renames.isEmpty && move.additions.isEmpty && !isWritten
            return PlannedTable(name: table, entity: entity, treatment: isSame ? .kept : .altered)
        }
        let treated =
            destination.tablesInOrder.map { table in
                treatment(table.name, table.root) {
                    reasonToFill(table, moves.tables.first { $0.destination.name == table.name }?.way, destination)
                }
            }
            + destination.joinTables.map { table in
                treatment(table.name, nil) {
                    if mode == .inPlace {
                        let way = moves.joinTables.first { $0.destination.name == table.name }?.way
                        return way == .create ? newTable : "columns change"
                    }
                    if let reason = keptPart?.reasons[table.name] { return reason }
                    return resolved.hasPolicies
                        ? "a migration policy may relate any objects" : "the linked objects are in filled tables"
                }
            }
        let continued = Set(kept.values.map(\.name))
        let gone = (source.tablesInOrder.map { ($0.name, $0.root) } + source.joinTables.map { ($0.name, nil) })
            .filter { name, _ in !continued.contains(name) && !treated.contains { $0.name == name } }
        return treated + gone.map { PlannedTable(name: $0.0, entity: $0.1, treatment: .dropped) }
    }

    /// Like each reason, this is true of one table and of several.
    private var newTable: String { "the old version has no such table" }

    private func reasonToFill(_ table: EntityTable, _ way: TableMove.Way?, _ destination: StoreLayout) -> String {
        let mappings = resolved.entityMappings.filter { destination.model.root(of: $0.destination) == table.root }
        if mappings.isEmpty { return newTable }
        if let mapping = mappings.first(where: { !$0.keepsEveryObject || !$0.isOneToOne }) {
            if let policy = mapping.policy {
                return "entity mapping \(mapping.name) has the migration policy \(policy)"
            }
            if !mapping.unique.isEmpty { return "entity mapping \(mapping.name) finds or creates its objects" }
            if mapping.iteration != nil { return "entity mapping \(mapping.name) creates several objects from one" }
            if mapping.filter != nil { return "entity mapping \(mapping.name) leaves objects out" }
            return "the objects of entity mapping \(mapping.name) get new keys"
        }
        if case .rebuild(let reason) = way { return reason }
        if let reason = fillsAllBecause ?? keptPart?.reasons[table.name] { return reason }
        return "columns change in a way that ALTER TABLE cannot"
    }
}
