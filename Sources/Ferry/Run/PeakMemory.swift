package import FerryBase

#if canImport(Darwin)
    internal import Darwin
#endif

/// The most memory that this process ever held.
package enum PeakMemory {
    /// Bytes, or nil where the system does not tell.
    package static func bytes(files: FileLayer) -> Int64? {
        #if canImport(Darwin)
            var usage = rusage()
            guard getrusage(RUSAGE_SELF, &usage) == 0 else { return nil }
            return Int64(usage.ru_maxrss)
        #else
            guard let line = files.processLines(of: "status").first(where: { $0.hasPrefix("VmHWM:") }) else {
                return nil
            }
            return line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first
                .flatMap { Int64($0) }.map { $0 << 10 }
        #endif
    }
}
