internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

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

/// The objects that are found by the values of `unique`, one after another.
final class UniqueObjects {
    private let lookup: ObjectLookup
    private let search: Statement
    /// What is bound from each row; all else stays bound.
    private let cells: [CellBinding]

    /// `values`: where packed rows have the values; nil for large rows, for which ``find(in:at:)`` is asked.
    init(_ sql: MappingSQL, _ values: [RowValue]?) throws {
        let lookup = try sql.lookup(ofLargeRows: values == nil)
        self.lookup = lookup
        let (connection, count) = (sql.context.connection, sql.mapping.unique.count)
        let function = "ferry_seek_\(lookup.id)"
        try connection.register(function, arguments: count, deterministic: false) {
            [owner = lookup.owner] arguments, result in
            if let key = try owner.object?.find(arguments, from: 0) { result.set(key) }
        }
        search = try connection.prepare(
            "SELECT \(function)(\((1...count).map { "?\($0)" }.joined(separator: ", ")))")
        search.isSilent = true
        cells = try search.bindConstants(of: values ?? [], from: 1)
    }

    /// Makes sure that all objects are known; to be called first in each unit.
    func begin(after last: Int64) throws { try lookup.begin(after: last) }

    /// The object that has the values of a row, if there is one.
    func find(_ row: PackedRow) throws -> Int64? {
        try search.bind(cells, of: row)
        return try found()
    }

    /// The object that has the values in some columns of a statement's current row, if there is one.
    func find(in statement: Statement, at columns: Range<Int>) throws -> Int64? {
        for (index, column) in columns.enumerated() {
            try search.bind(column: column, of: statement, at: index + 1)
        }
        return try found()
    }

    private func found() throws -> Int64? {
        defer { search.reset() }
        return try search.step() && !search.isNull(0) ? search.integer(0) : nil
    }

    /// Makes a new object known by the values that were looked for last.
    func add(_ destination: Int64) throws { try lookup.add(destination) }
}
