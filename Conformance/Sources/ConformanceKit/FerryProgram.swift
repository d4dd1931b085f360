import Foundation

/// The program under test: its command lines, and its JSON results.
public struct FerryProgram: Sendable {
    public let path: String

    public init(path: String) { self.path = path }

    // MARK: Command lines

    /// Generates rows in the source version of the migration.
    public func generate(_ one: ConformanceCase, to store: String) -> [String] {
        [
            "generate", one.models, "--version", one.source, "--rows", String(one.rows), "--seed", String(one.seed),
            "--output", store, "--json",
        ]
    }

    public func migrate(_ one: ConformanceCase, store: String, output: String?) -> [String] {
        var words = ["migrate", "--accept-loss", store, "--models", one.models, "--to", one.destination, "--json"]
        // Without this option the program would also read mapping models beside the models, which belong to other
        // cases.
        words += one.mapping.map { ["--mappings", $0] } ?? ["--no-mappings"]
        if let output { words += ["--output", output] } else { words += ["--snapshot", "none"] }
        return words
    }

    public func verify(_ one: ConformanceCase, store: String) -> [String] {
        ["verify", store, "--models", one.models, "--integrity", "--json"]
    }

    // MARK: Running

    public struct Answer: Sendable {
        public var exitCode: Int32
        public var output: Data
        public var diagnostics: String
    }

    public func run(_ words: [String]) throws -> Answer {
        try Self.run(path, words)
    }

    /// Runs a program to its end; its streams are files, because a full pipe would stop it.
    public static func run(_ program: String, _ words: [String]) throws -> Answer {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("conformance-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let streams = ["output", "diagnostics"].map { folder.appendingPathComponent($0) }
        for stream in streams { try Data().write(to: stream) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = words
        let handles = try streams.map { try FileHandle(forWritingTo: $0) }
        (process.standardOutput, process.standardError) = (handles[0], handles[1])
        try process.run()
        process.waitUntilExit()
        for handle in handles { try handle.close() }
        return Answer(
            exitCode: process.terminationStatus, output: try Data(contentsOf: streams[0]),
            diagnostics: String(decoding: try Data(contentsOf: streams[1]), as: UTF8.self))
    }

    // MARK: Results

    /// The keys that Conformance reads from the object of `migrate --json`.
    public struct Migration: Decodable, Sendable {
        public var outcome: String
        public var from: String?
        public var to: String?
    }

    /// - Throws: ``ConformanceError`` with the program's message, when the program fails.
    @discardableResult
    public func demand(_ words: [String]) throws -> Data {
        let answer = try run(words)
        guard answer.exitCode == 0 else {
            let said = answer.diagnostics.isEmpty ? String(decoding: answer.output, as: UTF8.self) : answer.diagnostics
            throw ConformanceError("ferry \(words.joined(separator: " ")) ended with \(answer.exitCode): \(said)")
        }
        return answer.output
    }

    public func migration(_ output: Data) throws -> Migration {
        do {
            return try JSONDecoder().decode(Migration.self, from: output)
        } catch {
            throw ConformanceError("migrate did not print its JSON: \(error)")
        }
    }
}
