internal import FerryPlan
internal import FerrySQLite

/// Counts the rows that a mapping's statement drops, where it drops them: the filter is evaluated once.
///
/// Exclusivity checks are off, as in ``KeyCounter``.
final class DropCounter {
    @exclusivity(unchecked) private var dropped: Int64 = 0

    /// Registers the function that the statements of a mapping call.
    init(of sql: MappingSQL, on connection: Connection) throws(DatabaseError) {
        try connection.register(sql.droppingFunction, arguments: -1, deterministic: false) { [self] _, result in
            dropped += 1
            result.set(Int64(0))
        }
    }

    /// The rows dropped since the last call.
    func take() -> Int64 {
        defer { dropped = 0 }
        return dropped
    }
}
