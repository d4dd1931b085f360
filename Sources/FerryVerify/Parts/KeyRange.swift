internal import FerrySQLite

/// A range of keys, above a lower bound, up to and including an upper one.
struct KeyRange: Sendable, Hashable {
    var above: Int64 = .min
    var through: Int64 = .max

    static let all = KeyRange()

    /// Fewer keys cost more than they save: preparing statements, and the path down to the first row.
    private static let leastKeys: UInt64 = 1 << 13
    /// The statements of wide rows take longer to prepare.
    private static let leastWideKeys: UInt64 = 1 << 9
    /// Rows of so many columns count once, wider ones as often as they have as many.
    private static let columnsOfKey = 32
    /// Limits the outcomes kept in memory; enough parts that no walker is idle for long at the end.
    private static let mostParts: UInt64 = 64

    func condition(on key: String) -> String {
        let bounds = [
            above > .min ? "\(key) > \(above)" : nil, through < .max ? "\(key) <= \(through)" : nil,
        ].compactMap { $0 }
        return bounds.isEmpty ? "1" : bounds.joined(separator: " AND ")
    }

    /// Consecutive ranges that together hold every key of a table, whose name includes its schema, up to a last one, each
    /// with the name of its part: at least one, and more if the keys of the table, or the key to reach, are many, or rows of
    /// so many columns are read.
    static func parts(
        _ name: String, of table: String, columns: Int = 1, numberedBy key: String = "Z_PK",
        reaching reached: Int64 = .min, last: Int64 = .max, on connection: Connection
    ) throws -> [(name: String, range: KeyRange)] {
        // In one query, SQLite would scan every row.
        let lowest = try connection.integer("SELECT min(\(key)) FROM \(table)") ?? 0
        let highest = try connection.integer("SELECT max(\(key)) FROM \(table)") ?? 0
        let end = min(max(highest, reached), last)
        let span = lowest < end ? UInt64(bitPattern: end &- lowest) : 0
        let width = UInt64(max(1, columns / columnsOfKey))
        let count = max(1, min(span / max(leastWideKeys, leastKeys / width), mostParts))
        let bounds = (1..<count).map { lowest &+ Int64(bitPattern: span / count * $0) }
        return zip([.min] + bounds, bounds + [last]).enumerated().map { number, bounds in
            ("\(name):\(number)", KeyRange(above: bounds.0, through: bounds.1))
        }
    }
}
