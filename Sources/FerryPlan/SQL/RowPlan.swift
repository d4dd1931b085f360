package import FerryBase
package import FerryExpression
internal import FerryMapping
package import FerryModel
internal import FerryStore

/// The statement that reads the source objects of one entity mapping for Swift, and the cells of the packed row.
///
/// A row has four fixed cells, then unchanged columns, then, if the filter holds, evaluated expressions. With a
/// migration policy, the reader evaluates only expressions that neither call the policy nor fail; the writer evaluates
/// the others on demand. That row has all source attributes, and its first cells are the statement's columns.
package struct RowPlan {
    package static let keyCell = 0
    package static let versionCell = 1
    package static let ordinalCell = 2
    package static let elementKeyCell = 3

    package struct DestinationColumn {
        package var name: String
        /// The value, by cells of the packed row.
        package var value: RowValue
        /// Nil for a column of a relationship.
        package var attribute: Attribute?
        /// The cell of an expression that the reader evaluates ahead, which may be missing.
        package var cell: Int?
    }

    package let sql: BoundSQL
    /// The packed columns of the statement, in the order of their cells.
    package let packed: [Int32]
    /// The expressions that the reader evaluates, in the order of the cells after them.
    package let evaluated: [RowEvaluator]
    /// Whether the cell of a failing expression stays missing.
    package let mayMiss: Bool
    /// The filter, by columns of the statement.
    package let filter: RowEvaluator?
    package let skipsInvalid: Bool
    /// Whether each source object is one row, so that rows come in the order of their keys.
    package let isOneRowPerKey: Bool
    /// The destination columns: attributes, then foreign keys.
    package let columns: [DestinationColumn]
    package let uniqueValues: [RowValue]
    /// The cells of the source attributes, if the row has all of them.
    package let attributes: [(attribute: Attribute, cell: Int)]

    package var cellCount: Int { packed.count + evaluated.count }

    /// - Parameters:
    ///   - sql: The statements of the entity mapping.
    ///   - now: The run's fixed time, in seconds since 2001-01-01 UTC.
    /// - Throws: ``FerryError`` for an expression that cannot be evaluated.
    package init(_ sql: MappingSQL, now: Double) throws(FerryError) {
        let (mapping, step) = (sql.mapping, sql.step)
        mayMiss = mapping.policy != nil
        var scope = try sql.scope(filtered: false)
        // A JSON element has an ordinal, a related object a key; NULL takes the place of a missing one.
        let ordinal = scope.jsonElements == nil ? nil : scope.elementOrder
        let fixed = ["s.Z_PK", "s.Z_OPT", ordinal ?? "NULL AS ordinal", scope.elementKey ?? "NULL AS element"]
        for column in fixed { _ = scope.select(column) }
        if let condition = mapping.filter {
            filter = try sql.rowCondition(condition, in: &scope, now: now)
        } else {
            filter = nil
        }
        var columns: [DestinationColumn] = []
        var ahead: [Int: RowEvaluator] = [:]
        for column in step.program.fills.columns[mapping.position] {
            let value = try sql.rowValue(of: column.source, in: &scope, now: now)
            if mayMiss, case .evaluated(let evaluator) = value, !evaluator.callsPolicy,
                // An evaluator belongs to one thread: this one is for the reader's.
                case .evaluated(let other) = try sql.rowValue(of: column.source, in: &scope, now: now)
            {
                ahead[columns.count] = other
            }
            columns.append(DestinationColumn(name: column.name, value: value, attribute: column.attribute))
        }
        for (assignment, contribution) in step.program.fills.inline(of: mapping) {
            for (column, value) in try sql.keys(of: assignment, contribution, in: &scope) {
                columns.append(DestinationColumn(name: column, value: .column(scope.select(value.sql))))
            }
        }
        var attributes: [(attribute: Attribute, cell: Int)] = []
        if mayMiss {
            for (key, column) in step.source.attributeColumns(of: mapping.source) {
                guard let attribute = step.source.attribute(key) else { continue }
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
            columns.first { $0.attribute?.name == name }?.value ?? .constant(nil)
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
    /// An unchanged value: a column of the statement, or a cell of the packed row.
    case column(Int)
    case evaluated(RowEvaluator)
    /// One stored value for all rows; nil for NULL.
    case constant(DefaultValue?)
}
