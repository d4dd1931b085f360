package import FerryBase
internal import FerryModel
package import FerrySQLite

/// Counts rows, exactly or from a bounded number of probes.
struct RowCounter {
    let connection: Connection
    let isExact: Bool
    /// Has counted the rows of some tables.
    var walk: PageWalk?

    /// Below this range of keys a count is as quick as an estimate.
    private static let smallRange: Int64 = 20_000
    /// Rows looked at to estimate how the entities of a hierarchy share their table, and in one of a single entity.
    private static let probes = (ofSeveral: 1_000, ofOne: 32)

    /// Rows by entity number; `expected` are the numbers that they should have, as far as they are known.
    func count(
        _ table: EntityTable, expected: [Int64] = []
    ) throws(DatabaseError) -> (rows: [Int64: Int64], isEstimated: Bool) {
        if let tally = walk?.tallies[table.name] { return (tally.rows, false) }
        let name = SQLName.quoted("main", table.name)
        let range = try range(of: name)
        if isExact || range.last - range.first < RowCounter.smallRange {
            if expected.count == 1, let rows = try count(name, number: expected[0]) {
                return ([expected[0]: rows], false)
            }
            var rows: [Int64: Int64] = [:]
            for row in try connection.rows("SELECT Z_ENT, count(*) FROM \(name) GROUP BY Z_ENT") {
                rows[row[0].integer ?? 0] = row[1].integer ?? 0
            }
            return (rows, false)
        }
        let total = min(range.last - range.first + 1, try mostRows())
        let shares = try shares(
            of: name, range, probes: expected.count == 1 ? RowCounter.probes.ofOne : RowCounter.probes.ofSeveral)
        let seen = max(1, shares.values.reduce(0, +))
        return (shares.mapValues { Int64(Double(total) * Double($0) / Double(seen)) }, true)
    }

    /// The rows of a table that holds one entity, in one scan; nil when it holds others too.
    ///
    /// Only tables of several entities have an index of their numbers; without one, grouping would sort every row.
    private func count(_ name: String, number: Int64) throws(DatabaseError) -> Int64? {
        let counts = try connection.rows("SELECT count(*), sum(Z_ENT = ?) FROM \(name)", [.integer(number)]).first
        let (all, own) = (counts?.first?.integer ?? 0, counts?.last?.integer ?? 0)
        return all == own ? own : nil
    }

    func count(join table: JoinTable) throws(DatabaseError) -> (rows: Int64, isEstimated: Bool) {
        if let rows = walk?.rows[table.name] { return (rows, false) }
        let name = SQLName.quoted("main", table.name)
        let range = try range(of: name)
        if isExact || range.last - range.first < RowCounter.smallRange {
            return (try connection.integer("SELECT count(*) FROM \(name)") ?? 0, false)
        }
        return (min(range.last - range.first + 1, try mostRows()), true)
    }

    private func range(of name: String) throws(DatabaseError) -> (first: Int64, last: Int64) {
        // Two statements: SQLite answers each from one end of the b-tree, but both together by a scan.
        let first = try connection.integer("SELECT min(rowid) FROM \(name)")
        let last = try connection.integer("SELECT max(rowid) FROM \(name)")
        guard let first, let last else { return (1, 0) }
        // Keys near both ends of all numbers would overflow a difference; no table has half as many rows.
        let (width, isTooWide) = last.subtractingReportingOverflow(first)
        return isTooWide || width > Int64.max >> 1 ? (last - (Int64.max >> 1), last) : (first, last)
    }

    /// More rows than the file can hold: keys far apart must not pass for rows.
    private func mostRows() throws(DatabaseError) -> Int64 {
        // A row takes 6 bytes at least.
        max(1, try connection.contentBytes() / 6)
    }

    private func shares(
        of name: String, _ range: (first: Int64, last: Int64), probes: Int
    ) throws(DatabaseError) -> [Int64: Int64] {
        let probe = try connection.prepare("SELECT Z_ENT FROM \(name) WHERE Z_PK >= ? ORDER BY Z_PK LIMIT 1")
        let width = UInt64(range.last - range.first) + 1
        var shares: [Int64: Int64] = [:]
        for step in 0..<probes {
            // Multiples of the golden ratio spread evenly and keep no step with a pattern in the rows.
            let fraction = UInt64(step) &* 0x9E37_79B9_7F4A_7C15
            try probe.bind(range.first + Int64(fraction.multipliedFullWidth(by: width).high), at: 1)
            if try probe.step() { shares[probe.integer(0), default: 0] += 1 }
            probe.reset()
        }
        return shares
    }
}

/// Counts the rows of exactly one entity that have no value in a column.
package struct EmptyValues {
    private let table: String
    private let number: Int64
    private let connection: Connection

    /// The table's name is not quoted, and the store `main`.
    package init(in table: String, of number: Int64, on connection: Connection) {
        (self.table, self.number, self.connection) = (table, number, connection)
    }

    /// The condition that a column is empty, or any of several.
    package static func condition(_ columns: [String]) -> String {
        columns.map { "\(Connection.quoted($0)) IS NULL" }.joined(separator: " OR ")
    }

    /// SQL of a sum over rows.
    ///
    /// As the condition of a CASE, unlike as a value, a test for NULL does not read what it tests.
    static func sum(where condition: String) -> String { "ifnull(sum(CASE WHEN \(condition) THEN 1 ELSE 0 END), 0)" }

    package func rows(without column: String) throws(DatabaseError) -> Int64 {
        try connection.integer(
            "SELECT count(*) FROM \(Connection.quoted(table)) WHERE Z_ENT = ? AND \(Self.condition([column]))",
            [.integer(number)]) ?? 0
    }

    /// The numbers of rows without a value in each column, counted in one scan; and behind them that of the rows in which
    /// any of `together` is empty.
    package func rows(without columns: [String], together: [String]) throws(DatabaseError) -> [Int64] {
        let conditions = columns.map { Self.condition([$0]) } + [together.isEmpty ? "0" : Self.condition(together)]
        let sums = conditions.map { Self.sum(where: $0) }
        let found = try connection.rows(
            "SELECT \(sums.joined(separator: ", ")) FROM \(Connection.quoted(table)) WHERE Z_ENT = ?",
            [.integer(number)])
        return (found.first ?? []).map { $0.integer ?? 0 }
    }
}

extension PageWalk {
    /// Walks over the pages of a store, counts the rows of each entity and the values that they lack, and notes the keys of
    /// its relationships; nil where only SQLite can check the pages.
    ///
    /// The connection must be in a transaction such as ``PageReader`` requires.
    package init?(
        of layout: StoreLayout, on connection: Connection, stop: StopRequest = StopRequest()
    ) throws(DatabaseError) {
        let keys = layout.keyColumns
        try self.init(
            connection,
            counting: layout.tablesInOrder.map { table in
                Counted(table: table.name, column: "Z_ENT", keys: Array(keys[table.name] ?? []))
            }
                + layout.joinTables.map {
                    Counted(table: $0.name, column: nil, keys: [$0.firstColumn, $0.secondColumn])
                },
            stop: stop)
    }

    /// Rows of exactly one entity in which an attribute is empty; nil where that was not counted.
    package func emptyRows(_ column: String, of entity: Int64, in table: String) -> Int64? {
        tallies[table]?.empty(column, of: entity)
    }
}
