internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// The lookups of entity mappings with `unique`.
extension ObjectLookup {
    /// The lookup of the mapping's `unique`.
    static func of(_ mapping: ResolvedEntityMapping, in context: StepContext) throws -> ObjectLookup {
        var columns: [(name: String, affinity: ColumnAffinity)] = []
        for name in mapping.unique {
            guard let column = context.destination.column(of: name, in: mapping.destination) else {
                throw FerryError(.internalError, "The new store has no column for \(mapping.destination).\(name).")
            }
            columns.append((column.name, .init(declaredType: column.type)))
        }
        // SQLite keeps functions until the connection closes, so all mappings share the memory; filters have a quarter.
        let finders = context.step.resolved.entityMappings.count { !$0.unique.isEmpty }
        let bytes = context.options.memory.lookups / 4 * 3 / max(1, finders)
        let name = ScratchDatabase.lookup(for: mapping)
        return try ObjectLookup(
            name, of: "main.\(context.sql.destinationTable(of: mapping))",
            number: context.sql.destinationNumber(of: mapping),
            columns: columns, nilIsEqual: mapping.nilIsEqual,
            key: ScratchDatabase.key(ofLookup: name, on: context.connection),
            id: mapping.position, known: ObjectHashTable(bytes: bytes),
            on: context.connection)
    }
}
