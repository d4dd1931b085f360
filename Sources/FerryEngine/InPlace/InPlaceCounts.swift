internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// What a step in place says of itself: what its mappings carry over, and what does not go along.
struct InPlaceCounts {
    private let step: StepPlan
    /// Whether the numbers of rows are the plan's estimates: where no row is written, none is counted.
    ///
    /// What only the run of an earlier step could tell the plan has no estimate of.
    private let isEstimated: Bool
    /// Rows of exactly each source entity.
    private var rows: [String: Int64]
    /// Rows that were taken out before the step, by their entities.
    var dropped: [String: Int64] = [:]

    /// Looks at the old version; what was counted by others is not counted again.
    init(_ step: StepPlan, of source: StoreLayout, _ plan: InPlacePlan?, on connection: Connection) throws {
        self.step = step
        isEstimated = plan?.touched.isEmpty == true && step.sourceRows == nil && step.areRowsEstimated
        rows = try step.sourceRows ?? (isEstimated ? step.estimatedRows : Self.rows(of: source, on: connection))
    }

    /// Rows of exactly each entity.
    private static func rows(of layout: StoreLayout, on connection: Connection) throws -> [String: Int64] {
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

    /// Notes rows that were counted, and were taken out then.
    mutating func takeOut(_ dropped: [String: Int64]) {
        self.dropped = dropped
        rows.merge(dropped, uniquingKeysWith: -)
    }

    func ofMappings() -> [EntityMappingCounts] {
        step.resolved.entityMappings.map { mapping in
            var counts = EntityMappingCounts(
                name: mapping.name, source: mapping.source, destination: mapping.destination)
            counts.written = rows[mapping.source] ?? 0
            counts.dropped = dropped[mapping.source] ?? 0
            counts.read = counts.written + counts.dropped
            if isEstimated { counts.isEstimated = true }
            return counts
        }
    }

    /// Objects of entities that the new version does not have.
    func unmapped() -> [(entity: String, rows: Int64)] {
        step.resolved.droppedEntities.map { ($0, rows[$0] ?? 0) }.filter { $0.1 > 0 }
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
