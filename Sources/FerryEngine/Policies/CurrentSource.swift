internal import FerryExpression
internal import FerryModel
internal import FerrySQLite

/// The source object that a policy's mapping has at work in the first pass, and what has become of it.
final class CurrentSource {
    let mapping: PolicyEntityMapping
    let row: SourceRow
    /// Of the mapping's destination entity.
    let writer: EntityWriter
    let associations: PolicyAssociations
    /// The functions of the mapping's policy.
    let functions: any PolicyFunctions
    /// Where the row has the attributes of the source.
    let attributes: KeyTable<SourceAttribute>
    /// Tells the row from all others of the run.
    private(set) var number = 0
    private(set) var key: Int64 = 0
    /// Whether an object with the source's key was made.
    var isKeyTaken = false
    /// Objects of the mapping's own entity.
    var inserted: Int64 = 0
    /// How often something was associated with it.
    var associated: Int64 = 0
    /// What was associated with it and is not stored yet.
    var made: [PolicyAssociations.Made] = []
    /// Whether what is associated with it goes to the table at once.
    var isStored = false

    /// One attribute of the source, and the cell that holds its value.
    final class SourceAttribute {
        let type: AttributeType
        let cell: Int
        /// Whether the contents may be in a file.
        let isExternal: Bool

        init(_ attribute: Attribute, cell: Int) {
            type = attribute.type
            isExternal = attribute.allowsExternalStorage
            self.cell = cell
        }
    }

    init(_ calls: PolicyCalls, _ plan: RowPlan, on connection: Connection) throws {
        functions = calls
        mapping = calls.mapping
        writer = try calls.manager.writer(mapping.destinationEntityName)
        associations = try calls.manager.associations(of: mapping)
        row = try SourceRow(plan, for: writer, on: connection)
        attributes = KeyTable(
            Dictionary(
                plan.attributes.map { ($0.attribute.name, SourceAttribute($0.attribute, cell: $0.cell)) },
                uniquingKeysWith: { first, _ in first }))
    }

    func begin(_ row: PackedRow, number: Int) {
        self.row.values.row = row
        self.number = number
        key = row.integer(RowPlan.keyCell)
        (isKeyTaken, inserted, associated, isStored) = (false, 0, 0, false)
        made.removeAll(keepingCapacity: true)
    }
}
