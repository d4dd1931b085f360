internal import CSystem

/// The memory of this process as the system counts it.
package enum ResidentMemory {
    /// Nil if the system does not report it.
    package static func bytes() -> Int64? {
        let bytes = ferry_resident_bytes(0)
        return bytes >= 0 ? bytes : nil
    }

    /// Without pages of files, which the system takes back when it needs them; nil if the system does not report it.
    package static func ownBytes() -> Int64? {
        let bytes = ferry_resident_bytes(1)
        return bytes >= 0 ? bytes : nil
    }
}

/// Returns unused memory to the system while a program that runs nothing but Ferry comes near its memory limit.
///
/// The C library keeps freed memory, and Linux keeps pages of code that no longer runs, many for each that did. Both
/// count against the limit wherever the program is, so a thread looks at them, and no caller has to.
package final class MemoryKeeper: Sendable {
    private let limit: Locked<Int>

    private static let farNanoseconds = 10_000_000, nearNanoseconds = 2_000_000
    /// The most that all threads take between two looks.
    private static let slack: Int64 = 4 << 20
    /// A rise by this between two looks may be the beginning of a larger one.
    private static let rise: Int64 = 1 << 20
    /// Below the limit by this, nothing needs a look soon.
    private static let near: Int64 = 8 << 20
    /// Pages that are in use are mapped again at once, for some 0.3 ms; releases at each look would slow the work.
    private static let looksBetweenReleases = 4

    /// Starts the thread, which runs until the process ends.
    package init(below limit: Int) {
        self.limit = Locked(limit)
        do throws(FerryError) {
            try WorkThread.start("ferry.memory") { [self] in look() }
        } catch {}  // Without the thread a run is the same, and takes more memory.
    }

    package func keep(below limit: Int) { self.limit.withLock { $0 = limit } }

    private func look() {
        ferry_block_signals()
        var (pause, isDivided) = (0, false)
        var before: Int64 = 0
        while let resident = ResidentMemory.bytes(), let own = ResidentMemory.ownBytes() {
            let left = Int64(limit.withLock { $0 }) - resident
            pause = max(0, pause - 1)
            if left < Self.near, !isDivided {
                ferry_map_code_sparsely()
                isDivided = true
                releaseUnusedMemory()
            }
            // A process whose own memory is above the limit gains nothing.
            let isRising = left < Self.near && resident - before > Self.rise
            before = resident
            if left < Self.slack || isRising, pause == 0, resident - own > -left {
                releaseUnusedMemory()
                pause = Self.looksBetweenReleases
            }
            Clock.wait(nanoseconds: left < Self.near ? Self.nearNanoseconds : Self.farNanoseconds)
        }
    }
}
