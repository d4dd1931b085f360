internal import Foundation
internal import TestSupport
internal import Testing

/// The built program, as a process of its own.
enum FerryBinary {
    struct Outcome {
        var exitCode: Int32
        var output: String
        var diagnostics: String
    }

    /// Runs a command line in this process if possible: a process of its own takes three times as long, because it loads
    /// libraries and fills the runtime's tables.
    static func runHere(_ words: [String], in folder: String) throws -> Outcome {
        // A variable of the environment needs a process.
        guard !words.contains(where: { $0.hasPrefix("FERRY_") }), let captured = try Captured.run(words, in: folder)
        else { return try run(words, in: folder) }
        return Outcome(
            exitCode: captured.exitCode.rawValue, output: captured.output, diagnostics: captured.diagnostics)
    }

    /// Runs a command line to its end; standard output is a file, so that neither stream can block the other.
    ///
    /// Without `program`, the program beside the test bundle runs. A signal is sent once, as soon as standard error
    /// contains the given text; a body is called once at that time, too.
    static func run(
        _ words: [String], in folder: String, sending signal: Int32? = nil, afterLine text: String = "",
        program: String? = nil, doing body: (() throws -> Void)? = nil
    ) throws -> Outcome {
        let program = try #require(
            program ?? BuiltProgram.path, "the program ferry stands beside the test bundle")
        let file = URL(fileURLWithPath: folder).appendingPathComponent("\(UUID().uuidString).out")
        try Data().write(to: file)
        let process = Process()
        let diagnostics = Pipe()
        process.executableURL = URL(fileURLWithPath: program)
        process.take(words)
        process.currentDirectoryURL = URL(fileURLWithPath: folder)
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = try FileHandle(forWritingTo: file)
        process.standardError = diagnostics
        try process.run()
        var told = Data()
        var pending = signal
        var work = body
        while true {
            let part = diagnostics.fileHandleForReading.availableData
            if part.isEmpty { break }
            told += part
            if let signal = pending, String(decoding: told, as: UTF8.self).contains(text) {
                kill(process.processIdentifier, signal)
                pending = nil
            }
            if let body = work, String(decoding: told, as: UTF8.self).contains(text) {
                work = nil
                try body()
            }
        }
        process.waitUntilExit()
        let output = try String(contentsOf: file, encoding: .utf8)
        try FileManager.default.removeItem(at: file)
        return Outcome(
            exitCode: process.terminationStatus, output: output, diagnostics: String(decoding: told, as: UTF8.self))
    }
}
