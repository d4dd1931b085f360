package import FerryBase

/// What this process has given to, and taken from, calls that read and write; cached or not.
package struct ProcessBytes: Sendable {
    package var read: Int64
    package var written: Int64

    /// Nil where the system does not tell.
    package static func now(files: FileLayer) -> ProcessBytes? {
        #if os(Linux)
            // A report without these numbers is still a report.
            guard let bytes = try? files.open("/proc/self/io").read(count: 4 << 10, at: 0) else { return nil }
            var numbers: [Substring: Int64] = [:]
            for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
                let words = line.split(separator: " ")
                if words.count == 2 { numbers[words[0]] = Int64(words[1]) }
            }
            guard let read = numbers["rchar:"], let written = numbers["wchar:"] else { return nil }
            return ProcessBytes(read: read, written: written)
        #else
            return nil
        #endif
    }
}
