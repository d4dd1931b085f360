internal import BenchmarkHarness
internal import CFloor
internal import FerryBase
internal import Foundation

/// `zstd` on a closed file: the tool where it is installed, else the same work by the library.
enum ZstdTool {
    /// Nil where the tool is not installed.
    static let path: String? = {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        return folders.map { "\($0)/zstd" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }()

    static var name: String { path == nil ? "libzstd" : "zstd" }

    static func compress(_ input: String, to output: String) throws {
        if let path { return try Tool.run(path, ["-q", "-f", "-1", "-T2", input, "-o", output]) }
        guard cfloor_compress(input, output, 1, 2) else { throw failure("compress", input) }
    }

    static func decompress(_ input: String, to output: String) throws {
        if let path { return try Tool.run(path, ["-q", "-f", "-d", input, "-o", output]) }
        guard cfloor_decompress(input, output) else { throw failure("decompress", input) }
    }

    /// Decodes an archive into a pipe, and compares the pipe's bytes with a file.
    ///
    /// Where the tool is not installed, a decoded file replaces the pipe.
    static func compare(_ archive: String, with file: String) throws {
        if path != nil { return try Tool.run("/bin/sh", ["-c", "zstd -q -d -c \"$0\" | cmp - \"$1\"", archive, file]) }
        try decompress(archive, to: archive + ".decoded")
        try Tool.run("/usr/bin/cmp", [archive + ".decoded", file])
    }

    private static func failure(_ action: String, _ path: String) -> FerryError {
        FerryError(.fileFailed, "The floor could not \(action) \(path).")
    }
}
