internal import CSystem

/// Ends the process without running anything more of it, as `kill -9` would.
package func exitAtOnce() -> Never { _exit(137) }

/// Gives memory that nothing uses at the moment back to the system.
///
/// glibc keeps freed memory below the last block in use, and Linux keeps the pages of code that has done its work, so
/// that what one phase held would count beside what the next one needs; other systems do both by themselves.
package func releaseUnusedMemory() { ferry_release_unused_memory() }

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

/// The time since the machine was started: what was written in it is there even if it was never synced.
package enum SystemSession {
    /// What no other session of any machine has; nil where the system does not tell.
    package static var id: String? {
        var text = [CChar](repeating: 0, count: 64)
        guard ferry_session(&text, text.count) == 0 else { return nil }
        let id = String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        return id.isEmpty ? nil : id
    }
}

/// The memory that this process holds now.
package enum ResidentMemory {
    /// Nil where the system does not tell.
    package static func bytes() -> Int64? {
        let bytes = ferry_resident_bytes()
        return bytes >= 0 ? bytes : nil
    }
}

/// The columns of the terminal that a file descriptor is open on; nil where it is open on none, or where that does not
/// tell.
package func terminalColumns(ofDescriptor descriptor: Int32) -> Int? {
    let columns = ferry_terminal_columns(descriptor)
    return columns > 0 ? Int(columns) : nil
}
