internal import FerryBase
internal import FerryMapping
internal import FerryPlan
internal import FerrySQLite

/// Copies the rows of one entity mapping by prepared `INSERT … SELECT` statements, a chunk of keys at a time.
final class SetExecutor: MappingExecutor {
    private let context: StepContext
    private let mapping: ResolvedEntityMapping
    /// Nil if objects keep their keys.
    private let keys: NewKeys?
    private let body: Body
    /// Nil if the mapping drops no rows.
    private let drops: DropCounter?
    private let counter: KeyCounter?
    /// Whether a range's rows are the mapping's objects.
    private let hasRowsOfRange: Bool

    private enum Body {
        case plain(rows: Statement, associations: Statement?)
        case findOrCreate(FindOrCreate)
    }

    /// `sharesRanges`: the ranges also hold objects of other entities.
    init(_ mapping: ResolvedEntityMapping, in context: StepContext, sharesRanges: Bool) throws {
        self.context = context
        self.mapping = mapping
        hasRowsOfRange = mapping.iteration == nil && !sharesRanges
        keys = mapping.keepsPrimaryKey ? nil : try NewKeys(of: mapping.destination, in: context)
        let connection = context.connection
        let sql = MappingSQL(mapping, in: context.sql)
        counter =
            mapping.isOneToOne && !mapping.keepsPrimaryKey
            ? try KeyCounter(mapping, by: mapping, on: connection) : nil
        let isAssociated = context.isAssociated(mapping)
        drops = sql.dropsRows ? try DropCounter(of: sql, on: connection) : nil
        if mapping.unique.isEmpty {
            body = .plain(
                rows: try sql.rows().prepare(on: connection, now: context.options.now),
                associations: isAssociated
                    ? try sql.associations().prepare(on: connection, now: context.options.now) : nil)
        } else {
            body = .findOrCreate(try FindOrCreate(sql, in: context))
        }
    }

    var writesScratch: Bool { context.isAssociated(mapping) || !mapping.unique.isEmpty }

    func carry(_ range: KeyRange) throws -> ChunkOutcome {
        var outcome = ChunkOutcome()
        // A chunk that failed may have left some.
        _ = drops?.take()
        let last = try keys?.last() ?? 0
        switch body {
        case .plain(let rows, let associations):
            if let associations { try run(associations, range, last: last) }
            outcome.written = try run(rows, range, last: last)
        case .findOrCreate(let executor):
            (outcome.written, outcome.merged) = try executor.carry(range, after: last)
        }
        outcome.dropped = drops?.take() ?? 0
        // Each row of an unfiltered mapping creates or finds an object; verification counts the rows of the source.
        outcome.read =
            drops != nil && hasRowsOfRange ? range.rows : outcome.written + outcome.merged + outcome.dropped
        return outcome
    }

    @discardableResult
    private func run(_ statement: Statement, _ range: KeyRange, last: Int64) throws -> Int64 {
        try statement.bind(range)
        try statement.bind(.integer(last), named: ":last")
        counter?.begin(after: last)
        try statement.run()
        return context.connection.changes
    }
}

/// Copies the rows of an entity mapping with `unique`, which finds an object by its values or creates one.
///
/// One statement reads the rows and calls a function for each, which looks up the values, and gives the next key if no
/// object has them. A second statement writes the new objects' rows, a few hundred at a time, while the cache has their
/// source pages. If older objects are on disk only, the executor looks rows up in batches.
final class FindOrCreate {
    private let lookup: ObjectLookup
    /// New objects whose rows are not yet written, and the source rows of their values.
    private let newObjects = FoundBatch(limit: FindOrCreate.newObjectLimit)
    private let find: Statement
    private let batch: FoundBatch
    private let gather: Statement
    private let associate: Statement?
    private let insert: Statement
    private let owner = Owner<FindOrCreate>()
    /// The highest key so far.
    private var last: Int64 = 0
    /// Few enough that the cache still holds their source pages.
    private static let newObjectLimit = 256
    private var rows: Int64 = 0

    init(_ sql: MappingSQL, in context: StepContext) throws {
        let connection = context.connection
        lookup = try ObjectLookup.of(sql.mapping, in: context)
        // A set executor has no read-ahead thread, so the queue's memory is free.
        batch = FoundBatch(bytes: context.options.memory.queue)
        let (function, table) = (sql.findFunction, sql.newObjects)
        try connection.register(table: table, columns: FoundBatch.columns, argumentCount: 0) { [newObjects] in
            newObjects.cursor()
        }
        try connection.register(function, arguments: 3 + sql.mapping.unique.count, deterministic: false) {
            [owner] arguments, result in
            guard let executor = owner.object else { return }
            result.set(try executor.object(arguments))
        }
        let (gathering, found) = ("ferry_gather_\(sql.mapping.position)", "ferry_found_\(sql.mapping.position)")
        try connection.register(table: found, columns: FoundBatch.columns, argumentCount: 0) { [batch] in
            batch.cursor()
        }
        try connection.register(gathering, arguments: 3 + sql.mapping.unique.count, deterministic: false) {
            [owner] arguments, _ in try owner.object?.gather(arguments)
        }
        gather = try sql.find(by: gathering, associates: false)
            .prepare(on: connection, now: context.options.now)
        associate =
            context.isAssociated(sql.mapping)
            ? try connection.prepare(
                """
                \(ScratchTables.insertion(intoAssociationOf: sql.mapping))
                SELECT source, element, object, destination FROM \(found)
                """) : nil
        // Runs many times within one statement.
        associate?.isSilent = true
        insert = try sql.newObjectRows(from: table).prepare(on: connection, now: context.options.now)
        find = try sql.find(by: function, associates: context.isAssociated(sql.mapping))
            .prepare(on: connection, now: context.options.now)
        owner.object = self
    }

    deinit {
        owner.object = nil
        batch.free()
    }

    /// Copies the rows of a range; returns the numbers of created objects, and of rows for which an object was found.
    func carry(_ range: KeyRange, after last: Int64) throws -> (written: Int64, merged: Int64) {
        try lookup.begin(after: last)
        newObjects.removeAll()
        (self.last, rows) = (last, 0)
        batch.removeAll()
        let reading = lookup.isOnDisk ? gather : find
        try reading.bind(range)
        try reading.run()
        try endBatch()
        insert.isSilent = false
        try insert.run()
        return (self.last - last, rows - (self.last - last))
    }

    private func object(_ arguments: borrowing FunctionArguments) throws -> Int64 {
        rows += 1
        if let known = try lookup.find(arguments, from: 3) { return known }
        return try create(
            arguments.integer(0), arguments.integer(1), object: arguments.isNull(2) ? nil : arguments.integer(2))
    }

    private func gather(_ arguments: borrowing FunctionArguments) throws {
        rows += 1
        batch.add(
            FoundBatch.Row(
                source: arguments.integer(0), element: arguments.integer(1),
                object: arguments.isNull(2) ? nil : arguments.integer(2), hash: lookup.hash(of: arguments, from: 3)))
        if batch.isFull { try endBatch() }
    }

    private func endBatch() throws {
        guard !batch.rows.isEmpty else { return }
        try lookup.find(batch) { row in try create(row.source, row.element, object: row.object) }
        try associate?.run()
        batch.removeAll()
    }

    /// Creates an object with the values of the last search.
    private func create(_ source: Int64, _ element: Int64, object: Int64?) throws -> Int64 {
        if newObjects.isFull {
            // Runs as a part of the current statement.
            insert.isSilent = true
            try insert.run()
            newObjects.removeAll()
        }
        last += 1
        try lookup.add(last)
        guard newObjects.rows.last.map({ $0.source <= source }) ?? true else {
            throw FerryError(
                .internalError, "The rows of a find-or-create mapping do not come in the order of their keys.")
        }
        var row = FoundBatch.Row(source: source, element: element, object: object, hash: .init((0, 0)))
        row.destination = last
        newObjects.add(row)
        return last
    }
}

/// Source rows with the keys of their new objects, readable as a virtual table.
///
/// A batch lookup reads the tables on disk in the order of their hashes. The size is fixed: if far more objects are on
/// disk than in memory, a batch reads each page once, instead of once for each row.
package final class FoundBatch {
    private let limit: Int

    static let columns = ["source", "element", "object", "destination"]

    package struct Row {
        /// Means no key: no object has the lowest key.
        private static let none = ChunkRanges.beginning

        package var source: Int64
        var element: Int64
        var hash: ObjectHashTable.Hash
        private var objectKey: Int64
        private var destinationKey = Row.none

        /// The key of an element that is an object.
        var object: Int64? { objectKey == Self.none ? nil : objectKey }
        /// The key of the object that was found or created.
        package internal(set) var destination: Int64? {
            get { destinationKey == Self.none ? nil : destinationKey }
            set { destinationKey = newValue ?? Self.none }
        }

        package init(source: Int64, element: Int64, object: Int64?, hash: ObjectHashTable.Hash) {
            (self.source, self.element, self.hash, objectKey) = (source, element, hash, object ?? Self.none)
        }
    }

    package private(set) var rows: [Row] = []
    private var wanted: [Int32] = []

    package init(limit: Int) { self.limit = limit }

    /// A batch within `bytes` for the rows and their order; more than 2 MiB are of little use.
    convenience init(bytes: Int) {
        self.init(
            limit: max(1, min(bytes, 2 << 20) / (MemoryLayout<Row>.stride + MemoryLayout<Int32>.stride)))
    }

    package var isFull: Bool { rows.count >= limit }

    package func add(_ row: Row) {
        if rows.capacity < limit {
            rows.reserveCapacity(limit)
            wanted.reserveCapacity(limit)
        }
        rows.append(row)
    }

    func set(_ destination: Int64, at index: Int) { rows[index].destination = destination }

    package func removeAll() { rows.removeAll(keepingCapacity: true) }

    /// Frees the memory: the connection keeps the objects that its functions capture.
    func free() { (rows, wanted) = ([], []) }

    /// Sets the keys of objects that `find` returns, called in the order of the hashes.
    func search(
        where isWanted: (ObjectHashTable.Hash) -> Bool, _ find: (ObjectHashTable.Hash) throws -> Int64?
    ) rethrows {
        wanted.removeAll(keepingCapacity: true)
        for index in rows.indices where isWanted(rows[index].hash) { wanted.append(Int32(index)) }
        wanted.sort { rows[Int($0)].hash < rows[Int($1)].hash }
        for index in wanted { rows[Int(index)].destination = try find(rows[Int(index)].hash) }
    }

    func cursor() -> any TableCursor { Cursor(self) }

    private final class Cursor: TableCursor {
        private let batch: FoundBatch
        private var place = -1

        init(_ batch: FoundBatch) { self.batch = batch }

        func start(_ arguments: borrowing FunctionArguments) { place = -1 }

        func next() -> Bool {
            place += 1
            return place < batch.rows.count
        }

        func column(_ index: Int, _ result: inout FerrySQLite.FunctionResult) {
            let row = batch.rows[place]
            switch index {
            case 0: result.set(row.source)
            case 1: result.set(row.element)
            case 2: if let object = row.object { result.set(object) }
            default: if let destination = row.destination { result.set(destination) }
            }
        }
    }
}
