internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// What is read of the source objects of one entity mapping for Swift, and where the packed row has it.
///
/// A row begins with four fixed cells; then come the columns that are needed as they are, then what was evaluated.
struct RowPlan {
    static let keyCell = 0
    static let versionCell = 1
    static let ordinalCell = 2
    static let elementKeyCell = 3

    /// When the values of expressions are computed.
    enum Evaluation {
        /// By the reader, for each row that the filter lets through.
        case whileReading
        /// By the reader as far as that goes, and otherwise by the writer when it needs a value: where the policy must
        /// be asked, and where it fails. The row has all attributes of the source object, and its first cells are
        /// numbered like the columns that are read.
        case aheadOfPolicy
    }

    struct DestinationColumn {
        var name: String
        /// By cells of the packed row.
        var value: RowValue
        /// Nil for what belongs to a relationship.
        var attribute: Attribute?
        /// The cell of what was computed while reading, where the value is that of an expression; it may be missing.
        var cell: Int?
    }

    let sql: RowStatements.SQL
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

    init(_ sql: RowStatements, _ evaluation: Evaluation = .whileReading) throws {
        let (context, mapping) = (sql.context, sql.mapping)
        largestValue = mapping.policy == nil ? context.options.valueBytes : context.options.wholeValueBytes
        let expressions = ExpressionSQL(context: context, mapping: mapping)
        var scope = try sql.scope(filtered: false)
        var selection = RowSelection()
        // An element of JSON has a place, one of a relationship a key; where there is neither, NULL stands twice.
        let ordinal = mapping.iteration.map { scope.jsonElements[$0.variable] == nil ? nil : scope.elementOrder } ?? nil
        let fixed = ["s.Z_PK", "s.Z_OPT", ordinal ?? "NULL AS ordinal", scope.elementKey ?? "NULL AS element"]
        for column in fixed { _ = selection.place(of: column) }
        filter = try mapping.filter.map { try expressions.rowCondition($0, in: &scope, &selection) }
        var columns: [DestinationColumn] = []
        var ahead: [Int: RowEvaluator] = [:]
        for column in context.program.columns[mapping.position] {
            let value = try expressions.rowValue(of: column.source, in: &scope, &selection)
            if evaluation == .aheadOfPolicy, case .evaluated(let evaluator) = value, !evaluator.callsPolicy,
                // An evaluator belongs to one thread: this is the reader's.
                case .evaluated(let other) = try expressions.rowValue(of: column.source, in: &scope, &selection)
            {
                ahead[columns.count] = other
            }
            columns.append(DestinationColumn(name: column.name, value: value, attribute: column.attribute))
        }
        for (assignment, contribution) in context.program.inline(of: mapping) {
            let keys = try ForeignKeySQL(context: context, mapping: mapping)
                .columns(of: assignment, contribution, in: &scope)
            for (column, value) in keys {
                columns.append(DestinationColumn(name: column, value: .column(selection.place(of: value.sql))))
            }
        }
        var attributes: [(attribute: Attribute, cell: Int)] = []
        if evaluation == .aheadOfPolicy {
            for (key, column) in context.source.attributeColumns(of: mapping.source) {
                guard let attribute = context.source.attribute(key) else { continue }
                attributes.append((attribute, selection.place(of: "s.\(column.name)")))
            }
        }
        self.attributes = attributes
        let cells = Cells(columns.map(\.value), selection, fixed: fixed.count, evaluation)
        packed = cells.packed
        mayMiss = evaluation == .aheadOfPolicy
        var evaluated = cells.evaluated
        for index in columns.indices {
            columns[index].value = cells.values[index]
            guard let evaluator = ahead[index] else { continue }
            columns[index].cell = packed.count + evaluated.count
            evaluated.append(evaluator)
        }
        self.evaluated = evaluated
        self.columns = columns
        uniqueValues = mapping.unique.map { name in
            columns.first { $0.attribute?.name == name }?.value ?? .constant(.null)
        }
        skipsInvalid = mapping.iteration?.skipsInvalid ?? false
        isOneRowPerKey = mapping.iteration == nil
        self.sql = RowStatements.SQL(
            text: """
                SELECT \(selection.columns.joined(separator: ", ")) FROM \(scope.from)\(scope.where)
                ORDER BY \(scope.order)
                """, parameters: scope.parameters)
    }

    /// Gives each value of a row its cell.
    private struct Cells {
        var packed: [Int32] = []
        var evaluated: [RowEvaluator] = []
        var values: [RowValue] = []

        init(_ values: [RowValue], _ selection: RowSelection, fixed: Int, _ evaluation: Evaluation) {
            guard evaluation == .whileReading else {
                packed = selection.columns.indices.map(Int32.init)
                self.values = values
                return
            }
            packed = (0..<fixed).map(Int32.init)
            for case .column(let place) in values where !packed.contains(Int32(place)) { packed.append(Int32(place)) }
            for value in values {
                switch value {
                case .column(let place):
                    self.values.append(.column(packed.firstIndex(of: Int32(place)) ?? place))
                case .evaluated(let evaluator):
                    self.values.append(.column(packed.count + evaluated.count))
                    evaluated.append(evaluator)
                case .constant: self.values.append(value)
                }
            }
        }
    }
}

/// The columns that a statement reads for Swift, by their places.
struct RowSelection {
    private(set) var columns: [String] = []

    /// The place of a column; equal columns share one.
    mutating func place(of sql: String) -> Int {
        if let known = columns.firstIndex(of: sql) { return known }
        columns.append(sql)
        return columns.count - 1
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

extension ExpressionSQL {
    /// The value of a column of the new store, for Swift.
    ///
    /// What has to come from files is asked of SQL, whose function for that knows the folder.
    func rowValue(
        of source: ColumnSource, in scope: inout SourceScope, _ selection: inout RowSelection
    ) throws(FerryError) -> RowValue {
        guard case .expression(let expression) = source else {
            if case .constant(let value) = source { return .constant(Value(value)) }
            return .column(selection.place(of: try value(of: source, in: &scope).sql))
        }
        let computation: Computation
        do {
            computation = try expression.computation(in: context.source.model)
        } catch {
            throw placed(error)
        }
        if computation.passedValue?.mark == .removed {
            return .column(selection.place(of: try value(of: source, in: &scope).sql))
        }
        let evaluator = try evaluator(computation, in: &scope, &selection)
        return evaluator.place.map { .column($0) } ?? .evaluated(evaluator)
    }

    /// A predicate for Swift.
    func rowCondition(
        _ predicate: Predicate, in scope: inout SourceScope, _ selection: inout RowSelection
    ) throws(FerryError) -> RowEvaluator {
        do {
            let condition = try ExpressionTranslation(scope: expressionScope).condition(predicate)
            return try evaluator(condition, in: &scope, &selection)
        } catch {
            throw placed(error)
        }
    }

    private func evaluator(
        _ computation: Computation, in scope: inout SourceScope, _ selection: inout RowSelection
    ) throws(FerryError) -> RowEvaluator {
        var places = SelectedPlaces(
            resolver: resolver(scope), selection: selection, scope: expressionScope)
        let evaluator = try RowEvaluator(computation, now: context.options.now, places: &places)
        scope = places.resolver.scope
        selection = places.selection
        return evaluator
    }
}

/// Adds to a statement the columns that a computation needs.
private struct SelectedPlaces: PlaceResolver {
    var resolver: StatementResolver
    var selection: RowSelection
    let scope: ExpressionScope

    /// A subquery, whose value is read like a column.
    mutating func place(of collection: CollectionComputation) throws(FerryError) -> Int {
        var translator = SQLTranslator(scope: scope, resolver: resolver)
        let sql = try translator.sql(.collection(collection))
        resolver = translator.resolver
        return selection.place(of: sql)
    }

    mutating func place(of path: ResolvedPath) throws(FerryError) -> Int {
        selection.place(of: try resolver.column(path))
    }

    mutating func elementTextPlace() throws(FerryError) -> Int { selection.place(of: try resolver.elementText()) }
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
