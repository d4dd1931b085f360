package import FerryBase

/// The kinds of work of a migration, which take different times for a byte.
package enum WorkKind: Sendable {
    /// Pages: copies, snapshots and swaps.
    case pages
    case statement
    case rowsInSwift
    /// Indexes, and what else is sorted.
    case sort
    case verification

    /// The nanoseconds for a byte that is read or written, on a machine of usual speed.
    var nanoseconds: Double {
        switch self {
        case .pages: 1.5
        case .statement, .verification: 4.5
        case .rowsInSwift, .sort: 12
        }
    }
}

/// A piece of a run's work, with the name that its progress reports have.
package struct WorkItem: Sendable {
    var phase: Phase
    /// Nil for work that belongs to no step.
    var step: Int?
    var subject: String?
    /// The time that it takes on a machine of usual speed.
    var seconds: Double
    /// The rows that its reports count, where they do not say of how many; 0 if unknown.
    var rows: Double
    /// Whether it is a statement of a transaction, which reports its place.
    package var isStatement = false

    /// Work that reads and writes so many bytes.
    package init(
        _ phase: Phase, step: Int? = nil, _ subject: String? = nil, _ kind: WorkKind, bytes: Double, rows: Double = 0
    ) {
        (self.phase, self.step, self.subject, self.rows) = (phase, step, subject, rows)
        seconds = max(0, bytes) * kind.nanoseconds / 1e9
    }
}

extension [WorkItem] {
    var seconds: Double { reduce(0) { $0 + $1.seconds } }
}
