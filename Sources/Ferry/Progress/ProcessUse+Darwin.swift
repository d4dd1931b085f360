#if canImport(Darwin)
    internal import Darwin

    extension ProcessUse {
        package static func peakMemory() -> Int64? {
            var usage = rusage()
            guard getrusage(RUSAGE_SELF, &usage) == 0 else { return nil }
            return Int64(usage.ru_maxrss)
        }

        /// Nil: Darwin counts only disk transfers, not the bytes of calls.
        static func now() -> ProcessUse? { nil }
    }
#endif
