internal import FerryBase
internal import FerryMapping
internal import FerrySQLite

/// Carries the rows of an entity mapping that finds an object by its values or creates it.
///
/// One statement reads the rows and calls a function for each, which looks the values up and gives the next key where
/// nothing has them. The new objects' rows are written in between, a few hundred at a time, while the pages that they
/// come from are still in the cache. Once objects are on disk alone, rows are gathered first and looked for together.
final class FindOrCreate {
    private let lookup: ObjectLookup
    private let fresh = FreshObjects()
    private let find: Statement
    private let batch: FoundBatch
    private let gather: Statement
    /// Records the associations of a batch.
    private let associate: Statement?
    private let insert: Statement
    private let link = Link()
    /// The last key that was given out.
    private var last: Int64 = 0
    private var rows: Int64 = 0

    /// What the functions of a connection know of an executor that may be gone.
    private final class Link { unowned(unsafe) var executor: FindOrCreate? }

    init(_ sql: RowStatements) throws {
        let connection = sql.context.connection
        lookup = try sql.lookup()
        // Rows that wait for another thread are none here.
        batch = FoundBatch(bytes: sql.context.options.memory.queue)
        let function = "ferry_find_\(sql.mapping.position)"
        let table = "ferry_fresh_\(sql.mapping.position)"
        try connection.register(table: table, columns: FreshObjects.columns, argumentCount: 0) { [fresh] in
            fresh.cursor()
        }
        try connection.register(function, arguments: 3 + sql.mapping.unique.count, deterministic: false) {
            [link] arguments, result in
            guard let executor = link.executor else { return }
            result.set(try executor.object(arguments))
        }
        let (gathering, found) = ("ferry_gather_\(sql.mapping.position)", "ferry_found_\(sql.mapping.position)")
        try connection.register(table: found, columns: FoundBatch.columns, argumentCount: 0) { [batch] in
            batch.cursor()
        }
        try connection.register(gathering, arguments: 3 + sql.mapping.unique.count, deterministic: false) {
            [link] arguments, _ in try link.executor?.gather(arguments)
        }
        gather = try sql.find(by: gathering, associates: false).prepare(on: connection)
        associate =
            sql.context.isAssociated(sql.mapping)
            ? try connection.prepare(
                """
                INSERT INTO \(ScratchDatabase.association(of: sql.mapping)) (source, element, object, destination)
                SELECT source, element, object, destination FROM \(found)
                """) : nil
        // It runs many times within one statement.
        associate?.isSilent = true
        insert = try sql.freshRows(from: table).prepare(on: connection)
        find = try sql.find(by: function, associates: sql.context.isAssociated(sql.mapping)).prepare(on: connection)
        link.executor = self
    }

    deinit {
        link.executor = nil
        batch.free()
    }

    /// Carries the rows of a range.
    ///
    /// - Parameters:
    ///   - range: The source's keys.
    ///   - last: The key before the first new one.
    /// - Returns: Objects that were created, and rows for which one was found.
    /// - Throws: ``DatabaseError``, and what our functions throw.
    func carry(_ range: KeyRange, after last: Int64) throws -> (written: Int64, merged: Int64) {
        try lookup.begin(after: last)
        fresh.removeAll()
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

    /// The object that has the values of a row, found or to be created.
    private func object(_ arguments: borrowing FunctionArguments) throws -> Int64 {
        rows += 1
        if let known = try lookup.find(arguments, from: 3) { return known }
        return try create(
            arguments.integer(0), arguments.integer(1), object: arguments.isNull(2) ? nil : arguments.integer(2))
    }

    /// Gives a row to the batch.
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

    /// Creates an object with the values that were looked for last.
    private func create(_ source: Int64, _ element: Int64, object: Int64?) throws -> Int64 {
        if fresh.isFull {
            // It counts to the statement that is running.
            insert.isSilent = true
            try insert.run()
            fresh.removeAll()
        }
        last += 1
        try lookup.add(last)
        guard fresh.add(.init(destination: last, source: source, element: element, object: object)) else {
            throw FerryError(
                .internalError, "The rows of a find-or-create mapping do not come in the order of their keys.")
        }
        return last
    }
}

/// New objects whose rows are not written yet, and where their values were found first.
private final class FreshObjects {
    static let columns = ["destination", "source", "element", "object"]
    private static let limit = 256

    struct Object {
        var destination: Int64
        var source: Int64
        var element: Int64
        /// The key of an element that is an object.
        var object: Int64?
    }

    private var objects: [Object] = []

    init() { objects.reserveCapacity(Self.limit) }

    var isFull: Bool { objects.count == Self.limit }

    func removeAll() { objects.removeAll(keepingCapacity: true) }

    /// - Returns: Whether the object comes after the ones before.
    func add(_ object: Object) -> Bool {
        if let last = objects.last, last.source > object.source { return false }
        objects.append(object)
        return true
    }

    func cursor() -> any TableCursor { Cursor(self) }

    private final class Cursor: TableCursor {
        private let fresh: FreshObjects
        private var place = -1

        init(_ fresh: FreshObjects) { self.fresh = fresh }

        func start(_ arguments: borrowing FunctionArguments) { place = -1 }

        func next() -> Bool {
            place += 1
            return place < fresh.objects.count
        }

        func column(_ index: Int, _ result: inout FerrySQLite.FunctionResult) {
            let object = fresh.objects[place]
            switch index {
            case 0: result.set(object.destination)
            case 1: result.set(object.source)
            case 2: result.set(object.element)
            default: if let key = object.object { result.set(key) }
            }
        }
    }
}
