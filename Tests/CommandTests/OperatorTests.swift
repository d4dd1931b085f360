import FerryBase
import FerrySQLite
import Foundation
import TestSupport
import Testing

/// What an operator does beside a migration: orders, hooks, waiting, history.
@Suite("Operators")
struct OperatorTests {
    private let app: RouteFolder
    private let words = ["migrate", "App.sqlite", "--models", "App.xcdatamodeld", "--accept-loss"]
    /// Options with which every step copies rows, in many chunks.
    private let copying = ["FERRY_EXECUTOR=row", "--chunk-size", "5", "--progress", "plain"]

    init() throws {
        app = try RouteFolder(inProcesses: true)
        try app.model("App", "App", RouteFolder.entity("Book", "title", "shelf"))
        try app.model("App", "App 2", RouteFolder.entity("Book", "title", "year"))
        try app.current("App", "App 2")
        try app.generate("App", "App", rows: 200)
    }

    private func status(_ store: String = "App.sqlite") throws -> [String: Any] {
        let text = try app.run("status", store, "--json").output
        return try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    }

    private func exists(_ file: String) -> Bool { FileManager.default.fileExists(atPath: app.folder.file(file)) }

    private func text(_ file: String) throws -> String {
        try String(contentsOfFile: app.folder.file(file), encoding: .utf8)
    }

    /// A command for `--on-event` that runs another one in a phase of a run.
    private func inPhase(_ phase: String, _ command: String) -> [String] {
        ["--on-event", "if [ \"$FERRY_EVENT $FERRY_PHASE\" = 'phase \(phase)' ]; then \(command); fi"]
    }

    private func ferry() throws -> String {
        "'\(try #require(BuiltProgram.path, "the program ferry stands beside the test bundle"))'"
    }

    // MARK: Control

    @Test("A paused migration says so in status, and continues when told")
    func pausesAndResumes() throws {
        let pause = try inPhase("rows", "\(ferry()) control App.sqlite pause --json > said.json")
        var seen: [String: Any] = [:]
        let outcome = try FerryBinary.run(
            words + copying + pause, in: app.folder.path, afterLine: "step 1: rows"
        ) {
            for _ in 0..<600 where seen["paused"] as? Bool != true {
                seen = try status()
                Thread.sleep(forTimeInterval: 0.05)
            }
            try app.done("control", "App.sqlite", "throttle", "10%")
            try app.done("control", "App.sqlite", "chunk-size", "7")
            try app.done("control", "App.sqlite", "resume")
        }
        #expect(outcome.exitCode == 0, "\(outcome.diagnostics)")
        #expect(seen["paused"] as? Bool == true && seen["state"] as? String == "running")
        #expect(try JSONSchema("control").differences(in: text("said.json")).isEmpty)
        #expect(try app.count("SELECT count(*) FROM ZBOOK") == 200)
    }

    @Test("A stop ends the call with 75; orders to a call that was killed do not reach the next one")
    func stopsAndForgets() throws {
        let stop = try inPhase("rows", "\(ferry()) control App.sqlite stop")
        let stopped = try app.run(words + copying + stop)
        #expect(stopped.exitCode == 75 && stopped.diagnostics.contains("An operator stopped"), "\(stopped)")
        let pause = try inPhase("rows", "\(ferry()) control App.sqlite pause")
        let killed = try FerryBinary.run(
            words + copying + pause, in: app.folder.path, sending: SIGKILL, afterLine: "pauses after")
        #expect(killed.exitCode == SIGKILL && exists("App.sqlite.ferry/control.json"))
        let late = try app.run("control", "App.sqlite", "pause")
        #expect(late.exitCode == 2 && late.diagnostics.contains("is running."), "\(late)")
        let finished = try app.run(words + copying)
        #expect(finished.exitCode == 0, "\(finished.diagnostics)")
    }

    @Test("A transaction in place cannot be paused, and says how to end it")
    func refusesInPlace() throws {
        let order = try inPhase(
            "rows", "\(ferry()) control App.sqlite pause; \(ferry()) control App.sqlite chunk-size 9")
        let outcome = try app.run(words + order)
        // The last command of the hook fails, which stops the run: the store is as before.
        #expect(outcome.exitCode == 1, "\(outcome.diagnostics)")
        #expect(outcome.diagnostics.contains("one transaction, which cannot rest"))
        #expect(outcome.diagnostics.contains("control App.sqlite stop"))
        #expect(outcome.diagnostics.contains("copies no rows in chunks"))
        #expect(try app.count("SELECT count(*) FROM pragma_table_info('ZBOOK') WHERE name = 'ZSHELF'") == 1)
    }

    @Test("A wrong order is a usage error", arguments: [["jump"], ["throttle"], ["throttle", "99%"], ["pause", "1"]])
    func refusesOrders(_ order: [String]) throws {
        #expect(try app.run(["control", "App.sqlite"] + order).exitCode == 64)
    }

    // MARK: Events

    @Test("The command of --on-event has each event in its environment, and nothing of it in its text")
    func runsCommand() throws {
        let name = "A';touch evil;'$(touch evil).sqlite"
        try FileManager.default.moveItem(atPath: app.folder.file("App.sqlite"), toPath: app.folder.file(name))
        let outcome = try app.run(
            ["migrate", name, "--models", "App.xcdatamodeld", "--accept-loss", "--json", "--on-event"]
                + ["echo \"$FERRY_EVENT|$FERRY_STORE|$FERRY_FROM|$FERRY_TO|$FERRY_PHASE|$FERRY_OUTCOME\" | tee -a log"])
        #expect(outcome.exitCode == 0, "\(outcome.diagnostics)")
        #expect(!exists("evil"))
        #expect(try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) is [String: Any], "one object only")
        let lines = try text("log").split(separator: "\n")
        let store = app.folder.file(name)
        #expect(lines.first == "planned|\(store)|App|App 2||")
        #expect(lines.last == "finished|\(store)|App|App 2||migrated")
        #expect(lines.contains("phase|\(store)|App|App 2|swap|"))
    }

    @Test(
        "A command that fails stops the migration with exit 1 and the store as before",
        arguments: ["planned", "phase"])
    func stopsByCommand(_ event: String) throws {
        let before = try Data(contentsOf: URL(fileURLWithPath: app.folder.file("App.sqlite")))
        let hook = "[ \"$FERRY_EVENT\" != \(event) ] || exit 9"
        let outcome = try app.run(words + copying + ["--on-event", hook])
        #expect(outcome.exitCode == 1, "\(outcome.diagnostics)")
        #expect(outcome.diagnostics.contains("The command of --on-event failed with exit code 9 at the event \(event)"))
        #expect(try Data(contentsOf: URL(fileURLWithPath: app.folder.file("App.sqlite"))) == before)
        #expect(try app.run(words + copying).exitCode == 0)
    }

    @Test("A command that fails at the swap prevents it, also in place", arguments: [[], ["FERRY_EXECUTOR=row"]])
    func stopsBeforeSwap(_ more: [String]) throws {
        let outcome = try app.run(words + more + inPhase("swap", "exit 3"))
        #expect(outcome.exitCode == 1, "\(outcome.diagnostics)")
        #expect(try app.count("SELECT count(*) FROM pragma_table_info('ZBOOK') WHERE name = 'ZSHELF'") == 1)
        #expect(try app.run(words + more).exitCode == 0)
    }

    @Test("A command that fails after the migration is a warning")
    func warnsAfterwards() throws {
        let outcome = try app.run(words + ["--on-event", "[ \"$FERRY_EVENT\" != finished ]"])
        #expect(outcome.exitCode == 0 && outcome.diagnostics.contains("warning: The command of --on-event failed"))
    }

    // MARK: Waiting

    @Test("--wait waits for a writer at the start, and says so")
    func waitsAtStart() throws {
        let writer = try Connection(path: app.folder.file("App.sqlite"), mode: .readWrite)
        try writer.execute("BEGIN IMMEDIATE")
        let refused = try app.run(words + ["--wait", "300ms"])
        #expect(refused.exitCode == 2 && refused.diagnostics.contains("still in use after 300 ms."), "\(refused)")
        let outcome = try FerryBinary.run(
            words + ["--wait", "5min"], in: app.folder.path, afterLine: "Waiting for it"
        ) { try writer.execute("ROLLBACK") }
        #expect(outcome.exitCode == 0, "\(outcome.diagnostics)")
    }

    @Test("--wait waits for a reader at the swap; what was done before is kept", arguments: ["delete", "wal"])
    func waitsAtSwap(_ mode: String) throws {
        try app.execute("PRAGMA journal_mode = \(mode)")
        var reader: Connection? = try Connection(path: app.folder.file("App.sqlite"), mode: .readWrite)
        try reader?.execute("BEGIN; SELECT count(*) FROM ZBOOK")
        // The report has the phases of both calls.
        let begin = Clock.nanoseconds()
        let held = try app.run(words + copying)
        #expect(held.exitCode == 75, "\(held.diagnostics)")
        let outcome = try FerryBinary.run(
            words + copying + ["--wait", "5min", "--report", "r.json"], in: app.folder.path, afterLine: "Waiting for it"
        ) {
            Thread.sleep(forTimeInterval: 1)
            // In WAL mode an open connection alone keeps the store in use.
            reader = nil
        }
        #expect(outcome.exitCode == 0, "\(outcome.diagnostics)")
        struct Report: Decodable {
            struct Phase: Decodable { var seconds: Double }
            var phases: [Phase]
        }
        let report = try JSONDecoder().decode(Report.self, from: Data(text("r.json").utf8))
        let work = Double(Clock.nanoseconds(since: begin)) / 1e9 - 1
        #expect(report.phases.map(\.seconds).reduce(0, +) < work, "the wait is not work: \(report)")
    }

    @Test("rollback --wait waits for a writer at the start, and for a reader at the swap")
    func rollbackWaits() throws {
        // Without a -wal, which a closing connection writes back.
        try app.execute("PRAGMA journal_mode = delete")
        #expect(try app.run(words + copying).exitCode == 0)
        let writer = try Connection(path: app.folder.file("App.sqlite"), mode: .readWrite)
        try writer.execute("BEGIN IMMEDIATE")
        let refused = try app.run("rollback", "App.sqlite", "--wait", "300ms")
        #expect(refused.exitCode == 2 && refused.diagnostics.contains("still in use after 300 ms."), "\(refused)")
        // The reader keeps its lock after the writer has ended.
        let reader = try Connection(path: app.folder.file("App.sqlite"), mode: .readWrite)
        try reader.execute("BEGIN; SELECT count(*) FROM ZBOOK")
        let outcome = try FerryBinary.run(
            ["rollback", "App.sqlite", "--wait", "5min", "--json"], in: app.folder.path, afterLine: "Waiting for it"
        ) {
            try writer.execute("ROLLBACK")
            Thread.sleep(forTimeInterval: 0.5)
            try reader.execute("ROLLBACK")
        }
        #expect(outcome.exitCode == 0, "\(outcome.diagnostics)")
        #expect(outcome.diagnostics.components(separatedBy: "Waiting for it").count == 2, "said once")
        #expect(try status()["restored"] != nil && history().map(\.kind) == ["migration", "rollback"])
        let snapshots = try FileManager.default.contentsOfDirectory(atPath: app.folder.file("App.sqlite.snapshots"))
        // Each attempt keeps the store that it would replace.
        #expect(snapshots.count { $0.hasSuffix(".json") } == 3, "\(snapshots)")
    }

    @Test("A signal, or a spent budget, ends the waiting with 75")
    func stopsWaiting() throws {
        let writer = try Connection(path: app.folder.file("App.sqlite"), mode: .readWrite)
        try writer.execute("BEGIN IMMEDIATE")
        let stopped = try FerryBinary.run(
            words + ["--wait", "5min"], in: app.folder.path, sending: SIGTERM, afterLine: "Waiting for it")
        #expect(stopped.exitCode == 75, "\(stopped.diagnostics)")
        let spent = try app.run(words + ["--wait", "5min", "--budget", "200ms"])
        #expect(spent.exitCode == 75 && spent.diagnostics.contains("is used up"), "\(spent.diagnostics)")
        try writer.execute("ROLLBACK")
        #expect(try app.run(words).exitCode == 0)
    }

    // MARK: History and status

    private struct History: Decodable {
        struct Run: Decodable {
            struct Loss: Decodable { var entity: String, property: String?, values: Int? }
            var kind: String, from: String?, to: String?, rows: Int?, losses: [Loss]?
            var isRolledBack: Bool, hasSnapshot: Bool
        }
        var runs: [Run]
    }

    private func history() throws -> [History.Run] {
        let output = try app.done("status", "App.sqlite", "--history", "--json").output
        return try JSONDecoder().decode(History.self, from: Data(output.utf8)).runs
    }

    @Test("History lists migrations and rollbacks, with rows, losses and what was rolled back")
    func listsHistory() throws {
        #expect(try app.done("status", "App.sqlite", "--history").output.contains("has no history"))
        #expect(try app.run(words).exitCode == 0)
        var runs = try history()
        #expect(runs.count == 1 && runs[0].from == "App" && runs[0].to == "App 2" && runs[0].rows == 200)
        #expect(runs[0].losses?.map(\.property) == ["shelf"] && runs[0].hasSnapshot && !runs[0].isRolledBack)
        try app.done("rollback", "App.sqlite")
        runs = try history()
        #expect(runs.map(\.kind) == ["migration", "rollback"] && runs[0].isRolledBack)
        #expect(runs[1].from == "App 2" && runs[1].to == "App")
        #expect(try app.run(words).exitCode == 0)
        #expect(try history().map(\.isRolledBack) == [true, false, false])
        #expect(try app.done("status", "App.sqlite", "--history").output.contains("Book.shelf"))

        try app.write("{", to: "App.sqlite.ferry-log.json")
        let damaged = try app.run("status", "App.sqlite", "--history")
        #expect(damaged.exitCode == 2 && damaged.diagnostics.contains("cannot be read"))
        #expect(try app.run("status", "None.sqlite", "--history").exitCode == 2)
    }

    @Test("On a narrow terminal the history and the snapshots keep times and paths whole")
    func fitsTerminal() throws {
        #expect(try app.run(words).exitCode == 0)
        for command in [["status", "App.sqlite", "--history"], ["snapshot", "list", "App.sqlite"]] {
            let lines = Captured.run(
                command.map { $0.replacing("App.sqlite", with: app.folder.file("App.sqlite")) }, width: 80
            )
            .output.split(separator: "\n")
            #expect(lines.contains { $0.contains(#/ \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ /#) }, "\(lines)")
            #expect(
                lines.contains { $0.contains("/App.sqlite.snapshots/") && $0.split(separator: " ").count < 3 },
                "\(lines)")
        }
    }

    @Test("Status says that a migration is finished except for the swap, in place and as a copy")
    func showsHeld() throws {
        for words in [words, words + copying + ["--restart"]] {
            #expect(try app.run(words + ["--hold-swap"]).exitCode == 75)
            let held = try app.done("status", "App.sqlite").output
            #expect(held.contains("is finished except for the swap") && held.contains("Close every program"), "\(held)")
        }
    }

    @Test("Status shows several stores")
    func showsSeveral() throws {
        #expect(try app.run(words).exitCode == 0)
        try app.generate("App", "App", as: "B.sqlite")
        let both = try app.done("status", "App.sqlite", "B.sqlite").output
        #expect(both.contains("App.sqlite finished") && both.contains("no running or unfinished migration"))
    }

    // MARK: Snapshots

    @Test("Retention comes from ferry.json, and the command line overrides it")
    func prunesByConfig() throws {
        for _ in 0..<3 { try app.done("snapshot", "create", "App.sqlite") }
        let none = try app.run("snapshot", "prune", "App.sqlite")
        #expect(none.exitCode == 64 && none.diagnostics.contains("No rule says which snapshots to keep"))
        try app.write(#"{ "snapshots": { "keepDaily": 7, "keepWeekly": 4 } }"#, to: "ferry.json")
        let trial = try app.done("snapshot", "prune", "App.sqlite", "--dry-run").output
        #expect(trial.contains("Would be removed:") && trial.contains("Would be kept:"))
        let kept = try app.done("snapshot", "prune", "App.sqlite", "--keep", "3", "--dry-run").output
        #expect(kept.contains("Nothing would be removed."))
        try app.done("snapshot", "prune", "App.sqlite")
        let left = try app.done("snapshot", "list", "App.sqlite").output.split(separator: "\n")
        #expect(left.count == 2, "the header and one snapshot")
    }

    // MARK: The question on a terminal

    @Test(
        "On a terminal the first migration in place is asked about, the next one is not",
        .enabled(if: Terminal.isThere, "needs script and stty of Linux"))
    func asks() throws {
        let no = try Terminal.run(words, width: 120, in: app.folder.path)
        #expect(no.text.contains("will be migrated from App to App 2: 200 rows."))
        #expect(no.text.contains("Loses: Book.shelf, ") && no.text.contains("was not confirmed"), "\(no.text)")
        #expect(!exists("App.sqlite.ferry-log.json"))
        for more in [["--output", "New.sqlite"], ["--rehearse"], ["--json"]] {
            let screen = try Terminal.run(words + more, width: 120, in: app.folder.path)
            #expect(!screen.text.contains("Continue?"), "\(more)")
        }
        try app.generate("App", "App", rows: 9, as: "B.sqlite")
        let yes = try Terminal.run(
            ["migrate", "B.sqlite", "--models", "App.xcdatamodeld", "--accept-loss", "--yes"], width: 120,
            in: app.folder.path)
        #expect(!yes.text.contains("Continue?") && exists("B.sqlite.ferry-log.json"))
        try app.done("rollback", "B.sqlite")
        let again = try Terminal.run(
            ["migrate", "B.sqlite", "--models", "App.xcdatamodeld", "--accept-loss"], width: 120, in: app.folder.path)
        #expect(!again.text.contains("Continue?"), "\(again.text)")
    }

    @Test("A stop ends a command of --on-event that hangs, with its child processes")
    func hangingCommand() throws {
        // Only that of the first event: the notice of the stop has ten seconds.
        let hook = "[ -e child ] || { echo hangs >&2; sleep 300 & echo $! > child; wait; }"
        let stopped = try FerryBinary.run(
            words + ["--on-event", hook], in: app.folder.path, sending: SIGTERM, afterLine: "hangs")
        #expect(stopped.exitCode == 75, "\(stopped.diagnostics)")
        let child = try #require(Int32(text("child").trimmingCharacters(in: .whitespacesAndNewlines)))
        // A zombie of another parent counts as there for a moment.
        for _ in 0..<100 where kill(child, 0) == 0 { Thread.sleep(forTimeInterval: 0.05) }
        #expect(kill(child, 0) != 0)
    }
}
