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

    func bind(to statement: Statement) throws(DatabaseError) {
        for (name, value) in values { try statement.bind(value, named: name) }
    }
}

/// The statements of a mapping that finds an object by its values or creates it.
extension MappingSQL {
    /// Reads the rows of the range in order and gives each to a function.
    ///
    /// The function takes the source's key, the element's number and key, and the values of `unique`. Where it
    /// `associates`, it says which object the row became, and the statement records that.
    func find(by function: String, associates: Bool) throws(FerryError) -> BoundSQL {
        // Without other indexes the rows come by their keys, and nothing has to be sorted after the function was called.
        var scope = try scope(notIndexed: true)
        let values = try uniqueValues(in: &scope)
        let place = ["s.Z_PK", elementNumber(in: scope), scope.elementKey ?? "NULL"]
        // The elements of a JSON array come in their order by themselves: the outer loop is over keys, and the inner one
        // has no other way to go. Related objects have to be sorted before the function sees them.
        let isInOrder = mapping.iteration == nil || scope.jsonElements != nil
        let names = isInOrder ? place + values : ["source", "element", "object"] + values.indices.map { "v\($0)" }
        var (with, from) = ("", "\(scope.from)\(scope.where) ORDER BY s.Z_PK")
        if !isInOrder {
            // A limit keeps SQLite from leaving out the order.
            let all = scope.parameters.add(.integer(-1))
            with = """
                WITH elements (\(names.joined(separator: ", "))) AS MATERIALIZED (
                    SELECT \((place + values).joined(separator: ", ")) FROM \(scope.from)\(scope.where)
                    ORDER BY \(scope.order) LIMIT \(all))

                """
            from = "elements"
        }
        let call = "\(function)(\(names.joined(separator: ", ")))"
        if associates { with += ScratchDatabase.insertion(intoAssociationOf: mapping) + "\n" }
        let selected = (associates ? names.prefix(3) + [call] : [call]).joined(separator: ", ")
        return BoundSQL(text: "\(with)SELECT \(selected) FROM \(from)", parameters: scope.parameters)
    }

    /// The new objects' rows, with the values of the first source object.
    ///
    /// `fresh` is a table-valued function that gives their keys, and where each was found first.
    func freshRows(from fresh: String) throws(FerryError) -> BoundSQL {
        let table = try context.sourceTable(of: mapping)
        var scope = scope(from: "\(fresh) AS f CROSS JOIN source.\(table) AS s ON s.Z_PK = f.source")
        if let iteration = mapping.iteration {
            if let entity = IterationPath.entity(of: mapping, in: context.source.model) {
                scope.join("CROSS JOIN \(try scope.table(of: entity)) AS e ON e.Z_PK = f.object")
                scope.bind(iteration.variable, to: .init(alias: "e", entity: entity))
            } else {
                try add(iteration, filtered: true, to: &scope)
                scope.require("\(scope.elementOrder ?? "NULL") = f.element")
            }
        }
        let one = scope.parameters.add(.integer(1))
        let text = try insert(key: "f.destination", version: one, from: &scope)
        return BoundSQL(text: text, parameters: scope.parameters)
    }

    /// What the lookup of each of a step's mappings keeps in memory.
    private static func lookupBytes(_ memory: MemoryBudget, finders: Int) -> Int {
        memory.lookups / 4 * 3 / max(1, finders)
    }

    /// The objects that certainly fit into it.
    static func objectsInMemory(_ memory: MemoryBudget, finders: Int) -> Int64 {
        // Slots are a power of two of 24 bytes, and an eighth of them stays free.
        Int64(lookupBytes(memory, finders: finders) / 24 / 2 / 8 * 7)
    }

    /// The lookup of the mapping's `unique`; a row whose values are too large for its chunk has one of its own.
    func lookup(ofLargeRows isLarge: Bool = false) throws -> ObjectLookup {
        var columns: [(name: String, affinity: ColumnAffinity)] = []
        for name in mapping.unique {
            guard let column = context.destination.column(of: name, in: mapping.destination) else {
                throw FerryError(.internalError, "The new store has no column for \(mapping.destination).\(name).")
            }
            columns.append((column.name, .init(declaredType: column.type)))
        }
        // SQLite keeps its functions until the connection closes, so all of a step's mappings share; a quarter is for
        // the filters.
        let mappings = context.step.resolved.entityMappings
        let bytes = Self.lookupBytes(context.options.memory, finders: mappings.count { !$0.unique.isEmpty })
        let name = ScratchDatabase.lookup(of: mapping.destination, by: mapping.unique)
        return try ObjectLookup(
            name, of: "main.\(context.destinationTable(of: mapping))", number: context.destinationNumber(of: mapping),
            columns: columns, key: ScratchDatabase.key(ofLookup: name, on: context.connection),
            id: mapping.position + (isLarge ? mappings.count : 0), known: ObjectHashTable(bytes: bytes),
            on: context.connection)
    }
}
