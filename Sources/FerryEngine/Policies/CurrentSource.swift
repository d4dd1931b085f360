internal import FerryBase
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
        return MigrationValue(row.values.row.value(attribute.cell), of: attribute.type)
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
    /// Gives the version of the object that has the source's key, or nil.
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

/// The current row of a policy's mapping, as the default policy turns it into an object.
final class SourceRow {
    /// The values of the source object.
    let values = PackedValues()
    /// What only the policy's functions can compute.
    let policyColumns: [PolicyColumn]
    var hasPolicyColumns: Bool { !policyColumns.isEmpty }
    /// The attributes that the mapping gives a value.
    let attributes: [(attribute: Attribute, place: Int)]
    /// The values by column places of the destination.
    private let columns: [RowValue?]
    private let evaluated: [EvaluatedColumn]
    private let bindings: [CellBinding]
    private let insert: Statement

    /// What is computed while reading, unless that fails: the error belongs to the use of the value.
    private struct EvaluatedColumn {
        var place: Int
        var cell: Int
        var evaluator: RowEvaluator
    }

    struct PolicyColumn {
        var place: Int
        var evaluator: RowEvaluator
        var attribute: Attribute?
    }

    init(_ plan: RowPlan, for writer: EntityWriter, on connection: Connection) throws {
        insert = try writer.prepareInsert(on: connection)
        var columns = [RowValue?](repeating: nil, count: writer.columns.count)
        var policyColumns: [PolicyColumn] = []
        var attributes: [(attribute: Attribute, place: Int)] = []
        var evaluated: [EvaluatedColumn] = []
        var bindings: [CellBinding] = []
        for column in plan.columns {
            guard let place = writer.places[column.name], columns[place] == nil else { continue }
            columns[place] = column.value
            if let attribute = column.attribute { attributes.append((attribute, place)) }
            switch column.value {
            case .column(let cell): bindings.append(CellBinding(cell: cell, parameter: place + 4))
            case .constant(let value): try insert.bind(value, at: place + 4)
            case .evaluated(let evaluator) where evaluator.callsPolicy:
                policyColumns.append(PolicyColumn(place: place, evaluator: evaluator, attribute: column.attribute))
            case .evaluated(let evaluator):
                guard let cell = column.cell else { preconditionFailure("what no policy computes has a cell") }
                evaluated.append(EvaluatedColumn(place: place, cell: cell, evaluator: evaluator))
            }
        }
        self.columns = columns
        self.policyColumns = policyColumns
        self.attributes = attributes
        self.evaluated = evaluated
        self.bindings = bindings
    }

    /// The value of a column as the mapping gives it.
    func value(at place: Int) throws -> Value {
        switch columns[place] {
        case nil: .null
        case .column(let cell): values.row.value(cell)
        case .constant(let value): value
        case .evaluated(let evaluator): Value(try evaluator.value(in: values))
        }
    }

    /// Writes the row of a new object; what is untouched passes as SQLite has it.
    func insert(key: Int64, version: Value, _ changes: ColumnChanges) throws {
        let row = values.row
        try insert.bind(key, at: 1)
        try insert.bind(version, at: 3)
        // A bit for each parameter that is bound below.
        try insert.bind(bindings, of: row, except: changes.places << 4)
        for index in evaluated.indices where !changes.contains(evaluated[index].place) {
            let (place, cell) = (evaluated[index].place, evaluated[index].cell)
            if row.isMissing(cell) {
                try insert.bind(try evaluated[index].evaluator.value(in: values), at: place + 4)
            } else {
                try insert.bind(borrowing: cell, of: row, at: place + 4)
            }
        }
        guard !changes.isEmpty else { return try insert.run() }
        try changes.bind(to: insert, from: 4)
        try insert.run()
        for index in 0..<changes.count {
            let place = changes.place(at: index)
            switch columns[place] {
            case .constant(let value): try insert.bind(value, at: place + 4)
            case nil: try insert.bindNull(at: place + 4)
            // Bound anew for each row.
            case .column, .evaluated: break
            }
        }
    }
}

/// A packed row, for the evaluation of expressions.
final class PackedValues: RowValues {
    /// Unchecked: no access lasts while other code runs.
    @exclusivity(unchecked) private var current: PackedRow?

    /// The row at work; to be set before anything is evaluated.
    var row: PackedRow {
        get {
            guard let current else { preconditionFailure("there is no row at work") }
            return current
        }
        set { current = newValue }
    }

    func value(at cell: Int) -> FunctionValue {
        switch row.storageClass(cell) {
        case .null: .null
        case .integer: .integer(row.integer(cell))
        case .real: .real(row.real(cell))
        case .text: .text(row.bytes(cell))
        case .blob: .blob(row.bytes(cell))
        }
    }
}
