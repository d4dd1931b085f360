internal import FerryBase

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// The system's figures for this process.
package enum ProcessFigures {
    /// The highest memory of the process so far (`VmHWM`); nil where the system has no such figure.
    package static func peakBytes() -> Int64? {
        #if canImport(Darwin)
            resources(RUSAGE_SELF).map { Int64($0.ru_maxrss) }
        #else
            value(of: "VmHWM:", in: "/proc/self/status").map { $0 << 10 }
        #endif
    }

    /// The highest memory of a finished child.
    package static func peakBytesOfChildren() -> Int64? {
        #if canImport(Darwin)
            resources(RUSAGE_CHILDREN).map { Int64($0.ru_maxrss) }
        #else
            resources(RUSAGE_CHILDREN.rawValue).map { Int64($0.ru_maxrss) << 10 }
        #endif
    }

    /// The bytes that the process has passed to write calls; nil where the system has no such figure.
    package static func writtenBytes() -> Int64? { value(of: "wchar:", in: "/proc/self/io") }

    /// The processor time of this process and of its finished children; nil where the system has no such figure.
    package static func processorSeconds() -> Double? {
        #if canImport(Darwin)
            let (own, children) = (resources(RUSAGE_SELF), resources(RUSAGE_CHILDREN))
        #else
            let (own, children) = (resources(RUSAGE_SELF.rawValue), resources(RUSAGE_CHILDREN.rawValue))
        #endif
        guard let own, let children else { return nil }
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        return seconds(own.ru_utime) + seconds(own.ru_stime) + seconds(children.ru_utime) + seconds(children.ru_stime)
    }

    private static func resources(_ who: Int32) -> rusage? {
        var usage = rusage()
        return getrusage(who, &usage) == 0 ? usage : nil
    }

    /// Returns the first number of the line that begins with a word; nil, which leaves the figure out of the results,
    /// on failure.
    private static func value(of word: String, in path: String) -> Int64? {
        guard let bytes = try? FileLayer().open(path).read(count: 16 << 10, at: 0) else { return nil }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        guard let line = lines.first(where: { $0.hasPrefix(word) }) else { return nil }
        return line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap { Int64($0) }
    }
}
