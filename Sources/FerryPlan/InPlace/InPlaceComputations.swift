internal import FerryStore

/// What a step in place computes of the rows of one entity, as SQL over the table that they stand in before it.
package struct InPlaceComputations: Sendable {
    /// The entity of the older version.
    package let entity: String
    package let table: String
    /// `Z_ENT` of its rows.
    package let number: Int64
    /// Attributes of the newer version with their values.
    package let columns: [(property: String, sql: String)]
    package let values: [InPlaceValues.Named]

    /// Nil where nothing is computed.
    fileprivate init?(_ rows: TableMove.Rows, in move: TableMove) {
        let computed = move.slots.filter { slot in
            if case .computed? = slot.values[rows.position] { true } else { false }
        }
        guard let source = move.source, !computed.isEmpty else { return nil }
        var values = InPlaceValues()
        columns = computed.map { ($0.property.property, $0.values[rows.position]?.sql(&values) ?? "NULL") }
            .sorted { $0.property < $1.property }
        self.values = values.named
        (entity, table, number) = (rows.source, source.name, rows.numbers.old)
    }
}

extension InPlacePlan {
    /// What it computes, in the order of the entity mappings.
    package var computations: [InPlaceComputations] {
        tables.flatMap { move in move.rows.map { (rows: $0, move: move) } }
            .sorted { $0.rows.position < $1.rows.position }
            .compactMap { InPlaceComputations($0.rows, in: $0.move) }
    }
}
