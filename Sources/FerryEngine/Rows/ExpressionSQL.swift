internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// Translates the expressions of one entity mapping into the SQL of a statement.
struct ExpressionSQL {
    let context: StepContext
    let mapping: ResolvedEntityMapping

    /// The value of a column of the new store.
    func value(of source: ColumnSource, in scope: inout SourceScope) throws(FerryError) -> ColumnValue {
        switch source {
        case .column(let name): return ColumnValue(StoredValue(object: scope.source, column: name))
        case .constant(let value): return ColumnValue(scope.parameters.add(Value(value)))
        case .expression(let expression):
            return try translate(in: &scope) { translator throws(FerryError) in
                let computation = try expression.computation(in: context.source.model)
                var value = ColumnValue(try translator.sql(computation))
                value.stored = try translator.resolver.stored(computation)
                return value
            }
        }
    }

    /// The values by which the mapping finds an object, in the order of `unique`.
    func uniqueValues(in scope: inout SourceScope) throws(FerryError) -> [String] {
        var values: [String] = []
        for name in mapping.unique {
            let column = context.program.columns[mapping.position].first { $0.attribute.name == name }
            values.append(
                try column.map { column throws(FerryError) in try value(of: column.source, in: &scope).sql } ?? "NULL")
        }
        return values
    }

    /// The value of an expression in its own type.
    func value(_ expression: Expression, in scope: inout SourceScope) throws(FerryError) -> String {
        try translate(in: &scope) { translator throws(FerryError) in try translator.value(expression) }
    }

    /// A predicate that decides whether a row is taken.
    func condition(_ predicate: Predicate, in scope: inout SourceScope) throws(FerryError) -> String {
        let sql = try translate(in: &scope) { translator throws(FerryError) in try translator.condition(predicate) }
        return "(\(sql))"
    }

    /// The same predicate for another object than the statement's own source object.
    func condition(
        _ predicate: Predicate, of object: SourceScope.Object, in scope: inout SourceScope
    ) throws(FerryError) -> String {
        let own = scope.rebindSource(to: object)
        defer { if let own { _ = scope.rebindSource(to: own) } }
        return try condition(predicate, in: &scope)
    }

    /// Joins the objects that anything but a path yields, each once.
    func join(_ expression: Expression, to scope: inout SourceScope) throws(FerryError) -> SourceScope.Object {
        let alias = scope.newAlias("t")
        var entity = ""
        let condition = try translate(in: &scope) { translator throws(FerryError) in
            try translator.condition(that: expression) { name throws(FerryError) in
                entity = name
                return "\(alias).Z_PK"
            }
        }
        scope.join("JOIN \(try scope.table(of: entity)) AS \(alias) ON \(condition)")
        return SourceScope.Object(alias: alias, entity: entity)
    }

    private func translate<Result>(
        in scope: inout SourceScope,
        _ body: (inout SQLTranslator<StatementResolver>) throws(FerryError) -> Result
    ) throws(FerryError) -> Result {
        var translator = SQLTranslator(scope: expressionScope, resolver: resolver(scope))
        do {
            let result = try body(&translator)
            scope = translator.resolver.scope
            return result
        } catch {
            throw placed(error)
        }
    }

    func resolver(_ scope: SourceScope) -> StatementResolver {
        StatementResolver(scope: scope, now: context.options.now, variable: mapping.iteration?.variable)
    }

    /// The error with the entity mapping that it is about.
    func placed(_ error: FerryError) -> FerryError {
        var error = error
        error.place.entityMapping = mapping.name
        error.message = "Entity mapping \(mapping.name): \(error.message)"
        return error
    }

    var expressionScope: ExpressionScope { mapping.expressionScope(in: context.source.model) }
}

/// Finds the columns of paths in the statement under construction.
struct StatementResolver: PathResolver {
    var scope: SourceScope
    let now: Double
    let variable: String?

    mutating func column(_ path: ResolvedPath) throws(FerryError) -> String {
        if case .json = path.end {
            if let column = try elementMember([]) { return column }
            return "ferry_json_get(\(try elementText()))"
        }
        if let stored = try stored(path) { return stored.sql }
        return try object(atEndOf: path).key
    }

    private mutating func object(atEndOf path: ResolvedPath) throws(FerryError) -> SourceScope.Object {
        guard let start = scope.object(startOf: path, variable: variable) else {
            throw FerryError(.internalError, "The statement has no object for the start of a path.")
        }
        return try scope.follow(path.hops.map(\.relationship.name), from: start)
    }

    /// The attribute at the end of a path; nil for objects and elements of JSON.
    private mutating func stored(_ path: ResolvedPath) throws(FerryError) -> StoredValue? {
        guard case .attribute(_, let names) = path.end else { return nil }
        return try scope.attribute(names.joined(separator: "."), of: object(atEndOf: path))
    }

    /// The stored value that a computation passes on wherever that is a BLOB.
    mutating func stored(_ computation: Computation) throws(FerryError) -> StoredValue? {
        guard let passed = computation.passedValue, var value = try stored(passed.path) else { return nil }
        value.mark = passed.mark
        return value
    }

    mutating func open(_ collection: CollectionComputation, keys: String?) throws(FerryError) {
        try scope.open(collection, keys: keys, variable: variable)
    }

    mutating func closeCollection() -> CollectionSQL { scope.closeCollection() }

    mutating func elementText() throws(FerryError) -> String {
        guard let variable, let text = scope.jsonElements[variable]?.text else {
            throw FerryError(.internalError, "The statement has no JSON element.")
        }
        return text
    }

    mutating func elementMember(_ keys: [String]) throws(FerryError) -> String? {
        scope.elementMember(keys, of: variable ?? "")
    }

    mutating func parameter(program: [UInt8]) -> String { scope.parameters.add(.blob(program)) }

    mutating func parameter(_ value: SQLParameter) -> String {
        switch value {
        case .now: scope.parameters.add(.real(now))
        case .constant(let constant): scope.parameters.add(constant.stored.map { Value($0) } ?? .null)
        }
    }
}

/// The value of a destination column in a statement, with what the statement's author knows of it.
struct ColumnValue {
    var sql: String
    /// The stored value that it passes on, which may be of any size; nil where it is computed or a constant.
    var stored: StoredValue?

    /// A value that is computed.
    init(_ sql: String) { self.sql = sql }

    /// A value that is passed on as it is.
    init(_ stored: StoredValue) { (sql, self.stored) = (stored.sql, stored) }
}

/// A value of the source that is passed on, so that it can be copied in pieces.
struct StoredValue {
    var object: SourceScope.Object
    /// Not quoted.
    var column: String
    var mark = PassedValue.Mark.asStored

    /// The value as it is stored.
    var sql: String { "\(object.alias).\(column)" }
}
