internal import FerryExpression
internal import FerryModel
internal import FerrySQLite

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
