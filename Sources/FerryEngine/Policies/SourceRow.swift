internal import FerryExpression
internal import FerryModel
internal import FerrySQLite

/// The current row of a policy's mapping, as the default policy turns it into an object.
final class SourceRow {
    /// The values of the source object.
    let values = PackedValues()
    /// What only the policy's functions can compute.
    let policyColumns: [PolicyColumn]
    /// The attributes that the mapping gives a value.
    let attributes: [(attribute: Attribute, place: Int)]
    /// The values by column places of the destination.
    private let columns: [RowValue?]
    private let evaluated: [(place: Int, evaluator: RowEvaluator)]
    private let bindings: [CellBinding]
    private let insert: Statement

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
        var evaluated: [(place: Int, evaluator: RowEvaluator)] = []
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
            case .evaluated(let evaluator): evaluated.append((place, evaluator))
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
        try insert.bind(key, at: 1)
        try insert.bind(version, at: 3)
        try insert.bind(bindings, of: values.row)
        for (place, evaluator) in evaluated where changes[place] == nil {
            try insert.bind(try evaluator.value(in: values), at: place + 4)
        }
        try changes.bind(to: insert, from: 4)
        try insert.run()
        for place in changes.places {
            switch columns[place] {
            case .constant(let value): try insert.bind(value, at: place + 4)
            case nil: try insert.bindNull(at: place + 4)
            // Bound anew for each row.
            case .column, .evaluated: break
            }
        }
    }
}

/// What was set of an object, by column places, in the order in which it was set.
struct ColumnChanges {
    private(set) var places: [Int] = []
    private var values: [Value] = []

    var isEmpty: Bool { places.isEmpty }

    subscript(place: Int) -> Value? {
        get { places.firstIndex(of: place).map { values[$0] } }
        set {
            let known = places.firstIndex(of: place)
            switch (known, newValue) {
            case (let index?, let value?): values[index] = value
            case (nil, let value?):
                places.append(place)
                values.append(value)
            case (let index?, nil):
                places.remove(at: index)
                values.remove(at: index)
            case (nil, nil): break
            }
        }
    }

    /// Binds each value at the parameter of its place.
    func bind(to statement: Statement, from first: Int) throws(DatabaseError) {
        for index in places.indices { try statement.bind(values[index], at: places[index] + first) }
    }

    /// Binds the values one after another, in the order of ``places``.
    func bindInOrder(to statement: Statement, from first: Int) throws(DatabaseError) {
        for index in places.indices { try statement.bind(values[index], at: index + first) }
    }

    /// One by one: there are few, and that is quicker than emptying an array that keeps its room.
    mutating func removeAll() {
        while places.popLast() != nil {}
        while values.popLast() != nil {}
    }
}
