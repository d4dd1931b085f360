package import FerryBase
package import FerryExpression
internal import FerryMapping
package import FerryModel
internal import FerryStore

/// The statement that reads the source objects of an entity mapping with a migration policy, and the cells of the packed
/// row.
///
/// A row has the statement's columns, with all source attributes, then, if the filter holds, the values of the expressions
/// that neither call the policy nor fail. The writer evaluates the others on demand.
package struct RowPlan {
    package static let keyCell = 0
    package static let versionCell = 1

    package struct DestinationColumn {
        package var name: String
        /// The value, by cells of the packed row.
        package var value: RowValue
        package var attribute: Attribute
        /// The cell of an expression that the reader evaluates ahead, which may be missing.
        package var cell: Int?
    }

    package let sql: BoundSQL
    /// The packed columns of the statement, in the order of their cells.
    package let packed: [Int32]
    /// The expressions that the reader evaluates, in the order of the cells after them.
    package let evaluated: [RowEvaluator]
    /// The filter, by columns of the statement.
    package let filter: RowEvaluator?
    /// The destination columns of attributes; the policy sets relationships itself.
    package let columns: [DestinationColumn]
    /// The cells of the source attributes.
    package let attributes: [(attribute: Attribute, cell: Int)]

    package var cellCount: Int { packed.count + evaluated.count }

    /// - Parameters:
    ///   - sql: The statements of the entity mapping.
    ///   - now: The run's fixed time, in seconds since 2001-01-01 UTC.
    /// - Throws: ``FerryError`` for an expression that cannot be evaluated.
    package init(_ sql: MappingSQL, now: Double) throws(FerryError) {
        let (mapping, step) = (sql.mapping, sql.step)
        var scope = try sql.scope(filtered: false)
        for column in ["s.Z_PK", "s.Z_OPT"] { _ = scope.select(column) }
        if let condition = mapping.filter {
            filter = try sql.rowCondition(condition, in: &scope, now: now)
        } else {
            filter = nil
        }
        var columns: [DestinationColumn] = []
        var ahead: [(column: Int, evaluator: RowEvaluator)] = []
        for column in step.program.fills.columns[mapping.position] {
            let value = try sql.rowValue(of: column.source, in: &scope, now: now)
            if case .evaluated(let evaluator) = value, !evaluator.callsPolicy,
                // An evaluator belongs to one thread: this one is for the reader's.
                case .evaluated(let other) = try sql.rowValue(of: column.source, in: &scope, now: now)
            {
                ahead.append((columns.count, other))
            }
            columns.append(DestinationColumn(name: column.name, value: value, attribute: column.attribute))
        }
        var attributes: [(attribute: Attribute, cell: Int)] = []
        for (key, column) in step.source.attributeColumns(of: mapping.source) {
            guard let attribute = step.source.attribute(key) else { continue }
            attributes.append((attribute, scope.select("s.\(column.name)")))
        }
        self.attributes = attributes
        packed = scope.selected.indices.map { Int32($0) }
        for (place, column) in ahead.map(\.column).enumerated() { columns[column].cell = packed.count + place }
        evaluated = ahead.map(\.evaluator)
        self.columns = columns
        self.sql = BoundSQL(
            """
            SELECT \(scope.selected.joined(separator: ", ")) FROM \(scope.from)\(scope.where)
            ORDER BY \(scope.order)
            """, scope.parameters)
    }
}

extension MappingSQL {
    /// A column's value for evaluation in Swift; an SQL function, which knows the folder, reads external files.
    package func rowValue(of source: ColumnSource, in scope: inout SourceScope, now: Double) throws(FerryError)
        -> RowValue
    {
        switch source {
        case .constant(let value): return .constant(value)
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
    package func rowCondition(_ predicate: Predicate, in scope: inout SourceScope, now: Double) throws(FerryError)
        -> RowEvaluator
    {
        try placed { () throws(FerryError) in
            try scope.evaluator(
                try ExpressionTranslation(scope: scope.expressions).condition(predicate), now: now)
        }
    }
}

/// A destination column's value in a packed row.
package enum RowValue {
    /// An unchanged value: a column of the statement, which is a cell of the packed row.
    case column(Int)
    case evaluated(RowEvaluator)
    /// One stored value for all rows.
    case constant(DefaultValue)
}
