internal import FerryBase
internal import FerryMapping
internal import FerryPlan
internal import FerrySQLite

/// Walks over the keys of one source entity in ranges of a given number of rows.
///
/// Where the keys have no gap, arithmetic gives the boundaries. Else they come from the keys that are there, so that a
/// range holds exactly that many rows however sparse they are.
struct KeyRanges {
    private let probe: Statement
    private let rest: Statement
    /// The keys, when each of them is known to be there.
    private let unbroken: ClosedRange<Int64>?

    struct Range {
        /// Exclusive.
        var low: Int64
        var high: Int64
        var rows: Int64
        var isLast: Bool
    }

    init(of mapping: ResolvedEntityMapping, in context: StepContext) throws {
        let table = try context.sourceTable(of: mapping)
        let number = try context.sourceNumber(of: mapping)
        probe = try context.connection.prepare(
            "SELECT Z_PK FROM source.\(table) WHERE Z_PK > ?1 AND Z_ENT = ?2 ORDER BY Z_PK LIMIT 1 OFFSET ?3")
        rest = try context.connection.prepare(
            "SELECT count(*), max(Z_PK) FROM source.\(table) WHERE Z_PK > ?1 AND Z_ENT = ?2")
        try probe.bind(number, at: 2)
        try rest.bind(number, at: 2)
        unbroken = try Self.unbrokenKeys(of: mapping, table: table, number: number, in: context)
    }

    /// All keys of the entity, when as many rows were counted as lie between the first and the last one.
    ///
    /// A filtered mapping reads more than it writes, so its rows are always counted by walking over them.
    private static func unbrokenKeys(
        of mapping: ResolvedEntityMapping, table: String, number: Int64, in context: StepContext
    ) throws -> ClosedRange<Int64>? {
        let plans = context.step.partitions.flatMap(\.entityMappings)
        guard mapping.filter == nil,
            let plan = plans.first(where: { $0.mapping.position == mapping.position }), !plan.isEstimated, plan.rows > 0
        else { return nil }
        let end = { (name: String) in
            try context.connection.integer(
                "SELECT \(name)(Z_PK) FROM source.\(table) WHERE Z_ENT = ?", [.integer(number)])
        }
        guard let first = try end("min"), let last = try end("max"), first > 0, last - first == plan.rows - 1 else {
            return nil
        }
        return first...last
    }

    /// The next range of at most `rows` rows after a key, or nil when there is none.
    func next(after key: Int64, rows: Int) throws -> Range? {
        if let unbroken {
            let low = max(key, unbroken.lowerBound - 1)
            guard low < unbroken.upperBound else { return nil }
            let high = min(unbroken.upperBound, low + Int64(rows))
            return Range(low: low, high: high, rows: high - low, isLast: high == unbroken.upperBound)
        }
        try probe.bind(key, at: 1)
        try probe.bind(Int64(rows - 1), at: 3)
        if try probe.step() {
            let high = probe.integer(0)
            probe.reset()
            return Range(low: key, high: high, rows: Int64(rows), isLast: false)
        }
        try rest.bind(key, at: 1)
        defer { rest.reset() }
        guard try rest.step(), rest.integer(0) > 0 else { return nil }
        return Range(low: key, high: rest.integer(1), rows: rest.integer(0), isLast: true)
    }

    /// Before the first key: Core Data counts from 1, but a row of any key is a row.
    static let beginning = Int64.min
}
