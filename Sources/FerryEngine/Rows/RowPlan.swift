internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
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
        for rule in mapping.attributes {
            guard let attribute = context.destination.model.attribute(rule.name, of: mapping.destination),
                let column = context.destination.column(of: rule.name, in: mapping.destination)
            else {
                throw FerryError(
                    .internalError, "The new store has no column for \(mapping.destination).\(rule.name).")
            }
            let value = try expressions.rowValue(of: attribute, from: rule, in: &scope, &selection)
            guard let value else { continue }
            if evaluation == .aheadOfPolicy, case .evaluated(let evaluator) = value, !evaluator.callsPolicy,
                // An evaluator belongs to one thread: this is the reader's.
                case .evaluated(let other) = try expressions.rowValue(of: attribute, from: rule, in: &scope, &selection)
            {
                ahead[columns.count] = other
            }
            columns.append(DestinationColumn(name: column.name, value: value, attribute: attribute))
        }
        for (assignment, contribution) in context.assignments.inline(of: mapping) {
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
