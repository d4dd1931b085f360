internal import FerryBase
internal import FerrySQLite
internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import FerryCommand

/// `ferry tune` and `ferry migrate --rehearse`: both measure a migration and leave no files of it.
@Suite("Tune and rehearse")
struct TuneTests {
    private let folder: TemporaryFolder
    private let library: ProgramTests.Library

    init() throws {
        folder = try TemporaryFolder()
        library = ProgramTests.Library(folder: folder.path)
        try library.prepare(books: 600)
    }

    private struct Tuned: Decodable {
        struct Run: Decodable {
            var chunkRows: Int
            var rows: Int64
            var rowsPerSecond: Double
            var peakResidentBytes: Int64
            var longestChunkSeconds, worstLostSeconds: Double
        }
        var ferry: Int
        var runs: [Run]
        var recommended: Int?
        var note: String?
    }

    private func tuned(_ words: String...) throws -> Tuned {
        let outcome = try FerryBinary.run(
            ["tune", library.store] + library.sources + words + ["--json"], in: folder.path)
        try #require(outcome.exitCode == 0, "\(outcome.diagnostics) \(outcome.output)")
        return try JSONDecoder().decode(Tuned.self, from: Data(outcome.output.utf8))
    }

    @Test("Each size is measured on all rows, one is recommended, the page needs no other file, the store stays")
    func tunes() throws {
        let before = (try library.digest(), try library.files())
        let page = folder.file("tune.html")
        let result = try tuned("--sizes", "400,100", "--chunk-time", "1min", "--memory-limit", "1GiB", "--report", page)
        #expect(result.ferry == 1 && result.note == nil)
        #expect(result.runs.map(\.chunkRows) == [100, 400])
        #expect(Set(result.runs.map(\.rows)).count == 1 && result.runs[0].rows > 3 * 600)
        for run in result.runs {
            #expect(run.rowsPerSecond > 0 && run.peakResidentBytes > 1 << 20)
            #expect(run.longestChunkSeconds > 0 && run.worstLostSeconds >= run.longestChunkSeconds)
        }
        #expect(result.recommended == 100 || result.recommended == 400)
        let html = try String(contentsOfFile: page, encoding: .utf8)
        #expect(html.contains("class=\"best\""))
        #expect(!html.contains("http:") && !html.contains("https:") && !html.contains("src="))
        #expect(try library.digest() == before.0)
        #expect(try library.files() == before.1)
    }

    @Test("The processes of the sizes write no page of their own, also with a page in ferry.json")
    func writesOnePage() throws {
        let config = folder.file("library/ferry.json")
        try Data(#"{ "ferry": 1, "mappings": "Mappings", "report": "config.html" }"#.utf8)
            .write(to: URL(fileURLWithPath: config))
        defer { try? FileManager.default.removeItem(atPath: config) }
        for named in [[], ["--config", config]] {
            let outcome = try FerryBinary.run(
                ["tune", library.store, "--models", library.models] + named
                    + ["--sizes", "100,400", "--sample", "200", "--report", folder.file("typed.html"), "--json"],
                in: folder.path)
            #expect(outcome.exitCode == 0, "\(outcome.diagnostics) \(outcome.output)")
            #expect(!FileManager.default.fileExists(atPath: folder.file("library/config.html")))
        }
    }

    @Test("A sample has rows of each step; a time that no chunk keeps gives no recommendation")
    func samples() throws {
        let result = try tuned("--sizes", "50", "--sample", "120", "--chunk-time", "0.001ms", "--runs", "1")
        let run = try #require(result.runs.first)
        #expect(run.rows >= 3 * 120 && run.rows < 3 * 600, "\(run.rows)")
        #expect(result.recommended == nil)
        #expect(try library.files() == ["Library.sqlite", "Library.xcdatamodeld", "Mappings"])
    }

    @Test("A plan in place has no chunks to tune, and an impossible plan is refused")
    func plansWithoutChunks() throws {
        let inPlace = try FerryBinary.run(
            ["tune", library.store, "--models", library.models, "--no-mappings", "--to", "Library2"], in: folder.path)
        #expect(inPlace.exitCode == 0 && inPlace.output.contains("no chunks"), "\(inPlace.diagnostics)")
        let unknown = try FerryBinary.run(
            ["tune", library.store] + library.sources + ["--to", "Library9"], in: folder.path)
        #expect(unknown.exitCode == 2)
    }

    @Test("An error in the process of one size is reported unchanged")
    func handsOnFailures() throws {
        let writer = try Connection(path: library.store, mode: .readWrite)
        try writer.execute("BEGIN IMMEDIATE")
        let words = ["tune", library.store] + library.sources + ["--sizes", "10,20"]
        let text = try FerryBinary.run(words, in: folder.path)
        let json = try FerryBinary.run(words + ["--json"], in: folder.path)
        try writer.execute("ROLLBACK")
        #expect(text.exitCode == 2 && text.diagnostics.contains("ferry: ") && text.output.isEmpty)
        let failure = try JSONDecoder().decode(MessageTests.Failure.self, from: Data(json.output.utf8))
        #expect(json.exitCode == 2 && failure.error.code == "storeInUse")
    }

    @Test("A rehearsal verifies, measures and leaves no files, and removes those of a killed one")
    func rehearses() throws {
        let digest = try library.digest()
        let left = library.store + ".ferry-rehearsal"
        try FileManager.default.createDirectory(
            atPath: left + "/Library.sqlite.ferry", withIntermediateDirectories: true)
        try Data("half".utf8).write(to: URL(fileURLWithPath: left + "/Library.sqlite.ferry/run.json"))
        let outcome = try FerryBinary.run(
            ["migrate", library.store] + library.sources + ["--rehearse", "--json"], in: folder.path)
        #expect(outcome.exitCode == 0, "\(outcome.diagnostics)")
        struct Rehearsed: Decodable {
            struct Verification: Decodable { var checked: Int64 }
            var outcome, store: String
            var peakDiskBytes: Int64
            var peakResidentBytes: Int64
            var verification: Verification
        }
        let rehearsed = try JSONDecoder().decode(Rehearsed.self, from: Data(outcome.output.utf8))
        #expect(rehearsed.outcome == "rehearsed" && rehearsed.store.hasSuffix("library/Library.sqlite"))
        #expect(rehearsed.peakDiskBytes > 50_000 && rehearsed.verification.checked > 3 * 600)
        #expect(try library.digest() == digest)
        #expect(try library.files() == ["Library.sqlite", "Library.xcdatamodeld", "Mappings"])
    }

    @Test("The median of three measurements counts, and the highest peak")
    func takesMedian() {
        let runs = [(50.0, 0.3, 20), (80, 0.1, 25), (60, 0.2, 22)].map { speed, seconds, mebibytes in
            TuneResult.Run(
                chunkRows: 10, rowsPerSecond: speed, peakResidentBytes: mebibytes, longestChunkSeconds: seconds)
        }
        let median = TuneResult.Run(medianOf: runs)
        #expect(median.rowsPerSecond == 60 && median.longestChunkSeconds == 0.2 && median.peakResidentBytes == 25)
    }

    @Test("The smallest allowed size within a twentieth of the fastest is recommended")
    func recommends() {
        func run(_ size: Int, _ speed: Double, seconds: Double = 0.1, mebibytes: Int64 = 20) -> TuneResult.Run {
            TuneResult.Run(
                chunkRows: Int64(size), rowsPerSecond: speed, peakResidentBytes: mebibytes << 20,
                longestChunkSeconds: seconds)
        }
        func recommended(_ runs: [TuneResult.Run]) -> Int64? {
            TuneResult(store: "", sample: nil, chunkSeconds: 0.5, memoryLimit: 32 << 20, runs: runs).recommended
        }
        #expect(recommended([run(10, 50), run(100, 96), run(1_000, 100)]) == 100)
        #expect(recommended([run(10, 50), run(100, 90), run(1_000, 100)]) == 1_000)
        #expect(recommended([run(10, 50), run(100, 100, seconds: 0.6)]) == 10)
        #expect(recommended([run(10, 50), run(100, 100, mebibytes: 33)]) == 10)
        #expect(recommended([run(100, 100, seconds: 0.6)]) == nil)
        #expect(recommended([]) == nil)
    }
}
