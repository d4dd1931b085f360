internal import FerryBase
internal import Foundation

/// Turns Ctrl-C and SIGTERM into a request to stop after the current unit of work; a second signal ends the process.
///
/// All threads block the signals and one thread waits for them, so no code of Ferry's runs inside a signal handler.
/// `start` must come before other threads exist, which inherit the signal mask.
struct InterruptWatch {
    private static let signals = [SIGINT, SIGTERM]

    private static let notice =
        "Stopping after the current unit of work. Press Ctrl-C again to stop at once; a migration can be resumed either "
        + "way."

    /// Watches until the process ends; a signal prints the notice, unless another process does.
    static func start(on console: Console, notice: String? = notice) -> StopRequest {
        let stop = StopRequest()
        var set = sigset_t()
        sigemptyset(&set)
        for signal in signals { sigaddset(&set, signal) }
        pthread_sigmask(SIG_BLOCK, &set, nil)
        do throws(FerryError) {
            try WorkThread.start("ferry signals") { [set] in
                wait(for: set, stop) { if let notice { console.note("\n" + notice) } }
            }
        } catch {
            // Without the thread Ctrl-C must end the process; a run can be resumed after that, too.
            pthread_sigmask(SIG_UNBLOCK, &set, nil)
        }
        return stop
    }

    private static func wait(for signals: sigset_t, _ stop: StopRequest, _ tell: () -> Void) {
        var set = signals
        var signal: Int32 = 0
        while sigwait(&set, &signal) != 0 {}
        stop.request(
            FerryError(
                .interrupted, "The migration was interrupted and can be resumed.",
                remedy: "Run the same command again to continue, or with --restart to start over."))
        tell()
        while sigwait(&set, &signal) != 0 {}
        _exit(ExitCode.resumable.rawValue)
    }
}

/// Signals that would end the process in place of a failed write.
///
/// A closed pipe of the output must not end a migration, and a limit on file sizes is reported like a full volume:
/// `write` then fails with EPIPE or EFBIG.
enum IgnoredSignals {
    private static let signals = [SIGPIPE, SIGXFSZ]

    /// Ignores the signals until the process ends, and in its child processes.
    static func ignore() { for number in signals { _ = signal(number, SIG_IGN) } }
}
