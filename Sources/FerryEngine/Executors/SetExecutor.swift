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
    let drops: DropCounter?
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
            ? try KeyCounter(mapping, by: sql, on: connection) : nil
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

    /// Nil without `unique`.
    var lookup: ObjectLookup? { if case .findOrCreate(let executor) = body { executor.lookup } else { nil } }

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
/// source pages.
final class FindOrCreate {
    let lookup: ObjectLookup
    private let newObjects = NewObjects()
    private let find: Statement
    private let insert: Statement
    private let owner = Owner<FindOrCreate>()
    /// The highest key so far.
    private var last: Int64 = 0
    private var rows: Int64 = 0

    /// Few enough that the cache still holds their source pages.
    private static let newObjectLimit = 256

    init(_ sql: MappingSQL, in context: StepContext) throws {
        let connection = context.connection
        lookup = try ObjectLookup.of(sql.mapping, in: context)
        let table = sql.newObjects
        try connection.register(table: table, columns: NewObjects.columns, argumentCount: 0) { [newObjects] in
            NewObjects.Cursor(newObjects)
        }
        try connection.register(sql.findFunction, arguments: 3 + sql.mapping.unique.count, deterministic: false) {
            [owner] arguments, result in
            guard let executor = owner.object else { return }
            result.set(try executor.object(arguments))
        }
        insert = try sql.newObjectRows(from: table).prepare(on: connection, now: context.options.now)
        find = try sql.find(associates: context.isAssociated(sql.mapping))
            .prepare(on: connection, now: context.options.now)
        owner.object = self
    }

    deinit { owner.object = nil }

    /// Copies the rows of a range; returns the numbers of created objects, and of rows for which an object was found.
    func carry(_ range: KeyRange, after last: Int64) throws -> (written: Int64, merged: Int64) {
        try lookup.begin(after: last)
        newObjects.rows.removeAll(keepingCapacity: true)
        (self.last, rows) = (last, 0)
        try find.bind(range)
        try find.run()
        insert.isSilent = false
        try insert.run()
        return (self.last - last, rows - (self.last - last))
    }

    private func object(_ arguments: borrowing FunctionArguments) throws -> Int64 {
        rows += 1
        return try lookup.find(arguments, from: 3) ?? create(arguments)
    }

    /// Creates an object with the values of the last search.
    private func create(_ arguments: borrowing FunctionArguments) throws -> Int64 {
        if newObjects.rows.count >= Self.newObjectLimit {
            // Runs as a part of the current statement.
            insert.isSilent = true
            try insert.run()
            newObjects.rows.removeAll(keepingCapacity: true)
        }
        last += 1
        try lookup.add(last)
        let row = NewObjects.Row(
            source: arguments.integer(0), element: arguments.integer(1),
            object: arguments.isNull(2) ? nil : arguments.integer(2), destination: last)
        guard newObjects.rows.last.map({ $0.source <= row.source }) ?? true else {
            throw FerryError(
                .internalError, "The rows of a find-or-create mapping do not come in the order of their keys.")
        }
        newObjects.rows.append(row)
        return last
    }
}

/// New objects whose rows are not yet written, with the source rows of their values, readable as a virtual table.
private final class NewObjects {
    static let columns = ["source", "element", "object", "destination"]

    struct Row {
        var source: Int64
        var element: Int64
        /// The key of an element that is an object.
        var object: Int64?
        var destination: Int64
    }

    var rows: [Row] = []

    final class Cursor: TableCursor {
        private let objects: NewObjects
        private var place = -1

        init(_ objects: NewObjects) { self.objects = objects }

        func start(_ arguments: borrowing FunctionArguments) { place = -1 }

        func next() -> Bool {
            place += 1
            return place < objects.rows.count
        }

        func column(_ index: Int, _ result: inout FerrySQLite.FunctionResult) {
            let row = objects.rows[place]
            switch index {
            case 0: result.set(row.source)
            case 1: result.set(row.element)
            case 2: if let object = row.object { result.set(object) }
            default: result.set(row.destination)
            }
        }
    }
}
