internal import FerryBase
internal import FerryMapping
internal import FerryPlan
internal import FerrySQLite

struct KeyRange {
    /// Exclusive.
    var low: Int64
    var high: Int64
    /// How many there are, or of an open range, how many are to be taken.
    var rows: Int64
    var isLast: Bool
    /// Whether it ends where that many rows are taken.
    var isOpen = false

    /// All keys.
    static let all = KeyRange(low: .min, high: .max, rows: 0, isLast: true)
}

extension Statement {
    /// Binds a range as `:low` and `:high`.
    func bind(_ range: KeyRange) throws(DatabaseError) {
        try bind(.integer(range.low), named: ":low")
        try bind(.integer(range.high), named: ":high")
    }
}

/// Decides where the chunks of a table end.
///
/// Walks over the keys of the rows in ranges of a given number of rows.
///
/// Where the keys have no gap, arithmetic gives the boundaries. Else they come from the keys that are there, so that a
/// range holds exactly that many rows however sparse they are. Walking over those keys reads every page once more, so
/// what counts its rows first takes as many keys as it wants rows, and then the next range of what is missing; and what
/// reads rows one by one counts them as it takes them.
struct ChunkRanges {
    private let probe: Statement
    private let rest: Statement
    /// The keys, when each of them is known to be there.
    private let unbroken: ClosedRange<Int64>?
    /// The keys from one end of the table to the other, whoever's they are.
    private let span: ClosedRange<Int64>?

    /// The rows of any table, which is written as in SQL; `key` is the name under which the number of a row is reached.
    init(over table: String, key: String, on connection: Connection) throws(DatabaseError) {
        try self.init(over: table, key: key, numbers: nil, unbroken: nil, span: nil, on: connection)
    }

    /// The source objects of entity mappings that read one table.
    init(of mappings: [ResolvedEntityMapping], in context: StepContext) throws {
        precondition(!mappings.isEmpty, "ranges are those of an entity mapping")
        let table = "source." + (try context.sourceTable(of: mappings[0]))
        guard try context.connection.integer("SELECT min(Z_PK) FROM \(table)") != Self.beginning else {
            throw FerryError(
                .rowFailed, "An object of \(mappings[0].source), or of its table, has the lowest of all keys.",
                remedy: "Give it another Z_PK in a copy of the store, or delete it there.",
                place: .init(entity: mappings[0].source, primaryKey: Self.beginning))
        }
        let numbers = try mappings.map { try context.sourceNumber(of: $0) }
        let unbroken = try Self.unbrokenKeys(of: mappings, table: table, numbers: numbers, in: context)
        try self.init(
            over: table, key: "Z_PK", numbers: numbers, unbroken: unbroken,
            span: unbroken == nil ? try Self.span(of: table, on: context.connection) : nil, on: context.connection)
    }

    private init(
        over table: String, key: String, numbers: [Int64]?, unbroken: ClosedRange<Int64>?, span: ClosedRange<Int64>?,
        on connection: Connection
    ) throws(DatabaseError) {
        self.unbroken = unbroken
        self.span = span
        let condition = Self.condition(numbers)
        probe = try connection.prepare(
            "SELECT \(key) FROM \(table) WHERE \(key) > :low\(condition) ORDER BY \(key) LIMIT 1 OFFSET :skipped")
        rest = try connection.prepare(
            "SELECT count(*), max(\(key)) FROM \(table) WHERE \(key) > :low\(condition)")
        for statement in [probe, rest] { try Self.bind(numbers, to: statement) }
    }

    /// The condition on entities: the index of one entity holds its keys in order, of several only the table does.
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

    /// All keys of the entities, when as many rows were counted as lie between the first and the last one.
    ///
    /// A filtered mapping reads more than it writes, so its rows are always counted by walking over them.
    private static func unbrokenKeys(
        of mappings: [ResolvedEntityMapping], table: String, numbers: [Int64], in context: StepContext
    ) throws -> ClosedRange<Int64>? {
        let plans = context.step.partitions.flatMap(\.entityMappings)
        var rows: Int64 = 0
        for mapping in mappings {
            guard mapping.filter == nil, let plan = plans.first(where: { $0.mapping.position == mapping.position }),
                !plan.isEstimated
            else { return nil }
            rows += plan.rows
        }
        guard rows > 0 else { return nil }
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

    /// The keys of all rows of a table; nil where there are others than Core Data's.
    private static func span(of table: String, on connection: Connection) throws(DatabaseError) -> ClosedRange<Int64>? {
        guard let first = try connection.integer("SELECT min(Z_PK) FROM \(table)"), first > 0,
            let last = try connection.integer("SELECT max(Z_PK) FROM \(table)")
        else { return nil }
        return first...last
    }

    /// When it is known where a chunk ends.
    enum Ends {
        /// Before it is carried.
        case known
        /// When it is carried: that tells how many rows a range of keys had, and a chunk may be two ranges.
        case counted
        /// When it is carried: that takes as many rows as an open range asks for.
        case taken
    }

    /// Carries the next rows after a key, as many as are asked for or as there are.
    ///
    /// `body` carries a range, and gives it back with what it found of its rows and its end; nil when there was none.
    func carry(
        after low: Int64, upTo rows: Int, _ ends: Ends = .known, _ body: (KeyRange) throws -> KeyRange?
    ) throws -> KeyRange? {
        if ends == .taken, unbroken == nil {
            return try body(KeyRange(low: low, high: .max, rows: Int64(rows), isLast: false, isOpen: true))
        }
        guard ends == .counted, let span else { return try next(after: low, rows: rows).flatMap(body) }
        guard let keys = Self.keys(after: low, count: rows, in: span), var range = try body(keys) else { return nil }
        if !range.isLast, range.rows < rows {
            if let rest = try next(after: range.high, rows: rows - Int(range.rows)), let carried = try body(rest) {
                range.rows += carried.rows
                (range.high, range.isLast) = (rest.high, rest.isLast)
            } else {
                range.isLast = true
            }
        }
        return range.rows > 0 ? range : nil
    }

    /// A range of as many keys as are asked for, which holds as many rows or fewer; nil when no key is left.
    private static func keys(after key: Int64, count: Int, in keys: ClosedRange<Int64>) -> KeyRange? {
        let low = max(key, keys.lowerBound - 1)
        guard low < keys.upperBound else { return nil }
        let isLast = keys.upperBound - low <= count
        let high = isLast ? keys.upperBound : low + Int64(count)
        return KeyRange(low: low, high: high, rows: high - low, isLast: isLast)
    }

    /// The next range of at most `rows` rows after a key, or nil when there is none.
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

    /// Before the first key: Core Data counts from 1, but a row of any higher key is a row.
    static let beginning = Int64.min
}
