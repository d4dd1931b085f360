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
