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
            return getrusage(RUSAGE_SELF, &usage) == 0 ? Int64(usage.ru_maxrss) : nil
        #else
            guard let line = files.processLines(of: "status").first(where: { $0.hasPrefix("VmHWM:") }) else {
                return nil
            }
            return line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first
                .flatMap { Int64($0) }.map { $0 << 10 }
        #endif
    }
}

/// What this process has given to, and taken from, calls that read and write; cached or not.
package struct ProcessBytes: Sendable {
    package var read: Int64
    package var written: Int64

    /// Nil where the system does not tell: Darwin tells of disks alone, not of calls.
    package static func now(files: FileLayer) -> ProcessBytes? {
        var numbers: [Substring: Int64] = [:]
        for line in files.processLines(of: "io") {
            let words = line.split(separator: " ")
            if words.count == 2 { numbers[words[0]] = Int64(words[1]) }
        }
        guard let read = numbers["rchar:"], let written = numbers["wchar:"] else { return nil }
        return ProcessBytes(read: read, written: written)
    }
}

extension FileLayer {
    /// The lines of what Linux tells of this process; none where `/proc` is not there or may not be read, since a
    /// report without these numbers is still a report.
    func processLines(of name: String) -> [Substring] {
        #if canImport(Darwin)
            return []
        #else
            do throws(FerryError) {
                let bytes = try open("/proc/self/" + name).read(count: 16 << 10, at: 0)
                return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
            } catch {
                return []
            }
        #endif
    }
}
