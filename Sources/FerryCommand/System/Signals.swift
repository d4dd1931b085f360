internal import FerryBase

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// Turns Ctrl-C and SIGTERM into a request to stop after the unit at work; the second one ends the process at once.
///
/// The signals are blocked for all threads and taken by one that waits for them, so nothing of ours runs inside a
/// signal handler. Start it before other threads exist: they inherit what is blocked.
struct InterruptWatch {
    private static let signals = [SIGINT, SIGTERM]

    /// Watches for the rest of the process's life.
    static func start(on console: Console) -> StopRequest {
        let stop = StopRequest()
        var set = sigset_t()
        sigemptyset(&set)
        for signal in signals { sigaddset(&set, signal) }
        pthread_sigmask(SIG_BLOCK, &set, nil)
        do throws(FerryError) {
            try WorkThread.start("ferry signals") { [set] in wait(for: set, stop, console) }
        } catch {
            // Without the thread Ctrl-C must keep its ordinary meaning: a run survives that too.
            pthread_sigmask(SIG_UNBLOCK, &set, nil)
        }
        return stop
    }

    private static func wait(for signals: sigset_t, _ stop: StopRequest, _ console: Console) {
        var set = signals
        var signal: Int32 = 0
        while sigwait(&set, &signal) != 0 {}
        stop.request(
            FerryError(
                .interrupted, "The run was interrupted; what is done so far is kept.",
                remedy: "Run the same command again to go on, or with --restart to begin again."))
        console.note("\nStopping after the work at hand; once more to stop at once. Both can be resumed.")
        while sigwait(&set, &signal) != 0 {}
        _exit(ExitCode.resumable.rawValue)
    }
}

/// Signals that would end the process where a failed write is enough.
///
/// A reader of the output that goes away must not end a migration, and a limit on the size of files is to be reported
/// as a volume that is full is: `write` then fails with EPIPE or EFBIG.
enum IgnoredSignals {
    private static let signals = [SIGPIPE, SIGXFSZ]

    /// Ignores them for the rest of the process's life, and in processes that it starts.
    static func ignore() { for number in signals { _ = signal(number, SIG_IGN) } }
}
