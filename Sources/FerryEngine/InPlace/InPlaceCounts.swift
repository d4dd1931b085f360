internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// What a step in place says of itself: what its mappings carry over, and what does not go along.
struct InPlaceCounts {
    let step: StepPlan
    let source: StoreLayout
    let plan: InPlacePlan
    let connection: Connection
    /// Whether the numbers of rows are the plan's estimates: where no row is written, none is counted.
    ///
    /// What only the run of an earlier step could tell the plan has no estimate of.
    private let isEstimated: Bool
    /// Rows of exactly each source entity.
    private let rows: [String: Int64]

    /// Looks at the old version; what was counted by others is not counted again.
    init(_ step: StepPlan, of source: StoreLayout, _ plan: InPlacePlan, on connection: Connection) throws {
        (self.step, self.source, self.plan, self.connection) = (step, source, plan, connection)
        isEstimated = plan.touched.isEmpty && step.sourceRows == nil && step.areRowsEstimated
        rows = try step.sourceRows ?? (isEstimated ? step.estimatedRows : Self.rows(of: source, on: connection))
    }

    /// Rows of exactly each entity.
    static func rows(of layout: StoreLayout, on connection: Connection) throws -> [String: Int64] {
        var rows: [String: Int64] = [:]
        for table in layout.tablesInOrder {
            var byNumber: [Int64: Int64] = [:]
            let counts = try connection.rows(
                "SELECT Z_ENT, count(*) FROM \(Connection.quoted(table.name)) GROUP BY Z_ENT")
            for row in counts { byNumber[row[0].integer ?? 0] = row[1].integer ?? 0 }
            for entity in layout.entities(inTableOf: table.root) {
                rows[entity] = layout.number(of: entity).flatMap { byNumber[$0] } ?? 0
            }
        }
        return rows
    }

    func ofMappings() -> [EntityMappingCounts] {
        step.resolved.entityMappings.map { mapping in
            var counts = EntityMappingCounts(
                name: mapping.name, source: mapping.source, destination: mapping.destination)
            counts.read = rows[mapping.source] ?? 0
            counts.written = counts.read
            if isEstimated { counts.isEstimated = true }
            return counts
        }
    }

    /// Objects of entities that the new version does not have.
    func unmapped() -> [(entity: String, rows: Int64)] {
        let mapped = Set(step.resolved.entityMappings.map(\.source))
        return source.model.sortedEntityNames.filter { !mapped.contains($0) }
            .map { ($0, rows[$0] ?? 0) }.filter { $0.1 > 0 }
    }

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
    func leftBehind(of leftovers: [Leftover], in destination: StoreLayout) throws -> [String] {
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

extension StepPlan {
    fileprivate var areRowsEstimated: Bool {
        partitions.flatMap(\.entityMappings).allSatisfy { $0.isKnown && $0.isEstimated }
    }

    /// Rows of exactly each source entity, as the plan says.
    fileprivate var estimatedRows: [String: Int64] {
        let mappings = partitions.flatMap(\.entityMappings)
        return Dictionary(mappings.map { ($0.mapping.source, $0.rows) }, uniquingKeysWith: { first, _ in first })
    }
}
