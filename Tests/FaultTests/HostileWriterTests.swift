internal import FerryBase
internal import FerryGenerate
internal import FerrySQLite
internal import Foundation
internal import TestSupport
internal import Testing

/// Clients open, hold, write and close the store at random while the program swaps it in, or rolls it back.
///
/// `FERRY_RACES` gives the number of trials (default: a few in each journal mode), `FERRY_KILL_SEED` the seed,
/// `FERRY_BINARY` the program.
@Suite("Hostile writers")
struct HostileWriterTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let modes = ["WAL", "DELETE", "TRUNCATE", "PERSIST"]
    private static let trials = environment["FERRY_RACES"].flatMap { Int($0) } ?? modes.count * 3
    private static let seed = environment["FERRY_KILL_SEED"].flatMap { UInt64($0) } ?? 1

    @Test("SQLite's acknowledged writes stay, and the store is valid at every moment")
    func race() throws {
        let program = try #require(Self.environment["FERRY_BINARY"] ?? BuiltProgram.path)
        let race = try HostileRace(program)
        var random = SeededRandom(Self.seed)
        var tally: [String: (acknowledged: Int, done: Int)] = [:]
        for trial in 0..<Self.trials {
            let mode = Self.modes[trial % Self.modes.count]
            let outcome = try race.run(mode, &random)
            #expect(outcome.complaints.isEmpty, "trial \(trial), \(mode), seed \(Self.seed): \(outcome.complaints)")
            tally[mode, default: (0, 0)].acknowledged += outcome.acknowledged
            tally[mode]?.done += outcome.done
        }
        #expect(tally.values.allSatisfy { $0.acknowledged > 0 && $0.done > 0 }, "\(tally)")
    }
}

/// Migrates and rolls back one store after another while clients use it.
private final class HostileRace {
    struct Outcome {
        var complaints: [String] = []
        var acknowledged = 0
        /// The number of completed swaps.
        var done = 0
    }

    private let program: String
    private let folder: TemporaryFolder
    private let files = FileLayer()
    private var store: String { folder.file("work/Library.sqlite") }

    init(_ program: String) throws {
        self.program = program
        folder = try TemporaryFolder()
        let made = try end(["demo", folder.file("source"), "--prepare", "--books", "30", "--authors", "5"])
        try #require(made == 0, "the demo's store cannot be made")
        let connection = try Connection(path: folder.file("source/Library.sqlite"), mode: .readWrite)
        try connection.execute(
            "PRAGMA journal_mode = DELETE; CREATE TABLE \(HostileClient.table) (number INTEGER PRIMARY KEY)")
    }

    private func end(_ words: [String]) throws -> Int32? {
        try TracedProgram(program, words, in: folder.path, output: folder.file("output")).wait()
    }

    func run(_ mode: String, _ random: inout SeededRandom) throws -> Outcome {
        try files.removeTree(folder.file("work"))
        try files.createDirectory(folder.file("work"))
        try FileManager.default.copyItem(atPath: folder.file("source/Library.sqlite"), toPath: store)
        do {
            let connection = try Connection(path: store, mode: .readWrite)
            _ = try connection.setPragma("journal_mode", to: mode)
        }
        let ledger = HostileClient.Ledger()
        var outcome = Outcome()
        let migrate = [
            "migrate", store, "--accept-loss", "--models", folder.file("source/Library.xcdatamodeld"), "--mappings",
            folder.file("source/Mappings"), "--to", "Library2", "--verify", "quick", "--progress", "none",
        ]
        let clients = Clients(store, ledger, &random)
        try call(migrate, "migrate", &outcome)
        if random.below(2) == 0 { try call(["rollback", store], "rollback", &outcome) }
        clients.end()
        try check(ledger, &outcome)
        return outcome
    }

    /// Calls the program until it succeeds, or three times while a client blocks it.
    private func call(_ words: [String], _ name: String, _ outcome: inout Outcome) throws {
        var words = words
        for _ in 0..<3 {
            switch try end(words) {
            case 0:
                outcome.done += 1
                return
            case 75: continue
            case 2:
                // A client is writing, or wrote during the run.
                if name == "migrate", !words.contains("--restart") { words.append("--restart") }
            case let code:
                let text = try String(contentsOfFile: folder.file("output"), encoding: .utf8)
                outcome.complaints.append("\(name) ended with \(code.map(String.init) ?? "a signal") \(text)")
                return
            }
        }
    }

    private func check(_ ledger: HostileClient.Ledger, _ outcome: inout Outcome) throws {
        let (acknowledged, failures) = ledger.state.withLock { ($0.acknowledged, $0.failures) }
        outcome.acknowledged = acknowledged.count
        outcome.complaints += Set(failures)
        var missing = acknowledged
        outcome.complaints += try take(from: store, &missing)
        guard !missing.isEmpty else { return }
        // A rollback keeps the rows that it replaces in a snapshot.
        let snapshots = try files.exists(store + ".snapshots") ? files.list(store + ".snapshots").map(\.name) : []
        for name in snapshots where [".sqlite.zst", ".sqlite.gz"].contains(where: name.hasSuffix) {
            let copy = folder.file("copy.sqlite")
            for side in ["", "-wal", "-shm", "-journal"] { try files.removeIfPresent(copy + side) }
            let code = try end(["rollback", store, "\(store).snapshots/\(name)", "--output", copy])
            guard code == 0 else { continue }
            outcome.complaints += try take(from: copy, &missing)
        }
        if !missing.isEmpty { outcome.complaints.append("\(missing.count) of \(acknowledged.count) writes are lost") }
    }

    /// Removes the rows of a valid database from the missing rows.
    private func take(from path: String, _ missing: inout Set<Int64>) throws -> [String] {
        do {
            let client = try PlainClient(path)
            guard client.integrity == "ok" else { return ["\(FileLayer.name(of: path)): \(client.integrity)"] }
            let connection = try Connection(path: path, mode: .readOnly)
            let rows = try connection.rows("SELECT number FROM \(HostileClient.table)")
            for row in rows {
                if let number = row[0].integer { missing.remove(number) }
            }
            return []
        } catch {
            return ["\(FileLayer.name(of: path)) cannot be read: \(error)"]
        }
    }
}

/// Threads whose connections behave in different ways.
private final class Clients {
    private final class Flag: Sendable {
        let isSet = Locked(false)
    }

    private let isOver = Flag()
    private let group = DispatchGroup()

    init(_ store: String, _ ledger: HostileClient.Ledger, _ random: inout SeededRandom) {
        for _ in 0..<2 + Int(random.below(3)) {
            let habit = random.below(5)
            let delays = (0..<8).map { _ in UInt32(random.below(60_000)) }
            // This connection opens before the program starts, whatever the thread does later.
            let early = habit < 3 ? HostileClient(store, ledger, patience: Int32(random.below(3)) * 20) : nil
            nonisolated(unsafe) var client = early
            group.enter()
            Thread.detachNewThread { [isOver, group] in
                defer { group.leave() }
                switch habit {
                case 0:
                    // An idle connection, used once, perhaps long after the swap.
                    usleep(delays.reduce(0, +) / 2)
                    client?.write()
                    usleep(delays[0])
                    client?.write()
                    client = nil
                case 1:
                    client?.read()
                    usleep(delays[0])
                    client?.holdReading()
                    usleep(delays[1])
                    client?.letGo()
                    client?.write()
                    client = nil
                case 2:
                    for delay in delays {
                        usleep(delay)
                        client?.write()
                    }
                    client = nil
                default:
                    // Opens, writes and closes repeatedly.
                    var turn = 0
                    while !isOver.isSet.withLock({ $0 }), turn < 400 {
                        HostileClient(store, ledger).write()
                        usleep(delays[turn % delays.count] / (habit == 3 ? 8 : 2))
                        turn += 1
                    }
                }
            }
        }
    }

    /// Waits for all threads.
    func end() {
        isOver.isSet.withLock { $0 = true }
        usleep(2_000)
        group.wait()
    }
}
