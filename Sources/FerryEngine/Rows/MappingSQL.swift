internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// Writes the SQL that carries one entity mapping's rows over a range of source keys.
///
/// The range is bound as `:low` (exclusive) and `:high`, the key before the first new one as `:last`.
struct MappingSQL {
    let context: StepContext
    let mapping: ResolvedEntityMapping

    init(_ mapping: ResolvedEntityMapping, in context: StepContext) {
        (self.context, self.mapping) = (context, mapping)
    }

    // MARK: What is read

    /// A statement that begins with a table, in which the source object of the mapping is `s`.
    func scope(from table: String, parameters: Parameters = Parameters()) -> SourceScope {
        var scope = SourceScope(
            mapping.expressionScope(in: context.source.model), from: table, of: context.source,
            now: context.options.now)
        scope.parameters = parameters
        return scope
    }

    /// The source objects of the mapping in the range, one row per element of the iteration.
    ///
    /// `filtered`: only what the filter lets through (and, of skipped JSON, what is valid). `notIndexed`: the objects
    /// must come in the order of their keys. `parameters`: what the statement is bound to already.
    func scope(
        filtered: Bool = true, notIndexed: Bool = false, parameters: Parameters = Parameters()
    ) throws(FerryError) -> SourceScope {
        var scope = scope(
            from: "source.\(try context.sourceTable(of: mapping)) AS s\(notIndexed ? " NOT INDEXED" : "")",
            parameters: parameters)
        scope.require("s.Z_PK > :low AND s.Z_PK <= :high")
        scope.require("s.Z_ENT = \(scope.parameters.add(.integer(try context.sourceNumber(of: mapping))))")
        if let iteration = mapping.iteration { try add(iteration, filtered: filtered, to: &scope) }
        if filtered, let filter = mapping.filter { scope.require(try condition(filter, in: &scope)) }
        return scope
    }

    func add(
        _ iteration: EntityMapping.Iteration, filtered: Bool, to scope: inout SourceScope
    ) throws(FerryError) {
        if case .json(let text, let key) = iteration.elements {
            let alias = scope.newAlias("e")
            let paths = ":paths_\(alias)"
            scope.parameters.set(paths, .blob(JSONElements.encode([])))
            let arguments = [
                try value(text, in: &scope), scope.parameters.add(.text(key)),
                scope.parameters.add(.integer(iteration.skipsInvalid ? 1 : 0)), paths,
            ]
            scope.join("CROSS JOIN \(JSONElements.name)(\(arguments.joined(separator: ", "))) AS \(alias)")
            scope.jsonElements = JSONElementTable(alias: alias, paths: paths)
            scope.elementOrder = "\(alias).ordinal"
            // An invalid text that is skipped gives one row without an ordinal: it is read and dropped.
            if filtered, iteration.skipsInvalid { scope.require("\(alias).ordinal IS NOT NULL") }
            return
        }
        if !iteration.elements.isPath {
            let object = try join(iteration.elements, to: &scope)
            scope.bind(iteration.variable, to: object)
            scope.elementKey = object.key
            return
        }
        guard let names = IterationPath.relationships(of: iteration.elements), let last = names.last else {
            throw FerryError(
                .badExpression, "Entity mapping \(mapping.name) iterates over something that is no relationship.",
                remedy: "Use a relationship of $source, or JSON($source.attribute, 'key').",
                place: .init(entityMapping: mapping.name))
        }
        let start = try scope.follow(Array(names.dropLast()), from: scope.source)
        let element = try scope.expand(
            last, from: start, isSound: context.program.damage.isSound(last, of: start.entity))
        scope.bind(iteration.variable, to: element.object)
        scope.elementOrder = element.order
        scope.elementKey = element.object.key
    }

    // MARK: What is written

    /// The destination columns that the mapping sets, with the SQL of their values.
    func columns(in scope: inout SourceScope) throws(FerryError) -> [(column: String, value: ColumnValue)] {
        var columns: [(column: String, value: ColumnValue)] = []
        for column in context.program.columns[mapping.position] {
            columns.append((column.name, try value(of: column.source, in: &scope)))
        }
        for (assignment, contribution) in context.program.inline(of: mapping) {
            columns += try keys(of: assignment, contribution, in: &scope)
        }
        return columns
    }

    /// The statement that writes one row whose values are bound: key, entity number, version, then the columns.
    func insert(columns: [String]) throws(FerryError) -> String {
        let names = ["Z_PK", "Z_ENT", "Z_OPT"] + columns
        let values = names.indices.map { "?\($0 + 1)" }
        return """
            INSERT INTO main.\(try context.destinationTable(of: mapping)) (\(names.joined(separator: ", ")))
            VALUES (\(values.joined(separator: ", ")))
            """
    }

    func insert(key: String, version: String, from scope: inout SourceScope) throws(FerryError) -> String {
        let columns = try columns(in: &scope)
        let number = scope.parameters.add(.integer(try context.destinationNumber(of: mapping)))
        let names = ["Z_PK", "Z_ENT", "Z_OPT"] + columns.map(\.column)
        let values = [key, number, version] + columns.map(\.value.sql)
        return """
            INSERT INTO main.\(try context.destinationTable(of: mapping)) (\(names.joined(separator: ", ")))
            SELECT \(values.joined(separator: ", ")) FROM \(scope.from)\(scope.where)
            """
    }

    /// Rows that keep their keys, or get new ones in order.
    func rows() throws(FerryError) -> BoundSQL {
        var scope = try scope(notIndexed: comesByKey)
        let keepsKey = mapping.keepsPrimaryKey
        let version = keepsKey ? "s.Z_OPT" : scope.parameters.add(.integer(1))
        let text = try insert(key: keepsKey ? "s.Z_PK" : newKey(in: scope), version: version, from: &scope)
        return BoundSQL(text: text, parameters: scope.parameters)
    }

    /// The association of each new object, with the same keys in the same order as ``rows()``.
    func associations() throws(FerryError) -> BoundSQL {
        let scope = try scope(notIndexed: comesByKey)
        let element = elementNumber(in: scope)
        return BoundSQL(
            text: """
                \(ScratchDatabase.insertion(intoAssociationOf: mapping))
                SELECT s.Z_PK, \(element), \(scope.elementKey ?? "NULL"), \(newKey(in: scope))
                FROM \(scope.from)\(scope.where)
                """, parameters: scope.parameters)
    }

    /// How many objects and elements there are in the range, before the filter or behind it.
    func count(filtered: Bool = false) throws(FerryError) -> BoundSQL {
        let scope = try scope(filtered: filtered)
        return BoundSQL(text: "SELECT count(*) FROM \(scope.from)\(scope.where)", parameters: scope.parameters)
    }

    /// What tells the elements of one source object apart, in their order.
    func elementNumber(in scope: SourceScope) -> String {
        guard mapping.iteration != nil else { return "TRUE" }
        if scope.jsonElements != nil, let ordinal = scope.elementOrder { return ordinal }
        return "row_number() OVER (PARTITION BY s.Z_PK ORDER BY \(scope.order))"
    }

    /// Whether no index that suits the filter may be taken, so that the objects come in the order of their keys.
    private var comesByKey: Bool { !mapping.keepsPrimaryKey && mapping.isOneToOne && mapping.filter != nil }

    /// The next key for each row; what comes in the order of its keys by itself is counted.
    private func newKey(in scope: SourceScope) -> String {
        // A filter that follows a relationship lets SQLite begin with the objects at its end.
        guard mapping.isOneToOne, scope.readsOneTable else {
            return ":last + row_number() OVER (ORDER BY \(scope.order))"
        }
        return KeyCounter.call(mapping, by: mapping, at: scope.source)
    }
}

/// A statement's text and the values it is bound to.
struct BoundSQL {
    var text: String
    var parameters: Parameters

    func prepare(on connection: Connection) throws(DatabaseError) -> Statement {
        let statement = try connection.prepare(text)
        try parameters.bind(to: statement)
        return statement
    }
}

/// The values that a statement's SQL is bound to: no value is ever written into the SQL text.
struct Parameters {
    private(set) var values: [(name: String, value: Value)] = []
    /// Places of values with a name of their own, which no equal value shares.
    private var named: Set<Int> = []

    /// Adds a value and returns the parameter that stands for it.
    mutating func add(_ value: Value) -> String {
        if let known = values.indices.first(where: { values[$0].value == value && !named.contains($0) }) {
            return values[known].name
        }
        let name = ":v\(values.count)"
        values.append((name, value))
        return name
    }

    /// Gives a parameter of its own name a value, instead of any that it had.
    mutating func set(_ name: String, _ value: Value) {
        if let known = values.firstIndex(where: { $0.name == name }) {
            values[known].value = value
        } else {
            named.insert(values.count)
            values.append((name, value))
        }
    }

    /// Binds all values; they stay bound through every run of the statement.
    func bind(to statement: Statement) throws(DatabaseError) {
        for (name, value) in values { try statement.bind(value, named: name) }
    }
}
