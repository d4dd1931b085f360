internal import CSystem

/// Ends the process without any cleanup, as `kill -9` does.
package func exitAtOnce() -> Never { _exit(137) }

/// Says that this process runs nothing but Ferry: unused memory then includes the program's code.
package func beginProgram() { ferry_begin_program() }

/// Returns unused memory to the system.
///
/// glibc keeps freed memory below the last block in use, and Linux keeps pages of code that no longer runs, so that the
/// memory of one phase would add to that of the next. Other systems release both by themselves. The code of an app that
/// links the library stays: all of it would be loaded again.
package func releaseUnusedMemory() { ferry_release_unused_memory() }

/// A monotonic clock in nanoseconds that stops while the machine sleeps, so that a sleep uses up no budget.
package enum Clock {
    package static func nanoseconds() -> UInt64 { ferry_uptime() }

    /// Nanoseconds from an earlier time until now; 0 if the clock has gone back, as on some virtual machines.
    package static func nanoseconds(since start: UInt64) -> UInt64 { nanoseconds(from: start, to: nanoseconds()) }

    /// Nanoseconds between two readings; 0 if `end` is the smaller one.
    package static func nanoseconds(from start: UInt64, to end: UInt64) -> UInt64 { end > start ? end - start : 0 }

    package static func seconds(since start: UInt64) -> Double { Double(nanoseconds(since: start)) / 1e9 }

    /// Suspends the calling thread; a signal may wake it early.
    package static func wait(milliseconds: Int) { wait(nanoseconds: milliseconds * 1_000_000) }

    /// Suspends the calling thread; a signal may wake it early.
    package static func wait(nanoseconds: Int) {
        var time = timespec()
        time.tv_sec = nanoseconds / 1_000_000_000
        time.tv_nsec = nanoseconds % 1_000_000_000
        _ = nanosleep(&time, nil)
    }
}

/// The session of the system since its start: within one session, writes survive without a sync.
package enum SystemSession {
    /// An identifier unique among all sessions of all machines; nil if the system gives none.
    package static var id: String? {
        var text = [CChar](repeating: 0, count: 64)
        guard ferry_session(&text, text.count) == 0 else { return nil }
        let id = String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        return id.isEmpty ? nil : id
    }
}

/// The columns of a file descriptor's terminal; nil if it is not a terminal, or the terminal does not report them.
package func terminalColumns(ofDescriptor descriptor: Int32) -> Int? {
    let columns = ferry_terminal_columns(descriptor)
    return columns > 0 ? Int(columns) : nil
}
