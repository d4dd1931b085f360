internal import FerryBase
internal import FerryGenerate
internal import FerrySQLite
internal import Foundation
internal import TestSupport
internal import Testing

/// `kill -9` of a rollback that makes a snapshot of the store that it replaces.
///
/// `FERRY_KILLS` gives the number of kills (default: 3), `FERRY_KILL_SEED` the moments, `FERRY_BINARY` the program.
@Suite("A killed rollback")
struct RollbackKillTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let kills = environment["FERRY_KILLS"].flatMap { Int($0) } ?? 3
    private static let seed = environment["FERRY_KILL_SEED"].flatMap { UInt64($0) } ?? 1

    @Test("The app's writes stay at every moment, and the next call ends the rollback")
    func survives() throws {
        let program = try #require(Self.environment["FERRY_BINARY"] ?? BuiltProgram.path)
        let stage = try RollbackStage(program)
        var random = SeededRandom(Self.seed)
        var (met, missed) = (0, 0)
        while met < Self.kills {
            guard let outcome = try stage.kill(after: random.fraction()) else {
                missed += 1
                try #require(missed <= 20 + 2 * Self.kills, "the program is done before it can be killed")
                continue
            }
            met += 1
            #expect(outcome.complaints.isEmpty, "kill \(met), seed \(Self.seed): \(outcome.complaints)")
        }
    }
}

/// A migrated store with later writes of the app, and the snapshot of the old store.
private final class RollbackStage {
    struct Outcome {
        /// The state of the store after the kill.
        var found: String
        var complaints: [String] = []
    }

    private static let writes: Set<Int64> = Set(1...40)

    private let program: String
    private let folder: TemporaryFolder
    private let files = FileLayer()
    /// The duration of an undisturbed rollback.
    private var seconds = 0.0
    private var store: String { folder.file("work/Library.sqlite") }

    init(_ program: String) throws {
        self.program = program
        folder = try TemporaryFolder()
        let source = folder.file("source")
        let output = folder.file("output")
        func run(_ words: [String]) throws {
            let code = try TracedProgram(program, words, in: folder.path, output: output).wait()
            try #require(code == 0, "\(words) fails")
        }
        try run(["demo", source, "--prepare", "--books", "300", "--authors", "60"])
        try run([
            "migrate", "--accept-loss", "\(source)/Library.sqlite", "--models", "\(source)/Library.xcdatamodeld",
            "--mappings",
            "\(source)/Mappings", "--to", "Library2", "--verify", "quick", "--progress", "none",
        ])
        // No snapshot has the app's writes after the migration yet.
        let connection = try Connection(path: "\(source)/Library.sqlite", mode: .readWrite)
        try connection.execute("CREATE TABLE app_writes (number INTEGER PRIMARY KEY)")
        for number in Self.writes { try connection.run("INSERT INTO app_writes VALUES (?)", [.integer(number)]) }
        let work = folder.file("work")
        try files.removeTree(work)
        try FileManager.default.copyItem(atPath: source, toPath: work)
        let start = Date()
        try run(["rollback", "\(work)/Library.sqlite"])
        seconds = Date().timeIntervalSince(start)
    }

    /// Kills a rollback after a share of an undisturbed rollback's duration; nil when the rollback had already ended.
    func kill(after share: Double) throws -> Outcome? {
        try files.removeTree(folder.file("work"))
        try FileManager.default.copyItem(atPath: folder.file("source"), toPath: folder.file("work"))
        let run = try TracedProgram(program, ["rollback", store], in: folder.path, output: folder.file("output"))
        Thread.sleep(forTimeInterval: share * seconds)
        run.kill()
        guard run.wait() == nil else { return nil }
        var outcome = Outcome(found: try state())
        if outcome.found == "damaged" { outcome.complaints.append("the store is damaged") }
        outcome.complaints += try missing().map { "\($0) after the kill" }
        let again = try TracedProgram(program, ["rollback", store], in: folder.path, output: folder.file("output"))
        let code = again.wait()
        if code != 0 {
            let text = try String(contentsOfFile: folder.file("output"), encoding: .utf8)
            outcome.complaints.append("the next call ended with \(code.map(String.init) ?? "a signal") \(text)")
        }
        outcome.complaints += try missing().map { "\($0) after the next call" }
        // After a kill behind the swap, the next call finishes the rollback or undoes it by another rollback.
        let end = try state()
        if end == "damaged" || (outcome.found == "as before" && end != "rolled back") {
            outcome.complaints.append("\(outcome.found), then \(end)")
        }
        if try files.exists(store + ".ferry") { outcome.complaints.append("the run folder is left") }
        return outcome
    }

    private func state() throws -> String {
        guard try PlainClient(store).integrity == "ok" else { return "damaged" }
        let connection = try Connection(path: store, mode: .readOnly)
        let isThere = try connection.integer("SELECT count(*) FROM sqlite_master WHERE name = 'app_writes'") == 1
        return isThere ? "as before" : "rolled back"
    }

    /// Returns a complaint about writes that are neither in the store nor in a snapshot.
    private func missing() throws -> [String] {
        var missing = Self.writes
        try take(from: store, &missing)
        let snapshots = try files.list(store + ".snapshots").map(\.name).filter { name in
            [".sqlite.zst", ".sqlite.gz"].contains(where: name.hasSuffix)
        }
        for name in snapshots where !missing.isEmpty {
            let copy = folder.file("copy.sqlite")
            for side in ["", "-wal", "-shm", "-journal"] { try files.removeIfPresent(copy + side) }
            let code = try TracedProgram(
                program, ["rollback", store, "\(store).snapshots/\(name)", "--output", copy], in: folder.path,
                output: folder.file("output")
            ).wait()
            if code == 0 { try take(from: copy, &missing) }
        }
        return missing.isEmpty ? [] : ["\(missing.count) writes are lost"]
    }

    private func take(from path: String, _ missing: inout Set<Int64>) throws {
        let connection = try Connection(path: path, mode: .readOnly)
        guard try connection.integer("SELECT count(*) FROM sqlite_master WHERE name = 'app_writes'") == 1 else {
            return
        }
        for row in try connection.rows("SELECT number FROM app_writes") {
            row[0].integer.map { _ = missing.remove($0) }
        }
    }
}
