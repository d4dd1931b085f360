#if canImport(Darwin)
    internal import Darwin
    package import FerryBase

    extension PeakMemory {
        /// Bytes, or nil where the system does not tell.
        package static func bytes(files: FileLayer) -> Int64? {
            var usage = rusage()
            guard getrusage(RUSAGE_SELF, &usage) == 0 else { return nil }
            return Int64(usage.ru_maxrss)
        }
    }
#endif
