internal import FerryBase
internal import FerryExpression
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// An object of the source store, as a policy reads it.
///
/// It is its key: attributes are read when they are asked for, relationships are followed when they are asked for, and
/// nothing is kept. It belongs to the thread that writes, and no access to one of its variables lasts while other code
/// runs.
public final class SourceObject {
    /// The object's own entity.
    public let entityName: String
    /// Its `Z_PK`.
    @exclusivity(unchecked) public private(set) var primaryKey: Int64
    let manager: MigrationManager
    /// The row of the run that it stands for, if it is the one at work.
    @exclusivity(unchecked) private var row: Int?
    /// Where that row is.
    private let source: CurrentSource?

    init(entity: String, key: Int64, _ manager: MigrationManager) {
        entityName = entity
        primaryKey = key
        self.manager = manager
        source = nil
    }

    /// Stands for one row after another of a mapping.
    init(_ source: CurrentSource, _ manager: MigrationManager) {
        entityName = source.mapping.sourceEntityName
        primaryKey = source.key
        self.manager = manager
        self.source = source
    }

    /// Stands for the source object at work.
    func stand(for key: Int64, row: Int) {
        primaryKey = key
        self.row = row
    }

    /// The value of an attribute, or of one at the end of a path of to-one relationships; nil at its end gives null.
    public func value(forKey key: String) throws -> MigrationValue {
        if let source, isAtWork(source), manager.current === source, let value = source.value(key) { return value }
        let (object, attribute) = try end(of: key)
        guard let object, let attribute else { return .null }
        return MigrationValue(try object.stored(attribute, contents: true), of: attribute.type)
    }

    /// The value as SQLite has it, with nothing converted: what a column of external storage holds begins with a byte
    /// that says where the contents are.
    public func rawValue(forKey key: String) throws -> MigrationValue {
        let (object, attribute) = try end(of: key)
        guard let object, let attribute else { return .null }
        return MigrationValue(raw: try object.stored(attribute, contents: false))
    }

    public func string(forKey key: String) throws -> String? {
        if let source, isAtWork(source), manager.current === source, let text = source.text(key) { return text }
        return try value(forKey: key).string
    }

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

    /// Hands out the objects at the end of a relationship, in their order if it has one, else by key.
    public func forEachObject(forKey key: String, _ body: (SourceObject) throws -> Void) throws {
        // One of its own: the body may ask for the same relationship of another object.
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

    /// Whether it stands for the row at work.
    func isAtWork(_ current: CurrentSource) -> Bool { row == current.number }

    // MARK: Reading

    private func related(_ name: String) throws -> SourceObject? {
        try manager.context.first(manager.sourceObjectsSQL(name, of: entityName), for: primaryKey) {
            manager.sourceObject(number: $0.integer(1), key: $0.integer(0))
        } ?? nil
    }

    /// The object and the attribute that a key path names.
    private func end(of key: String) throws -> (SourceObject?, Attribute?) {
        let model = manager.context.source.model
        // Before anything else: elements of composites are named with a dot too.
        if manager.context.source.column(of: key, in: entityName) != nil,
            let attribute = model.attribute(key, of: entityName)
        {
            return (self, attribute)
        }
        guard let dot = key.firstIndex(of: "."), model.relationship(String(key[..<dot]), of: entityName) != nil
        else {
            let names = model.attributes(of: entityName).map(\.name)
            let near = NearNames.near(to: key, among: names).prefix(3).joined(separator: ", ")
            throw FerryError(
                .badMapping, "A migration policy reads \(entityName).\(key), which is no stored attribute.",
                remedy: near.isEmpty ? "Name an attribute of the old model." : "Did you mean \(near)?",
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
    let attributes: KeyTable<PlacedAttribute>
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

    init(_ calls: PolicyCalls, _ plan: RowPlan, on connection: Connection) throws {
        functions = calls
        mapping = calls.mapping
        writer = try calls.manager.writer(mapping.destinationEntityName)
        associations = try calls.manager.associations(of: mapping)
        row = try SourceRow(plan, for: writer, on: connection)
        attributes = KeyTable(
            Dictionary(
                plan.attributes.map { ($0.attribute.name, PlacedAttribute($0.attribute, at: $0.cell)) },
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
        return MigrationValue(row.values.row.value(attribute.place), of: attribute.type)
    }

    /// The text of an attribute; nil where its value is something else, or not in the row.
    func text(_ name: String) -> String? {
        guard let attribute = attributes[name], !attribute.isExternal else { return nil }
        let row = row.values.row
        guard row.storageClass(attribute.place) == .text else { return nil }
        return String(decoding: row.bytes(attribute.place), as: UTF8.self)
    }

    /// Counts an object of the mapping's own entity; the first one has the key and the version of the source where the
    /// mapping keeps them.
    ///
    /// Gives the version of the object that has the source's key, or nil.
    private func takeKey() -> Value? {
        inserted += 1
        guard mapping.keepsPrimaryKeys, !isKeyTaken else { return nil }
        isKeyTaken = true
        return row.values.row.value(RowPlan.versionCell)
    }

    /// Inserts an object of the mapping's own entity: with a row, what the attribute mappings make of the source, but
    /// for what only the policy can compute; else one with the model's defaults.
    func insert(_ row: SourceRow?, by manager: MigrationManager) throws -> DestinationObject {
        let version = takeKey()
        return try manager.insert(writer, row: row, key: version == nil ? nil : key, version: version ?? .integer(1))
    }

    func associate(_ made: PolicyAssociations.Made) throws { try associations.associate(made, with: self) }

    /// The only object that was associated with it; nil where that is not known here.
    var onlyMade: PolicyAssociations.Made? { associations.onlyMade(of: self) }
}

/// The current row of a policy's mapping, as the default policy turns it into an object.
final class SourceRow {
    let values = PackedValues()
    /// What only the policy's functions can compute.
    let policyColumns: [PolicyColumn]
    var hasPolicyColumns: Bool { !policyColumns.isEmpty }
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
        var evaluated: [EvaluatedColumn] = []
        var bindings: [CellBinding] = []
        for column in plan.columns {
            guard let place = writer.places[column.name], columns[place] == nil else { continue }
            columns[place] = column.value
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
