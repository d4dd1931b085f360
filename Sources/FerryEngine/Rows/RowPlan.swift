internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// The statement that reads the source objects of one entity mapping for Swift, and the cells of the packed row.
///
/// A row has four fixed cells, then unchanged columns, then, if the filter holds, evaluated expressions. With a
/// migration policy, the reader evaluates only expressions that neither call the policy nor fail; the writer evaluates
/// the others on demand. That row has all source attributes, and its first cells are the statement's columns.
struct RowPlan {
    static let keyCell = 0
    static let versionCell = 1
    static let ordinalCell = 2
    static let elementKeyCell = 3

    struct DestinationColumn {
        var name: String
        /// The value, by cells of the packed row.
        var value: RowValue
        /// Nil for a column of a relationship.
        var attribute: Attribute?
        /// The cell of an expression that the reader evaluates ahead, which may be missing.
        var cell: Int?
    }

    let sql: BoundSQL
    /// The largest value that is read with its row; larger with a policy, which holds its values.
    let largestValue: Int
    /// The packed columns of the statement, in the order of their cells.
    let packed: [Int32]
    /// The expressions that the reader evaluates, in the order of the cells after them.
    let evaluated: [RowEvaluator]
    /// Whether the cell of a failing expression stays missing.
    let mayMiss: Bool
    /// The filter, by columns of the statement.
    let filter: RowEvaluator?
    let skipsInvalid: Bool
    /// Whether each source object is one row, so that rows come in the order of their keys.
    let isOneRowPerKey: Bool
    /// The destination columns: attributes, then foreign keys.
    let columns: [DestinationColumn]
    let uniqueValues: [RowValue]
    /// The cells of the source attributes, if the row has all of them.
    let attributes: [(attribute: Attribute, cell: Int)]

    var cellCount: Int { packed.count + evaluated.count }

    init(_ sql: MappingSQL, in context: StepContext) throws {
        let (mapping, now) = (sql.mapping, context.options.now)
        mayMiss = mapping.policy != nil
        largestValue = mapping.policy == nil ? context.options.valueBytes : context.options.wholeValueBytes
        var scope = try sql.scope(filtered: false)
        // A JSON element has an ordinal, a related object a key; NULL takes the place of a missing one.
        let ordinal = scope.jsonElements == nil ? nil : scope.elementOrder
        let fixed = ["s.Z_PK", "s.Z_OPT", ordinal ?? "NULL AS ordinal", scope.elementKey ?? "NULL AS element"]
        for column in fixed { _ = scope.select(column) }
        filter = try mapping.filter.map { try sql.rowCondition($0, in: &scope, now: now) }
        var columns: [DestinationColumn] = []
        var ahead: [Int: RowEvaluator] = [:]
        for column in context.program.columns[mapping.position] {
            let value = try sql.rowValue(of: column.source, in: &scope, now: now)
            if mayMiss, case .evaluated(let evaluator) = value, !evaluator.callsPolicy,
                // An evaluator belongs to one thread: this one is for the reader's.
                case .evaluated(let other) = try sql.rowValue(of: column.source, in: &scope, now: now)
            {
                ahead[columns.count] = other
            }
            columns.append(DestinationColumn(name: column.name, value: value, attribute: column.attribute))
        }
        for (assignment, contribution) in context.program.inline(of: mapping) {
            for (column, value) in try sql.keys(of: assignment, contribution, in: &scope) {
                columns.append(DestinationColumn(name: column, value: .column(scope.select(value.sql))))
            }
        }
        var attributes: [(attribute: Attribute, cell: Int)] = []
        if mayMiss {
            for (key, column) in context.source.attributeColumns(of: mapping.source) {
                guard let attribute = context.source.attribute(key) else { continue }
                attributes.append((attribute, scope.select("s.\(column.name)")))
            }
        }
        self.attributes = attributes
        var packed = mayMiss ? Array(scope.selected.indices) : Array(fixed.indices)
        var evaluated: [RowEvaluator] = []
        if !mayMiss {
            for case .column(let place) in columns.map(\.value) where !packed.contains(place) { packed.append(place) }
        }
        for index in columns.indices {
            switch columns[index].value {
            case .column(let place): columns[index].value = .column(packed.firstIndex(of: place) ?? place)
            case .evaluated(let evaluator) where !mayMiss:
                columns[index].value = .column(packed.count + evaluated.count)
                evaluated.append(evaluator)
            case .evaluated, .constant: break
            }
            guard let evaluator = ahead[index] else { continue }
            columns[index].cell = packed.count + evaluated.count
            evaluated.append(evaluator)
        }
        self.packed = packed.map(Int32.init)
        self.evaluated = evaluated
        self.columns = columns
        uniqueValues = mapping.unique.map { name in
            columns.first { $0.attribute?.name == name }?.value ?? .constant(.null)
        }
        skipsInvalid = mapping.iteration?.skipsInvalid ?? false
        isOneRowPerKey = mapping.iteration == nil
        self.sql = BoundSQL(
            """
            SELECT \(scope.selected.joined(separator: ", ")) FROM \(scope.from)\(scope.where)
            ORDER BY \(scope.order)
            """, scope.parameters)
    }
}

extension MappingSQL {
    /// A column's value for evaluation in Swift; an SQL function, which knows the folder, reads external files.
    func rowValue(of source: ColumnSource, in scope: inout SourceScope, now: Double) throws(FerryError) -> RowValue {
        switch source {
        case .constant(let value): return .constant(Value(value))
        case .column: break
        case .expression(let expression):
            let evaluator = try placed { () throws(FerryError) -> RowEvaluator? in
                let computation = try expression.computation(in: step.source.model)
                return computation.passedValue?.mark == .removed ? nil : try scope.evaluator(computation, now: now)
            }
            if let evaluator { return evaluator.place.map { .column($0) } ?? .evaluated(evaluator) }
        }
        return .column(scope.select(try value(of: source, in: &scope).sql))
    }

    /// A filter for evaluation in Swift.
    func rowCondition(_ predicate: Predicate, in scope: inout SourceScope, now: Double) throws(FerryError)
        -> RowEvaluator
    {
        try placed { () throws(FerryError) in
            try scope.evaluator(
                try ExpressionTranslation(scope: scope.expressions).condition(predicate), now: now)
        }
    }
}

/// A destination column's value in a packed row.
enum RowValue {
    /// An unchanged value: a column of the statement, or a cell of the packed row.
    case column(Int)
    case evaluated(RowEvaluator)
    case constant(Value)
}

extension Statement {
    /// Binds the constants, and returns the bindings of each row.
    func bindConstants(of values: [RowValue], from first: Int) throws(DatabaseError) -> [CellBinding] {
        var bindings: [CellBinding] = []
        for (index, value) in values.enumerated() {
            switch value {
            case .column(let cell): bindings.append(CellBinding(cell: cell, parameter: first + index))
            case .constant(let value): try bind(value, at: first + index)
            case .evaluated: preconditionFailure("the reader evaluates")
            }
        }
        return bindings
    }

    func bind(_ value: FunctionValue, at index: Int) throws(DatabaseError) {
        switch value {
        case .null: try bindNull(at: index)
        case .integer(let integer): try bind(integer, at: index)
        case .real(let real): try bind(real, at: index)
        case .text(let bytes): try bind(text: bytes, at: index)
        case .blob(let bytes): try bind(blob: bytes, at: index)
        }
    }
}
