internal import CSystem

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// A clock that only goes forward, in nanoseconds; it stands while the machine sleeps, so that a chunk or a budget does
/// not pay for that.
package enum Clock {
    package static func nanoseconds() -> UInt64 { ferry_uptime() }

    /// Nanoseconds from an earlier time until now; 0 when the clock has gone back, as it can on some virtual machines.
    package static func nanoseconds(since start: UInt64) -> UInt64 { nanoseconds(from: start, to: nanoseconds()) }

    /// Nanoseconds between two readings; 0 when the later one is the smaller one.
    package static func nanoseconds(from start: UInt64, to end: UInt64) -> UInt64 { end > start ? end - start : 0 }

    /// Seconds from an earlier time until now.
    package static func seconds(since start: UInt64) -> Double { Double(nanoseconds(since: start)) / 1e9 }

    /// Lets the calling thread sleep; a signal may end that early.
    package static func wait(milliseconds: Int) {
        var time = timespec()
        time.tv_sec = milliseconds / 1_000
        time.tv_nsec = milliseconds % 1_000 * 1_000_000
        _ = nanosleep(&time, nil)
    }
}
