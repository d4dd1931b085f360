#if canImport(Darwin)
    internal import Darwin
    package import FerryBase

    extension ProcessUse {
        package static func peakMemory(files: FileLayer) -> Int64? {
            var usage = rusage()
            guard getrusage(RUSAGE_SELF, &usage) == 0 else { return nil }
            return Int64(usage.ru_maxrss)
        }

        /// Nil: Darwin tells of disks alone, not of calls.
        static func now(files: FileLayer) -> ProcessUse? { nil }
    }
#endif
