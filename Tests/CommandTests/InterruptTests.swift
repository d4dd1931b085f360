internal import Foundation
internal import TestSupport
internal import Testing

/// Ctrl-C and kills of the built program in the middle of a run.
@Suite("An interrupted program")
struct InterruptTests {
    private let folder: TemporaryFolder
    private let words: [String]

    init() throws {
        folder = try TemporaryFolder()
        try ProgramTests.Library(folder: folder.path).prepare(books: 3_000)
        words = [
            "migrate", "--accept-loss", "library/Library.sqlite", "--models", "library/Library.xcdatamodeld",
            "--mappings",
            "library/Mappings", "--chunk-size", "10", "--progress", "json", "--json",
        ]
    }

    @Test(
        "Stops after the present unit with 75, reports this, and resumes in the next call",
        arguments: [SIGINT, SIGTERM])
    func stopsAndGoesOn(_ signal: Int32) throws {
        let stopped = try FerryBinary.run(words, in: folder.path, sending: signal, afterLine: "\"BookToBook\"")
        #expect(stopped.exitCode == 75, "\(stopped.diagnostics)")
        #expect(stopped.output.contains("\"outcome\": \"resumable\""))
        #expect(stopped.output.contains("\"interrupted\""))
        let status = try FerryBinary.run(["status", "library/Library.sqlite", "--json"], in: folder.path)
        #expect(status.output.contains("\"state\": \"interrupted\""))
        let finished = try FerryBinary.run(words, in: folder.path)
        #expect(finished.exitCode == 0, "\(finished.diagnostics)")
        #expect(finished.output.contains("\"resumed\": true"))
    }

    @Test("Resumes after kill -9 in the middle of its rows")
    func survivesKill() throws {
        let killed = try FerryBinary.run(words, in: folder.path, sending: SIGKILL, afterLine: "\"BookAuthor\"")
        #expect(killed.exitCode == SIGKILL)
        let finished = try FerryBinary.run(words, in: folder.path)
        #expect(finished.exitCode == 0, "\(finished.diagnostics)")
        #expect(finished.output.contains("\"resumed\": true"))
    }
}
