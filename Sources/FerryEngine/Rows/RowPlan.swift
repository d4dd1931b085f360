internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// What is read of the source objects of one entity mapping for Swift, and where the packed row has it.
///
/// A row begins with four fixed cells; then come the columns that are needed as they are, then what was evaluated: for
/// each row that the filter lets through. With a migration policy it is evaluated while reading as far as that goes,
/// and otherwise by the writer when it needs a value: where the policy must be asked, and where it fails. The row has
/// all attributes of the source object then, and its first cells are numbered like the columns that are read.
struct RowPlan {
    static let keyCell = 0
    static let versionCell = 1
    static let ordinalCell = 2
    static let elementKeyCell = 3

    struct DestinationColumn {
        var name: String
        /// By cells of the packed row.
        var value: RowValue
        /// Nil for what belongs to a relationship.
        var attribute: Attribute?
        /// The cell of what was computed while reading, where the value is that of an expression; it may be missing.
        var cell: Int?
    }

    let sql: BoundSQL
    /// The largest value that is read with its row; a policy holds what it reads.
    let largestValue: Int
    /// The columns of the statement that are packed, in the order of their cells.
    let packed: [Int32]
    /// What is evaluated while reading, for the cells after them.
    let evaluated: [RowEvaluator]
    /// Whether the cell of what cannot be evaluated stays without a value.
    let mayMiss: Bool
    /// By columns of the statement.
    let filter: RowEvaluator?
    let skipsInvalid: Bool
    /// Whether each source object is one row: then all rows come in the order of their keys.
    let isOneRowPerKey: Bool
    /// What the mapping sets, in the order of its attributes, then its foreign keys.
    let columns: [DestinationColumn]
    /// The values by which an object is found, in the order of `unique`.
    let uniqueValues: [RowValue]
    /// The cells of the source's attributes, where all of them are read.
    let attributes: [(attribute: Attribute, cell: Int)]

    var cellCount: Int { packed.count + evaluated.count }

    init(_ sql: MappingSQL) throws {
        let (context, mapping) = (sql.context, sql.mapping)
        mayMiss = mapping.policy != nil
        largestValue = mapping.policy == nil ? context.options.valueBytes : context.options.wholeValueBytes
        var scope = try sql.scope(filtered: false)
        // An element of JSON has a place, one of a relationship a key; where there is neither, NULL stands twice.
        let ordinal = scope.jsonElements == nil ? nil : scope.elementOrder
        let fixed = ["s.Z_PK", "s.Z_OPT", ordinal ?? "NULL AS ordinal", scope.elementKey ?? "NULL AS element"]
        for column in fixed { _ = scope.select(column) }
        filter = try mapping.filter.map { try sql.rowCondition($0, in: &scope) }
        var columns: [DestinationColumn] = []
        var ahead: [Int: RowEvaluator] = [:]
        for column in context.program.columns[mapping.position] {
            let value = try sql.rowValue(of: column.source, in: &scope)
            if mayMiss, case .evaluated(let evaluator) = value, !evaluator.callsPolicy,
                // An evaluator belongs to one thread: this is the reader's.
                case .evaluated(let other) = try sql.rowValue(of: column.source, in: &scope)
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
            text: """
                SELECT \(scope.selected.joined(separator: ", ")) FROM \(scope.from)\(scope.where)
                ORDER BY \(scope.order)
                """, parameters: scope.parameters)
    }
}

/// What a row of the row executor gives for a destination column.
enum RowValue {
    /// The value of a place, never decoded: a column of the statement, or a cell of the packed row.
    case column(Int)
    case evaluated(RowEvaluator)
    /// The same for all rows.
    case constant(Value)
}

extension Statement {
    /// Binds what is the same for all rows, and tells what is bound from each.
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

    /// Binds what a computation yielded.
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
