internal import FerryBase
internal import FerryExpression
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// An object of the source store, which a policy reads.
///
/// An object holds its key only, and reads attributes and relationships on request. The object belongs to the thread
/// that writes, and no access to one of its variables lasts while other code runs.
public final class SourceObject {
    /// The object's own entity.
    public let entityName: String
    /// Its `Z_PK`.
    @exclusivity(unchecked) public private(set) var primaryKey: Int64
    let manager: MigrationManager
    /// The number of the row that it represents, if it was made from the current row.
    @exclusivity(unchecked) private var row: Int?
    private let source: CurrentSource?

    init(entity: String, key: Int64, _ manager: MigrationManager) {
        entityName = entity
        primaryKey = key
        self.manager = manager
        source = nil
    }

    init(_ source: CurrentSource, _ manager: MigrationManager) {
        entityName = source.mapping.sourceEntityName
        primaryKey = source.key
        self.manager = manager
        self.source = source
    }

    func represent(_ key: Int64, row: Int) {
        primaryKey = key
        self.row = row
    }

    /// The value of an attribute, or of one at the end of a path of to-one relationships; null if the path meets nil.
    public func value(forKey key: String) throws -> MigrationValue {
        if let source, isAtWork(source), manager.current === source, let value = source.value(key) { return value }
        let (object, attribute) = try end(of: key)
        guard let object, let attribute else { return .null }
        return MigrationValue(try object.stored(attribute, contents: true), of: attribute.type)
    }

    /// The value in SQLite's form: the first byte of an external-storage value says where the contents are.
    public func rawValue(forKey key: String) throws -> MigrationValue {
        let (object, attribute) = try end(of: key)
        guard let object, let attribute else { return .null }
        return MigrationValue(raw: try object.stored(attribute, contents: false))
    }

    public func string(forKey key: String) throws -> String? { try value(forKey: key).string }
    public func integer(forKey key: String) throws -> Int64? { try value(forKey: key).integer }
    public func double(forKey key: String) throws -> Double? { try value(forKey: key).double }
    public func boolean(forKey key: String) throws -> Bool? { try value(forKey: key).boolean }

    /// The object at the end of a to-one relationship, or of a path of them.
    public func object(forKey key: String) throws -> SourceObject? {
        var object: SourceObject? = self
        for name in key.split(separator: ".").map(String.init) {
            guard let known = object else { return nil }
            object = try known.related(name)
        }
        return object
    }

    /// Passes the objects of a relationship to the body, in their order if it has one, else by key.
    public func forEachObject(forKey key: String, _ body: (SourceObject) throws -> Void) throws {
        // Not a cached statement: the body may read the same relationship of another object.
        let statement = try manager.context.connection.prepare(manager.sourceObjectsSQL(key, of: entityName))
        try statement.bind(primaryKey, at: 1)
        defer { statement.reset() }
        while try statement.step() {
            if let object = manager.sourceObject(number: statement.integer(1), key: statement.integer(0)) {
                try body(object)
            }
        }
    }

    /// The objects at the end of a relationship.
    ///
    /// ``forEachObject(forKey:_:)`` holds only one of them at a time.
    public func objects(forKey key: String) throws -> [SourceObject] {
        var objects: [SourceObject] = []
        try forEachObject(forKey: key) { objects.append($0) }
        return objects
    }

    /// Whether the object represents the current row.
    func isAtWork(_ current: CurrentSource) -> Bool { row == current.number }

    // MARK: Reading

    private func related(_ name: String) throws -> SourceObject? {
        try manager.context.first(manager.sourceObjectsSQL(name, of: entityName), for: primaryKey) {
            manager.sourceObject(number: $0.integer(1), key: $0.integer(0))
        } ?? nil
    }

    /// The object and the attribute at the end of a key path.
    private func end(of key: String) throws -> (SourceObject?, Attribute?) {
        let model = manager.context.source.model
        // First, because elements of composites are named with a dot too.
        if manager.context.source.column(of: key, in: entityName) != nil,
            let attribute = model.attribute(key, of: entityName)
        {
            return (self, attribute)
        }
        guard let dot = key.firstIndex(of: "."), model.relationship(String(key[..<dot]), of: entityName) != nil
        else {
            throw FerryError(
                .badMapping, "A migration policy reads \(entityName).\(key), which is not a stored attribute.",
                remedy: NearNames.remedy(
                    for: key, among: model.attributes(of: entityName).map(\.name),
                    otherwise: "Name an attribute of the old model."),
                place: .init(entity: entityName, property: key))
        }
        guard let next = try related(String(key[..<dot])) else { return (nil, nil) }
        return try next.end(of: String(key[key.index(after: dot)...]))
    }

    private func stored(_ attribute: Attribute, contents: Bool) throws -> Value {
        if !(contents && attribute.allowsExternalStorage), let row,
            let value = manager.currentValue(of: attribute.name, inRow: row)
        {
            return value
        }
        guard let column = manager.context.source.column(of: attribute.name, in: entityName),
            let table = manager.context.source.table(of: entityName)
        else {
            throw FerryError(.internalError, "The source store has no column for \(entityName).\(attribute.name).")
        }
        let value =
            contents && attribute.allowsExternalStorage
            ? "\(ScalarFunction.fromExternalName)(\(column.name))" : column.name
        let sql = "SELECT \(value) FROM source.\(table.name) WHERE Z_PK = ?1"
        return try manager.context.first(sql, for: primaryKey) { $0.value(0) } ?? .null
    }
}

/// The current source object of a policy's mapping in the first pass, with its new objects, on the thread that writes.
final class CurrentSource {
    let mapping: PolicyEntityMapping
    let row: DefaultPolicyRow
    let writer: EntityWriter
    let associations: PolicyAssociations
    let functions: any PolicyFunctions
    /// The cells of the source attributes in the row.
    let attributes: [String: PlacedAttribute]
    /// The number of the row in the run.
    @exclusivity(unchecked) private(set) var number = 0
    @exclusivity(unchecked) private(set) var key: Int64 = 0
    @exclusivity(unchecked) var isKeyTaken = false
    /// The inserted objects of the mapping's own entity.
    @exclusivity(unchecked) var inserted: Int64 = 0
    @exclusivity(unchecked) var associated: Int64 = 0
    /// Associated objects that are not yet stored.
    @exclusivity(unchecked) var made: [PolicyAssociations.Made] = []
    /// Whether each further association is stored at once.
    @exclusivity(unchecked) var isStored = false

    init(_ calls: PolicyCalls, _ plan: RowPlan) throws {
        functions = calls
        mapping = calls.mapping
        writer = try calls.manager.writer(mapping.destinationEntityName)
        associations = try calls.manager.associations(of: mapping)
        row = DefaultPolicyRow(plan, for: writer)
        attributes = Dictionary(
            first: plan.attributes.map { ($0.attribute.name, PlacedAttribute($0.attribute, at: $0.cell)) })
    }

    func begin(_ row: PackedRow, number: Int) {
        self.row.current = row
        self.number = number
        key = row.integer(RowPlan.keyCell)
        (isKeyTaken, inserted, associated, isStored) = (false, 0, 0, false)
        // A loop over the few objects is faster than `removeAll(keepingCapacity:)`.
        while made.popLast() != nil {}
    }

    // MARK: For the policy's objects
    // Methods of this object need not count references to its properties.

    /// The value of an attribute; nil if the row lacks it, or if it allows external storage.
    func value(_ name: String) -> MigrationValue? {
        guard let attribute = attributes[name], !attribute.isExternal else { return nil }
        return MigrationValue(row.current.value(attribute.place), of: attribute.type)
    }

    /// Counts an object of the mapping's own entity; returns the source's version for the one with its key, else nil.
    private func takeKey() -> Value? {
        inserted += 1
        guard mapping.keepsPrimaryKeys, !isKeyTaken else { return nil }
        isKeyTaken = true
        return row.current.value(RowPlan.versionCell)
    }

    /// Inserts an object of the mapping's own entity: with a row, its mapped values; else the model's defaults.
    func insert(_ row: DefaultPolicyRow?, by manager: MigrationManager) throws -> DestinationObject {
        let version = takeKey()
        return try manager.insert(writer, row: row, key: version == nil ? nil : key, version: version ?? .integer(1))
    }

    func associate(_ made: PolicyAssociations.Made) throws { try associations.associate(made, with: self) }

    /// The only associated object; nil if the table must tell.
    var onlyMade: PolicyAssociations.Made? { associations.onlyMade(of: self) }
}

/// The current row of a policy's mapping, in the form of the default policy's object.
final class DefaultPolicyRow {
    /// The columns whose expressions call the policy's functions.
    let policyColumns: [PolicyColumn]
    /// The values by destination column.
    private let columns: [RowValue?]
    /// The columns that are cells, and the places of all others.
    private let bindings: [CellBinding]
    private let others: [Int]

    /// Exclusivity checks are off: no access lasts while other code runs.
    @exclusivity(unchecked) private var packed: PackedRow?

    struct PolicyColumn {
        var place: Int
        var evaluator: RowEvaluator
        var cells: [Int]
        var attribute: Attribute
    }

    init(_ plan: RowPlan, for writer: EntityWriter) {
        var columns = [RowValue?](repeating: nil, count: writer.columns.count)
        var policyColumns: [PolicyColumn] = []
        var bindings: [CellBinding] = []
        var others = Set(columns.indices)
        for column in plan.columns {
            guard let place = writer.places[column.name], columns[place] == nil else { continue }
            columns[place] = column.value
            switch column.value {
            case .column(let cell):
                bindings.append(CellBinding(cell: cell, parameter: place + 4))
                others.remove(place)
            case .evaluated(let evaluator, let cells) where evaluator.callsPolicy:
                policyColumns.append(
                    .init(place: place, evaluator: evaluator, cells: cells, attribute: column.attribute))
            case .constant, .evaluated: break
            }
        }
        self.columns = columns
        self.policyColumns = policyColumns
        self.bindings = bindings
        self.others = others.sorted()
    }

    /// The current row; set it before any use.
    var current: PackedRow {
        get {
            guard let packed else { preconditionFailure("there is no row at work") }
            return packed
        }
        set { packed = newValue }
    }

    func value(at place: Int) throws -> Value {
        switch columns[place] {
        case nil: .null
        case .column(let cell): current.value(cell)
        case .constant(let value): Value(value)
        case .evaluated(let evaluator, let cells): Value(try value(of: evaluator, cells))
        }
    }

    /// The value of an expression of cells of the current row.
    func value(
        of evaluator: RowEvaluator, _ cells: [Int], policy: (any PolicyFunctions)? = nil
    ) throws -> FunctionValue {
        let row = current
        // On the stack: an array for each row would be an allocation.
        return try withUnsafeTemporaryAllocation(of: FunctionValue.self, capacity: cells.count) { values in
            for (index, cell) in cells.enumerated() {
                values.initializeElement(at: index, to: row.borrowedValue(cell))
            }
            return try evaluator.value(of: UnsafeBufferPointer(values), policy: policy)
        }
    }

    /// Binds the values of unchanged columns to an INSERT; those of cells stay SQLite values.
    func bind(to insert: Statement, except changes: ColumnChanges) throws {
        // A bit for each parameter that the changes bind.
        try insert.bind(bindings, of: current, except: changes.places << 4)
        for place in others where !changes.contains(place) {
            switch columns[place] {
            case .constant(let value): try insert.bind(Value(value), at: place + 4)
            case .evaluated(let evaluator, let cells): try insert.bind(try value(of: evaluator, cells), at: place + 4)
            case nil, .column: try insert.bindNull(at: place + 4)
            }
        }
    }
}

extension PackedRow {
    fileprivate func borrowedValue(_ cell: Int) -> FunctionValue {
        switch storageClass(cell) {
        case .null: .null
        case .integer: .integer(integer(cell))
        case .real: .real(real(cell))
        case .text: .text(bytes(cell))
        case .blob: .blob(bytes(cell))
        }
    }
}
