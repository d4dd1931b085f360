extension Configuration {
    /// The sizes and times at which Ferry takes another way; the same for every user, and others in tests.
    package struct Thresholds: Sendable {
        /// The size in bytes of a store above which no rows are rewritten in place: SQLite's index of a `-wal` takes 2 KiB
        /// of memory for each MiB.
        package var largestLoggedStore: Int64 = 4 << 30
        /// The size in bytes of a store all of whose pages are checked in no time.
        package var smallStoreBytes: Int64 = 16 << 20
        /// The most bytes of a new store that the swap writes into the old one through its `-wal`.
        package var largestLoggedSwap: Int64 = 1 << 30
        /// The time of work on this machine relative to that of the estimates' costs; nil to measure it, by a short
        /// probe.
        package var machine: Double?
    }
}
