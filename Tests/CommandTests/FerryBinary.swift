internal import Foundation
internal import Testing

/// The built program, run as a process of its own.
enum FerryBinary {
    struct Outcome {
        var exitCode: Int32
        var output: String
        var diagnostics: String
    }

    /// Stands beside the test bundle, wherever that was built.
    static var path: String? {
        let arguments = CommandLine.arguments
        let bundle = arguments.firstIndex(of: "--test-bundle-path").flatMap {
            $0 + 1 < arguments.count ? arguments[$0 + 1] : nil
        }
        var folder = URL(fileURLWithPath: bundle ?? arguments[0]).resolvingSymlinksInPath()
        while folder.path != "/" {
            folder.deleteLastPathComponent()
            let candidate = folder.appendingPathComponent("ferry")
            if FileManager.default.isExecutableFile(atPath: candidate.path), !isFolder(candidate) {
                return candidate.path
            }
        }
        return nil
    }

    private static func isFolder(_ url: URL) -> Bool {
        var isFolder: ObjCBool = false
        return FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder) && isFolder.boolValue
    }

    /// Runs a command line to its end; both streams go through files, so that neither can block the other.
    static func run(_ words: [String], in folder: String) throws -> Outcome {
        let program = try #require(path, "the program ferry stands beside the test bundle")
        let name = UUID().uuidString
        let output = URL(fileURLWithPath: folder).appendingPathComponent("\(name).out")
        let diagnostics = URL(fileURLWithPath: folder).appendingPathComponent("\(name).err")
        for file in [output, diagnostics] { try Data().write(to: file) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = words
        process.currentDirectoryURL = URL(fileURLWithPath: folder)
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = try FileHandle(forWritingTo: output)
        process.standardError = try FileHandle(forWritingTo: diagnostics)
        try process.run()
        process.waitUntilExit()
        defer {
            for file in [output, diagnostics] { try? FileManager.default.removeItem(at: file) }
        }
        return Outcome(
            exitCode: process.terminationStatus, output: try String(contentsOf: output, encoding: .utf8),
            diagnostics: try String(contentsOf: diagnostics, encoding: .utf8))
    }
}
