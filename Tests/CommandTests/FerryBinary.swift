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

    /// Runs a command line to its end; standard output goes through a file, so that neither stream can block the other.
    ///
    /// Without a program of its own, the one beside the test bundle is run. A signal is sent once, as soon as standard error holds the given text.
    static func run(
        _ words: [String], in folder: String, sending signal: Int32? = nil, afterLine text: String = "",
        program: String? = nil
    ) throws -> Outcome {
        let program = try #require(program ?? path, "the program ferry stands beside the test bundle")
        let file = URL(fileURLWithPath: folder).appendingPathComponent("\(UUID().uuidString).out")
        try Data().write(to: file)
        let process = Process()
        let diagnostics = Pipe()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = words
        process.currentDirectoryURL = URL(fileURLWithPath: folder)
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = try FileHandle(forWritingTo: file)
        process.standardError = diagnostics
        try process.run()
        var told = Data()
        var pending = signal
        while true {
            let part = diagnostics.fileHandleForReading.availableData
            if part.isEmpty { break }
            told += part
            if let signal = pending, String(decoding: told, as: UTF8.self).contains(text) {
                kill(process.processIdentifier, signal)
                pending = nil
            }
        }
        process.waitUntilExit()
        let output = try String(contentsOf: file, encoding: .utf8)
        try FileManager.default.removeItem(at: file)
        return Outcome(
            exitCode: process.terminationStatus, output: output, diagnostics: String(decoding: told, as: UTF8.self))
    }
}
