#if os(Linux)
    package import FerryBase

    extension PeakMemory {
        /// Bytes, or nil where the system does not tell.
        package static func bytes(files: FileLayer) -> Int64? {
            guard let line = files.processLines(of: "status").first(where: { $0.hasPrefix("VmHWM:") }) else {
                return nil
            }
            return line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first
                .flatMap { Int64($0) }.map { $0 << 10 }
        }
    }
#endif
