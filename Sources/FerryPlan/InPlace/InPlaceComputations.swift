package import FerryMapping
internal import FerryModel
package import FerryStore

/// What a step in place computes of the rows of one entity, as SQL over the table that they stand in before it.
package struct InPlaceComputations: Sendable {
    /// The entity of the older version.
    package let entity: String
    package let table: String
    /// `Z_ENT` of its rows.
    package let number: Int64
    /// Attributes of the newer version with their values.
    package private(set) var columns: [(property: String, sql: String)] = []
    package private(set) var values: [InPlaceValues.Named] = []

    /// Those of all entities that have any, in the order of the entity mappings.
    package static func all(of step: ResolvedStep, _ source: StoreLayout) throws -> [InPlaceComputations] {
        try step.entityMappings.compactMap { mapping in
            guard let table = source.table(of: mapping.source)?.name, let number = source.number(of: mapping.source)
            else { return nil }
            var found = InPlaceComputations(entity: mapping.source, table: table, number: number)
            var values = InPlaceValues()
            for rule in mapping.attributes {
                guard let attribute = step.destination.model.attribute(rule.name, of: mapping.destination),
                    let value = ColumnSource(rule, for: attribute, of: mapping, in: source), case .expression = value
                else { continue }
                found.columns.append(
                    (rule.name, try SlotValue.source(value).sql(names: [:], source, &values)))
            }
            found.values = values.named
            return found.columns.isEmpty ? nil : found
        }
    }

    private init(entity: String, table: String, number: Int64) {
        (self.entity, self.table, self.number) = (entity, table, number)
    }
}
