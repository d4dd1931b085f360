#if os(Linux)
    package import FerryBase

    extension ProcessUse {
        package static func peakMemory(files: FileLayer) -> Int64? {
            numbers(of: "status", files)["VmHWM:"].map { $0 << 10 }
        }

        static func now(files: FileLayer) -> ProcessUse? {
            let numbers = numbers(of: "io", files)
            guard let read = numbers["rchar:"], let written = numbers["wchar:"] else { return nil }
            return ProcessUse(read: read, written: written)
        }

        /// The numbers of a file in `/proc/self` by their names; empty if `/proc` is missing or cannot be read, since a
        /// report without these numbers is still useful.
        private static func numbers(of name: String, _ files: FileLayer) -> [Substring: Int64] {
            do throws(FerryError) {
                let bytes = try files.open("/proc/self/" + name).read(count: 16 << 10, at: 0)
                let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
                let words = lines.map { $0.split(whereSeparator: \.isWhitespace) }.filter { $0.count > 1 }
                return Dictionary(
                    words.compactMap { line in Int64(line[1]).map { (line[0], $0) } }, uniquingKeysWith: { $1 })
            } catch {
                return [:]
            }
        }
    }
#endif
