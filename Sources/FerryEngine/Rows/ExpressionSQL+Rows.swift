internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite

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
    /// The value of a destination attribute for Swift, or nil when it has neither an expression nor a default.
    ///
    /// What has to come from files is asked of SQL, whose function for that knows the folder.
    func rowValue(
        of attribute: Attribute, from rule: ResolvedAttribute, in scope: inout SourceScope,
        _ selection: inout RowSelection
    ) throws(FerryError) -> RowValue? {
        guard let expression = rule.expression else {
            return Self.defaultValue(of: attribute, by: rule).map { .constant($0) }
        }
        let computation: Computation
        do {
            computation = try ExpressionTranslation(scope: expressionScope).value(expression, for: attribute)
        } catch {
            throw placed(error)
        }
        if case .call(ScalarFunction.fromExternalName, _) = computation,
            let value = try self.attribute(attribute, from: rule, in: &scope)
        {
            return .column(selection.place(of: value.sql))
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
