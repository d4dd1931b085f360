internal import FerryExpression
internal import FerryModel
internal import FerrySQLite

/// The source object that a policy's mapping has at work in the first pass, and what has become of it.
///
/// It belongs to the thread that writes, and no access to one of its variables lasts while other code runs.
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
    @exclusivity(unchecked) private(set) var number = 0
    @exclusivity(unchecked) private(set) var key: Int64 = 0
    /// Whether an object with the source's key was made.
    @exclusivity(unchecked) var isKeyTaken = false
    /// Objects of the mapping's own entity.
    @exclusivity(unchecked) var inserted: Int64 = 0
    /// How often something was associated with it.
    @exclusivity(unchecked) var associated: Int64 = 0
    /// What was associated with it and is not stored yet.
    @exclusivity(unchecked) var made: [PolicyAssociations.Made] = []
    /// Whether what is associated with it goes to the table at once.
    @exclusivity(unchecked) var isStored = false

    /// One attribute of the source, and the cell that holds its value.
    struct SourceAttribute {
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
        // One by one: there are few, and that is quicker than emptying an array that keeps its room.
        while made.popLast() != nil {}
    }

    // MARK: For the policy's objects
    // What is here could be anywhere; as methods of this object they need not count references to what it holds.

    /// The value of an attribute; nil where it is not in the row, or not all of it.
    func value(_ name: String) -> MigrationValue? {
        guard let attribute = attributes[name], !attribute.isExternal else { return nil }
        return MigrationValue(row.values.row, attribute.cell, of: attribute.type)
    }

    /// The text of an attribute; nil where its value is something else, or not in the row.
    func text(_ name: String) -> String? {
        guard let attribute = attributes[name], !attribute.isExternal else { return nil }
        let row = row.values.row
        guard row.storageClass(attribute.cell) == .text else { return nil }
        return String(decoding: row.bytes(attribute.cell), as: UTF8.self)
    }

    /// Counts an object of the mapping's own entity; the first one has the key and the version of the source where the
    /// mapping keeps them.
    ///
    /// - Returns: The version of the object that has the source's key, or nil.
    func takeKey() -> Value? {
        inserted += 1
        guard mapping.keepsPrimaryKeys, !isKeyTaken else { return nil }
        isKeyTaken = true
        return row.values.row.value(RowPlan.versionCell)
    }

    /// Inserts what the attribute mappings make of the source, but for what only the policy can compute.
    func insertDefault(by manager: MigrationManager) throws -> DestinationObject {
        let version = takeKey()
        return try manager.insert(writer, row: row, key: version == nil ? nil : key, version: version ?? .integer(1))
    }

    /// Associates an object with the source.
    func associate(_ made: PolicyAssociations.Made) throws { try associations.associate(made, with: self) }

    /// The only object that was associated with it; nil where that is not known here.
    var onlyMade: PolicyAssociations.Made? { associations.onlyMade(of: self) }
}
