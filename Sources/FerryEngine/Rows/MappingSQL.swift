internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// Writes the SQL that copies one entity mapping's rows over a range of source keys.
///
/// The range is bound as `:low` (exclusive) and `:high`, the highest key so far as `:last`.
struct MappingSQL {
    let context: StepContext
    let mapping: ResolvedEntityMapping

    init(_ mapping: ResolvedEntityMapping, in context: StepContext) {
        (self.context, self.mapping) = (context, mapping)
    }

    // MARK: Reading

    /// A statement over a table, in which `s` is the source object of the mapping.
    func scope(from table: String, parameters: Parameters = Parameters()) -> SourceScope {
        var scope = SourceScope(
            mapping.expressionScope(in: context.source.model), from: table, of: context.source,
            now: context.options.now)
        scope.valueIndexes = context.valueIndexes
        scope.parameters = parameters
        return scope
    }

    /// The source objects of the mapping in the range, with one row for each element of the iteration.
    ///
    /// `filtered`: only rows that match the filter, and no rows of skipped JSON. `notIndexed`: the rows must come in
    /// the order of their keys. `parameters`: existing bindings.
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

    /// Adds the objects or elements over which the mapping iterates.
    ///
    /// `inPieces`: whether a stored JSON text is read in pieces, for a statement that scans each text once.
    func add(
        _ iteration: EntityMapping.Iteration, filtered: Bool, inPieces: Bool = true, to scope: inout SourceScope
    ) throws(FerryError) {
        if case .json(let text, let key) = iteration.elements {
            let alias = scope.newAlias("e")
            let paths = ":paths_\(alias)"
            scope.parameters.set(paths, .blob(JSONElements.encode([])))
            var (document, place) = (try value(text, in: &scope), ["NULL", "NULL", "NULL"])
            if inPieces, let stored = try stored(text, in: &scope),
                let table = context.source.table(of: stored.object.entity)
            {
                // Only the type is read here; the function reads the text in pieces.
                let isText = "typeof(\(stored.sql)) IN ('text', 'blob')"
                document = "CASE WHEN \(isText) THEN NULL ELSE \(stored.sql) END"
                place = [
                    "CASE WHEN \(isText) THEN \(stored.object.alias).Z_PK END", scope.parameters.add(.text(table.name)),
                    scope.parameters.add(.text(stored.column)),
                ]
            }
            let arguments =
                [
                    document, scope.parameters.add(.text(key)),
                    scope.parameters.add(.integer(iteration.skipsInvalid ? 1 : 0)), paths,
                ] + place
            scope.join("CROSS JOIN \(JSONElements.name)(\(arguments.joined(separator: ", "))) AS \(alias)")
            scope.jsonElements = JSONElementTable(alias: alias, paths: paths)
            scope.elementOrder = "\(alias).ordinal"
            // A skipped invalid text gives one row without an ordinal: that row is counted and dropped.
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
                .badExpression, "Entity mapping \(mapping.name) iterates over something that is not a relationship.",
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

    // MARK: Writing

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

    /// The INSERT of one row with bound values: key, entity number, version, then the columns.
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

    /// The statement that writes the rows of a mapping without `unique`.
    func rows() throws(FerryError) -> BoundSQL {
        var scope = try scope(notIndexed: comesByKey)
        let keepsKey = mapping.keepsPrimaryKey
        let version = keepsKey ? "s.Z_OPT" : scope.parameters.add(.integer(1))
        let text = try insert(key: keepsKey ? "s.Z_PK" : newKey(in: scope), version: version, from: &scope)
        return BoundSQL(text: text, parameters: scope.parameters)
    }

    /// The statement that writes the associations, with the same keys in the same order as ``rows()``.
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

    /// Counts the objects and elements in the range after the filter.
    func count() throws(FerryError) -> BoundSQL {
        let scope = try scope()
        return BoundSQL(text: "SELECT count(*) FROM \(scope.from)\(scope.where)", parameters: scope.parameters)
    }

    /// Counts the objects and elements in the range before the filter, and those that it drops.
    func countDropped() throws(FerryError) -> BoundSQL {
        var scope = try scope(filtered: false)
        var conditions: [String] = []
        if mapping.iteration?.skipsInvalid == true, let order = scope.elementOrder {
            conditions.append("\(order) IS NOT NULL")
        }
        if let filter = mapping.filter { conditions.append("(\(try condition(filter, in: &scope)))") }
        let dropped =
            conditions.isEmpty ? "FALSE" : "(\(conditions.joined(separator: " AND "))) IS NOT TRUE"
        let text = "SELECT count(*), count(*) FILTER (WHERE \(dropped)) FROM \(scope.from)\(scope.where)"
        return BoundSQL(text: text, parameters: scope.parameters)
    }

    func elementNumber(in scope: SourceScope) -> String {
        guard mapping.iteration != nil else { return "TRUE" }
        if scope.jsonElements != nil, let ordinal = scope.elementOrder { return ordinal }
        return "row_number() OVER (PARTITION BY s.Z_PK ORDER BY \(scope.order))"
    }

    /// Whether a filtered mapping counts its keys, so that SQLite must not use an index for the filter.
    private var comesByKey: Bool { !mapping.keepsPrimaryKey && mapping.isOneToOne && mapping.filter != nil }

    /// SQL of the next key for each row; rows that come in the order of their keys are counted.
    private func newKey(in scope: SourceScope) -> String {
        // With a filter over a relationship, SQLite may begin with the related objects.
        guard mapping.isOneToOne, scope.readsOneTable else {
            return ":last + row_number() OVER (ORDER BY \(scope.order))"
        }
        return KeyCounter.call(mapping, by: mapping, at: scope.source)
    }
}

struct BoundSQL {
    var text: String
    var parameters: Parameters

    func prepare(on connection: Connection) throws(DatabaseError) -> Statement {
        let statement = try connection.prepare(text)
        try parameters.bind(to: statement)
        return statement
    }
}

/// The parameters of a statement: SQL text never contains a value.
struct Parameters {
    private(set) var values: [(name: String, value: Value)] = []
    /// Indexes of values with a fixed name, which equal values do not share.
    private var named: Set<Int> = []

    mutating func add(_ value: Value) -> String {
        if let known = values.indices.first(where: { values[$0].value == value && !named.contains($0) }) {
            return values[known].name
        }
        let name = ":v\(values.count)"
        values.append((name, value))
        return name
    }

    /// Sets the value of a parameter with a fixed name, and replaces a former value.
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

extension MappingSQL {
    /// Reads the rows of the range in order and calls a function for each.
    ///
    /// The function takes the source key, the number and the key of the element, and the values of `unique`. With
    /// `associates`, it returns the key of the object, and the statement writes the association.
    func find(by function: String, associates: Bool) throws(FerryError) -> BoundSQL {
        // With NOT INDEXED, SQLite reads rows in the order of their keys, and sorts nothing after the function calls.
        var scope = try scope(notIndexed: true)
        let values = try uniqueValues(in: &scope)
        let place = ["s.Z_PK", elementNumber(in: scope), scope.elementKey ?? "NULL"]
        // The elements of a JSON array come in order: the outer loop is over keys, and a virtual table has one scan
        // order. Related objects must be sorted before the function calls.
        let isInOrder = mapping.iteration == nil || scope.jsonElements != nil
        let names = isInOrder ? place + values : ["source", "element", "object"] + values.indices.map { "v\($0)" }
        var (with, from) = ("", "\(scope.from)\(scope.where) ORDER BY s.Z_PK")
        if !isInOrder {
            // LIMIT keeps SQLite from removing the ORDER BY.
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

    /// The statement that writes new objects' rows; `objects` is a virtual table of their keys and first source rows.
    func newObjectRows(from objects: String) throws(FerryError) -> BoundSQL {
        let table = try context.sourceTable(of: mapping)
        var scope = scope(from: "\(objects) AS f CROSS JOIN source.\(table) AS s ON s.Z_PK = f.source")
        if let iteration = mapping.iteration {
            if let entity = IterationPath.entity(of: mapping, in: context.source.model) {
                scope.join("CROSS JOIN \(try scope.table(of: entity)) AS e ON e.Z_PK = f.object")
                scope.bind(iteration.variable, to: .init(alias: "e", entity: entity))
            } else {
                // This statement scans the text once for each new object, and pieces would be read each time.
                try add(iteration, filtered: true, inPieces: false, to: &scope)
                scope.require("\(scope.elementOrder ?? "NULL") = f.element")
            }
        }
        let one = scope.parameters.add(.integer(1))
        let text = try insert(key: "f.destination", version: one, from: &scope)
        return BoundSQL(text: text, parameters: scope.parameters)
    }

    /// Bytes of memory for the lookup of each mapping with `unique`.
    private static func lookupBytes(_ memory: MemoryBudget, finders: Int) -> Int {
        memory.lookups / 4 * 3 / max(1, finders)
    }

    /// The number of objects that fit into memory in any case.
    static func objectsInMemory(_ memory: MemoryBudget, finders: Int) -> Int64 {
        // Slots are a power of two of 24 bytes, and an eighth of them stays free.
        Int64(lookupBytes(memory, finders: finders) / 24 / 2 / 8 * 7)
    }

    /// The lookup of the mapping's `unique`; rows with values too large for their chunk use a separate one.
    func lookup(ofLargeRows isLarge: Bool = false) throws -> ObjectLookup {
        var columns: [(name: String, affinity: ColumnAffinity)] = []
        for name in mapping.unique {
            guard let column = context.destination.column(of: name, in: mapping.destination) else {
                throw FerryError(.internalError, "The new store has no column for \(mapping.destination).\(name).")
            }
            columns.append((column.name, .init(declaredType: column.type)))
        }
        // SQLite keeps functions until the connection closes, so all mappings share the memory; filters have a quarter.
        let mappings = context.step.resolved.entityMappings
        let bytes = Self.lookupBytes(context.options.memory, finders: mappings.count { !$0.unique.isEmpty })
        let name = ScratchDatabase.lookup(for: mapping)
        return try ObjectLookup(
            name, of: "main.\(context.destinationTable(of: mapping))", number: context.destinationNumber(of: mapping),
            columns: columns, nilIsEqual: mapping.nilIsEqual,
            key: ScratchDatabase.key(ofLookup: name, on: context.connection),
            id: mapping.position + (isLarge ? mappings.count : 0), known: ObjectHashTable(bytes: bytes),
            on: context.connection)
    }
}
