/// A statement, a file operation or a phase with its time, for tests and `FERRY_TRACE`.
public struct TraceEvent: Sendable {
    public enum Kind: String, Sendable { case statement, file, phase }
    public var kind: Kind
    /// The SQL text with its parameters unbound, or the operation and its path; never a row's values.
    public var text: String
    public var nanoseconds: UInt64

    public init(kind: Kind, text: String, nanoseconds: UInt64) {
        self.kind = kind
        self.text = text
        self.nanoseconds = nanoseconds
    }
}

/// Receives every trace event, on the event's thread.
public typealias TraceHook = @Sendable (TraceEvent) -> Void

/// The phases of a run, in their order; any version may add phases.
#if hasAttribute(nonexhaustive)
    @nonexhaustive
#endif
public enum Phase: String, Sendable, Hashable, CaseIterable, Codable {
    case preflight
    case snapshot
    case rows
    case relationships
    case indexes
    case verify
    case swap
    case cleanUp
}

/// The progress of a phase.
public struct ProgressUpdate: Sendable, Hashable, Codable {
    public var phase: Phase
    /// The current entity mapping, table or file.
    public var subject: String?
    /// The finished rows; bytes in a snapshot, pages in a swap; `total` is nil while unknown.
    public var done: Int64
    public var total: Int64?
    /// The finished part of the whole call, from 0 to 1; nil while unknown.
    public var fraction: Double?
    /// The estimated time to the end of the call; nil while unknown.
    public var timeLeft: Duration?
    /// The statement of a step in place that runs now.
    package var statement: StatementPlace?

    /// The place of a statement in a transaction.
    package struct StatementPlace: Sendable, Hashable, Codable {
        /// The number of lists of statements before its own: a step, or a part of one, has a list.
        package var list: Int
        /// 0 is the preparation.
        package var index: Int
        package var count: Int

        package init(list: Int, index: Int, count: Int) { (self.list, self.index, self.count) = (list, index, count) }
    }

    public init(phase: Phase, subject: String? = nil, done: Int64 = 0, total: Int64? = nil) {
        self.phase = phase
        self.subject = subject
        self.done = done
        self.total = total
    }
}

extension ProgressUpdate: CustomStringConvertible {
    public var description: String {
        let of = total.map { " of \($0.grouped)" } ?? ""
        let part = fraction.map { " (\(Int($0 * 100))% of all)" } ?? ""
        return "\(phase)" + (subject.map { " of \($0)" } ?? "") + ": \(done.grouped)\(of)\(part)"
    }
}

/// Receives progress on the working thread.
public typealias ProgressHook = @Sendable (ProgressUpdate) -> Void
