internal import FerryBase
internal import FerryMapping
internal import FerryPlan
internal import FerrySQLite

struct KeyRange {
    /// Exclusive.
    var low: Int64
    var high: Int64
    var rows: Int64
    var isLast: Bool

    static let all = KeyRange(low: .min, high: .max, rows: 0, isLast: true)
}

extension Statement {
    func bind(_ range: KeyRange) throws(DatabaseError) {
        try bind(.integer(range.low), named: ":low")
        try bind(.integer(range.high), named: ":high")
    }
}

/// Divides the keys of a table into ranges of a given number of rows, the chunks.
///
/// If the keys have no gaps, arithmetic gives the boundaries. Otherwise a query over the existing keys gives them, so a
/// range holds exactly that many rows.
struct ChunkRanges {
    private let probe: Statement
    private let rest: Statement
    /// The keys, if there is a row for each of them.
    private let unbroken: ClosedRange<Int64>?

    /// Ranges over any table, named as in SQL.
    init(over table: String, on connection: Connection) throws(DatabaseError) {
        try self.init(over: table, numbers: nil, unbroken: nil, on: connection)
    }

    /// Ranges over the source objects of entity mappings that read one table.
    init(of mappings: [ResolvedEntityMapping], in context: StepContext) throws {
        precondition(!mappings.isEmpty, "ranges are those of an entity mapping")
        let table = "source." + (try context.sql.sourceTable(of: mappings[0]))
        guard try context.connection.integer("SELECT min(Z_PK) FROM \(table)") != Self.beginning else {
            throw FerryError(
                .rowFailed, "An object of \(mappings[0].source), or of its table, has the lowest possible key.",
                remedy: "Change its Z_PK in a copy of the store, or delete it there.",
                place: .init(entity: mappings[0].source, primaryKey: Self.beginning))
        }
        let numbers = try mappings.map { try context.sql.sourceNumber(of: $0) }
        let unbroken = try Self.unbrokenKeys(of: mappings, table: table, numbers: numbers, in: context)
        try self.init(over: table, numbers: numbers, unbroken: unbroken, on: context.connection)
    }

    private init(
        over table: String, numbers: [Int64]?, unbroken: ClosedRange<Int64>?, on connection: Connection
    ) throws(DatabaseError) {
        self.unbroken = unbroken
        let condition = Self.condition(numbers)
        probe = try connection.prepare(
            "SELECT rowid FROM \(table) WHERE rowid > :low\(condition) ORDER BY rowid LIMIT 1 OFFSET :skipped")
        rest = try connection.prepare(
            "SELECT count(*), max(rowid) FROM \(table) WHERE rowid > :low\(condition)")
        for statement in [probe, rest] { try Self.bind(numbers, to: statement) }
    }

    /// The condition on entities: the index on `Z_ENT` has one entity's keys in order, the table those of several.
    private static func condition(_ numbers: [Int64]?) -> String {
        guard let numbers else { return "" }
        if numbers.count == 1 { return " AND Z_ENT = :n0" }
        return " AND +Z_ENT IN (\(numbers.indices.map { ":n\($0)" }.joined(separator: ", ")))"
    }

    private static func bind(_ numbers: [Int64]?, to statement: Statement) throws(DatabaseError) {
        for (index, number) in (numbers ?? []).enumerated() {
            try statement.bind(.integer(number), named: ":n\(index)")
        }
    }

    /// The lowest and highest key of the entities, if the number of rows equals the number of keys between them.
    ///
    /// A filtered mapping reads more rows than it writes, so its ranges always come from queries.
    private static func unbrokenKeys(
        of mappings: [ResolvedEntityMapping], table: String, numbers: [Int64], in context: StepContext
    ) throws -> ClosedRange<Int64>? {
        guard mappings.allSatisfy({ $0.filter == nil }), let rows = context.rows(of: mappings), rows > 0 else {
            return nil
        }
        let end = { (name: String) throws -> Int64? in
            let statement = try context.connection.prepare(
                "SELECT \(name)(Z_PK) FROM \(table) WHERE Z_PK > :low\(condition(numbers))")
            try statement.bind(.integer(beginning), named: ":low")
            try bind(numbers, to: statement)
            return try statement.step() ? statement.value(0).integer : nil
        }
        guard let first = try end("min"), let last = try end("max"), first > 0, last - first == rows - 1 else {
            return nil
        }
        return first...last
    }

    /// A range of `count` keys, which holds as many rows or fewer; nil if no key is left.
    private static func keys(after key: Int64, count: Int, in keys: ClosedRange<Int64>) -> KeyRange? {
        let low = max(key, keys.lowerBound - 1)
        guard low < keys.upperBound else { return nil }
        let isLast = keys.upperBound - low <= count
        let high = isLast ? keys.upperBound : low + Int64(count)
        return KeyRange(low: low, high: high, rows: high - low, isLast: isLast)
    }

    /// The next range of at most `rows` rows after a key, or nil if there is no row.
    func next(after key: Int64, rows: Int) throws -> KeyRange? {
        if let unbroken { return Self.keys(after: key, count: rows, in: unbroken) }
        try probe.bind(.integer(key), named: ":low")
        try probe.bind(.integer(Int64(rows - 1)), named: ":skipped")
        if try probe.step() {
            let high = probe.integer(0)
            probe.reset()
            return KeyRange(low: key, high: high, rows: Int64(rows), isLast: false)
        }
        try rest.bind(.integer(key), named: ":low")
        defer { rest.reset() }
        guard try rest.step(), rest.integer(0) > 0 else { return nil }
        return KeyRange(low: key, high: rest.integer(1), rows: rest.integer(0), isLast: true)
    }

    /// The key below all keys: Core Data counts from 1, but a row may have any higher key than this.
    static let beginning = Int64.min
}
