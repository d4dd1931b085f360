package import FerryBase
package import FerryExpression
internal import FerryMapping
package import FerryModel
internal import FerryStore

/// The statement that reads the source objects of an entity mapping with a migration policy, and the cells of the packed
/// row.
///
/// A row has all source attributes, the values of expressions, and what those read that may fail or call the policy: the
/// writer evaluates these when it needs their values.
package struct RowPlan {
    package static let keyCell = 0
    package static let versionCell = 1

    package let sql: BoundSQL
    /// The columns of the statement, each a cell of the packed row.
    package let cellCount: Int
    /// The cell that says whether the filter holds; nil without a filter.
    package let filter: Int?
    /// The destination columns of attributes, with values by cells of the packed row; the policy sets relationships itself.
    package let columns: [(name: String, value: RowValue, attribute: Attribute)]
    /// The cells of the source attributes.
    package let attributes: [(attribute: Attribute, cell: Int)]

    /// - Parameter sql: The statements of the entity mapping.
    /// - Throws: ``FerryError`` for an expression that cannot be evaluated.
    package init(_ sql: MappingSQL) throws(FerryError) {
        let (mapping, step) = (sql.mapping, sql.step)
        var scope = try sql.scope(filtered: false)
        for column in ["s.Z_PK", "s.Z_OPT"] { _ = scope.select(column) }
        if let condition = mapping.filter {
            filter = scope.select("\(try sql.condition(condition, in: &scope)) IS TRUE")
        } else {
            filter = nil
        }
        var columns: [(name: String, value: RowValue, attribute: Attribute)] = []
        for column in step.program.fills.columns[mapping.position] {
            columns.append((column.name, try sql.rowValue(of: column.source, in: &scope), column.attribute))
        }
        var attributes: [(attribute: Attribute, cell: Int)] = []
        for (key, column) in step.source.attributeColumns(of: mapping.source) {
            guard let attribute = step.source.attribute(key) else { continue }
            attributes.append((attribute, scope.select("s.\(column.name)")))
        }
        self.attributes = attributes
        cellCount = scope.selected.count
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
    package func rowValue(of source: ColumnSource, in scope: inout SourceScope) throws(FerryError) -> RowValue {
        switch source {
        case .constant(let value): return .constant(value)
        case .column: break
        case .expression(let expression):
            let value = try placed { () throws(FerryError) -> RowValue? in
                let computation = try expression.computation(in: step.source.model)
                // What cannot fail is computed where the row is read, on another thread than what uses it.
                guard computation.passedValue?.mark != .removed, computation.mayFail else { return nil }
                let bound = BoundComputation(computation)
                let cells = try bound.arguments.map { argument throws(FerryError) in
                    scope.select(try scope.translate { translator throws(FerryError) in try translator.sql(argument) })
                }
                return bound.isArgument ? .column(cells[0]) : .evaluated(RowEvaluator(bound), cells)
            }
            if let value { return value }
        }
        return .column(scope.select(try value(of: source, in: &scope).sql))
    }
}

/// A destination column's value in a packed row.
package enum RowValue {
    /// An unchanged value: a column of the statement, which is a cell of the packed row.
    case column(Int)
    /// An expression of the cells of its arguments; if it fails, the error comes when the value is used.
    case evaluated(RowEvaluator, [Int])
    /// One stored value for all rows.
    case constant(DefaultValue)
}
