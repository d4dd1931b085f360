#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// A monotonic clock, in nanoseconds.
package enum Clock {
    package static func nanoseconds() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// Lets the calling thread sleep; a signal may end that early.
    package static func wait(milliseconds: Int) {
        var time = timespec()
        time.tv_sec = milliseconds / 1_000
        time.tv_nsec = milliseconds % 1_000 * 1_000_000
        _ = nanosleep(&time, nil)
    }
}
