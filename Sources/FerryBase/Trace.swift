/// What happens below the surface, for tests and `--trace`: each statement and each file operation.
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

/// Receives every trace event, on the thread where it happened.
public typealias TraceHook = @Sendable (TraceEvent) -> Void

/// The phases of a run, in their order; there may be more in a later version.
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

/// How far a phase has come.
public struct ProgressUpdate: Sendable, Hashable, Codable {
    public var phase: Phase
    /// The entity mapping, table or file at work.
    public var subject: String?
    /// Rows done so far, or bytes while a snapshot is taken; `total` is nil while unknown.
    public var done: Int64
    public var total: Int64?
    /// How much of the whole call is done, from 0 to 1; nil while it is not known.
    public var fraction: Double?
    /// The time to the end of the call at the speed so far; nil while it is not known.
    public var timeLeft: Duration?

    public init(phase: Phase, subject: String? = nil, done: Int64 = 0, total: Int64? = nil) {
        self.phase = phase
        self.subject = subject
        self.done = done
        self.total = total
    }
}

/// Receives progress on the thread that does the work.
public typealias ProgressHook = @Sendable (ProgressUpdate) -> Void
