#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// Signals that would end the process where a failed write is enough.
///
/// A reader of the output that goes away must not end a migration, and a limit on the size of files is to be reported
/// as a volume that is full is: `write` then fails with EPIPE or EFBIG.
enum IgnoredSignals {
    private static let signals = [SIGPIPE, SIGXFSZ]

    /// Ignores them for the rest of the process's life, and in processes that it starts.
    static func ignore() { for number in signals { _ = signal(number, SIG_IGN) } }
}
