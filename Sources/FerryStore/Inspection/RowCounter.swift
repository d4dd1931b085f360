internal import FerrySQLite

struct RowCounter {
    let connection: Connection
    let counting: StoreInspection.Counting

    /// Below this range of keys a count is as fast as an estimate.
    private static let smallRange: Int64 = 20_000
    /// The probed rows of an estimate, for a table of several entities and of a single entity.
    private static let probes = (ofSeveral: 1_000, ofOne: 32)

    /// Returns rows by entity number; `expected` has the valid numbers, if they are known.
    func count(
        _ table: EntityTable, expected: [Int64] = []
    ) throws(DatabaseError) -> (rows: [Int64: Int64], isEstimated: Bool) {
        let name = SQLName.quoted("main", table.name)
        let range = try range(of: name)
        if counting.tables?.contains(table.name) != false || range.last - range.first < RowCounter.smallRange {
            if expected.count == 1, let rows = try count(name, number: expected[0]) {
                return ([expected[0]: rows], false)
            }
            var rows: [Int64: Int64] = [:]
            for row in try connection.rows("SELECT Z_ENT, count(*) FROM \(name) GROUP BY Z_ENT") {
                rows[row[0].integer ?? 0] = row[1].integer ?? 0
            }
            return (rows, false)
        }
        let total = min(range.last - range.first + 1, try maximumRows())
        let shares = try shares(
            of: name, range, probes: expected.count == 1 ? RowCounter.probes.ofOne : RowCounter.probes.ofSeveral)
        let seen = max(1, shares.values.reduce(0, +))
        return (shares.mapValues { Int64(Double(total) * Double($0) / Double(seen)) }, true)
    }

    /// Returns the rows of a table with one entity, by one scan; nil if the table has other entities.
    ///
    /// Only tables of several entities have an index on `Z_ENT`; without an index, GROUP BY would sort every row.
    private func count(_ name: String, number: Int64) throws(DatabaseError) -> Int64? {
        let counts = try connection.rows("SELECT count(*), sum(Z_ENT = ?) FROM \(name)", [.integer(number)]).first
        let (all, own) = (counts?.first?.integer ?? 0, counts?.last?.integer ?? 0)
        return all == own ? own : nil
    }

    func count(join table: JoinTable) throws(DatabaseError) -> (rows: Int64, isEstimated: Bool) {
        let name = SQLName.quoted("main", table.name)
        let range = try range(of: name)
        if counting.tables?.contains(table.name) != false || range.last - range.first < RowCounter.smallRange {
            return (try connection.integer("SELECT count(*) FROM \(name)") ?? 0, false)
        }
        return (min(range.last - range.first + 1, try maximumRows()), true)
    }

    private func range(of name: String) throws(DatabaseError) -> (first: Int64, last: Int64) {
        // Two statements: SQLite reads one end of the b-tree for each, but scans the table for both together.
        let first = try connection.integer("SELECT min(rowid) FROM \(name)")
        let last = try connection.integer("SELECT max(rowid) FROM \(name)")
        guard let first, let last else { return (1, 0) }
        // The difference of extreme keys would overflow; no table has half as many rows.
        let (width, isTooWide) = last.subtractingReportingOverflow(first)
        return isTooWide || width > Int64.max >> 1 ? (last - (Int64.max >> 1), last) : (first, last)
    }

    /// An upper bound of the file's rows, so that gaps between keys do not count as rows.
    private func maximumRows() throws(DatabaseError) -> Int64 {
        // A row has at least 6 bytes.
        max(1, try connection.contentBytes() / 6)
    }

    private func shares(
        of name: String, _ range: (first: Int64, last: Int64), probes: Int
    ) throws(DatabaseError) -> [Int64: Int64] {
        let probe = try connection.prepare("SELECT Z_ENT FROM \(name) WHERE Z_PK >= ? ORDER BY Z_PK LIMIT 1")
        let width = UInt64(range.last - range.first) + 1
        var shares: [Int64: Int64] = [:]
        for step in 0..<probes {
            // Multiples of the golden ratio spread evenly, independent of patterns in the rows.
            let fraction = UInt64(step) &* 0x9E37_79B9_7F4A_7C15
            try probe.bind(range.first + Int64(fraction.multipliedFullWidth(by: width).high), at: 1)
            if try probe.step() { shares[probe.integer(0), default: 0] += 1 }
            probe.reset()
        }
        return shares
    }
}
