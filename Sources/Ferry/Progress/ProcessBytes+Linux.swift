#if os(Linux)
    package import FerryBase

    extension ProcessBytes {
        /// Nil where the system does not tell.
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
            do throws(FerryError) {
                let bytes = try open("/proc/self/" + name).read(count: 16 << 10, at: 0)
                return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
            } catch {
                return []
            }
        }
    }
#endif
