internal import FerrySQLite

/// A range of row numbers: above one, up to another one.
struct KeyRange: Sendable, Hashable {
    var above: Int64 = .min
    var through: Int64 = .max

    static let all = KeyRange()

    /// What begins with a row.
    static func from(_ key: Int64) -> KeyRange { KeyRange(above: key > .min ? key - 1 : .min) }

    /// Below this a range of its own costs more than it brings: preparing statements, and the way down to its first row.
    private static let leastKeys: UInt64 = 1 << 15
    /// So that what is kept of each range does not grow with the rows, and enough that no walker waits long at the end.
    private static let mostParts: UInt64 = 64

    /// The lowest and the highest key of a table, whose name stands with its database's.
    static func keys(
        of table: String, numberedBy key: String = "Z_PK", on connection: Connection
    ) throws -> (lowest: Int64, highest: Int64) {
        // Asked for in one query, SQLite would look at every row.
        let (lowest, highest) = (
            try connection.integer("SELECT min(\(key)) FROM \(table)"),
            try connection.integer("SELECT max(\(key)) FROM \(table)")
        )
        return (lowest ?? 0, highest ?? 0)
    }

    /// SQL that holds for the rows of this range.
    func condition(on key: String) -> String {
        let bounds = [
            above > .min ? "\(key) > \(above)" : nil, through < .max ? "\(key) <= \(through)" : nil,
        ].compactMap { $0 }
        return bounds.isEmpty ? "1" : bounds.joined(separator: " AND ")
    }

    /// Ranges that together hold every key up to a last one, in order.
    ///
    /// - Parameters:
    ///   - lowest: The lowest key that there is, as a rule.
    ///   - highest: The highest one.
    ///   - last: What the last range ends with.
    /// - Returns: One range at least.
    static func parts(from lowest: Int64, through highest: Int64, last: Int64) -> [KeyRange] {
        let highest = min(highest, last)
        guard lowest < highest else { return [KeyRange(through: last)] }
        let span = UInt64(bitPattern: highest &- lowest)
        let count = max(1, min(span / leastKeys, mostParts))
        let bounds = (1..<count).map { lowest &+ Int64(bitPattern: span / count * $0) }
        return zip([.min] + bounds, bounds + [last]).map { KeyRange(above: $0, through: $1) }
    }
}
