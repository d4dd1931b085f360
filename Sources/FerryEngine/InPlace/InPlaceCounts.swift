internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// The counts of a step in place: the rows of its mappings, and rows without a mapping.
struct InPlaceCounts {
    private let step: StepPlan
    /// The entities whose counts are the plan's estimates: the step does not write their rows.
    private let estimated: Set<String>
    /// Rows of exactly each source entity.
    private var rows: [String: Int64]
    /// Rows that were dropped before the step, by entity.
    var dropped: [String: Int64] = [:]

    /// Counts the rows of the old version, unless the plan has their number.
    ///
    /// `dropsRows`: rows may have been left out since the plan was made.
    init(
        _ step: StepPlan, of source: StoreLayout, _ moves: TableMoves?, on connection: Connection, dropsRows: Bool
    ) throws {
        self.step = step
        let mappings = step.partitions.flatMap(\.entityMappings)
        if let known = step.sourceRows {
            (rows, estimated) = (known, [])
            return
        }
        let written = moves?.writtenTables
        let known = mappings.filter { mapping in
            guard mapping.isKnown else { return false }
            // Without damage that was left out, the plan's counts are those of now.
            guard mapping.isEstimated else { return !dropsRows }
            return source.table(of: mapping.mapping.source).map { written?.contains($0.name) == false } == true
        }
        estimated = Set(known.filter(\.isEstimated).map(\.mapping.source))
        rows = Dictionary(known.map { ($0.mapping.source, $0.rows) }, uniquingKeysWith: { first, _ in first })
        let counted = try Self.rows(of: source, on: connection, besides: Set(rows.keys))
        rows.merge(counted) { known, _ in known }
    }

    private static func rows(
        of layout: StoreLayout, on connection: Connection, besides known: Set<String>
    ) throws -> [String: Int64] {
        var rows: [String: Int64] = [:]
        for table in layout.tablesInOrder {
            let entities = layout.entities(inTableOf: table.root).filter {
                layout.model.entities[$0]?.isAbstract == false
            }
            if known.isSuperset(of: entities) { continue }
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

    mutating func subtract(_ dropped: [String: Int64]) {
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
            if estimated.contains(mapping.source) { counts.isEstimated = true }
            return counts
        }
    }

    /// The rows of entities that the new version does not have.
    func unmapped() -> [(entity: String, rows: Int64)] {
        step.resolved.droppedEntities.map { ($0, rows[$0] ?? 0) }.filter { $0.1 > 0 }
    }
}
