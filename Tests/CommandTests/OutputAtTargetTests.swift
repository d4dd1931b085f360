internal import FerryBase
internal import FerrySQLite
internal import Foundation
internal import TestSupport
internal import Testing

/// `--output NEW` with a store of the target version: after exit code 0, NEW exists.
@Suite("An output of a store at its target")
struct OutputAtTargetTests {
    private let app: RouteFolder

    init() throws {
        app = try RouteFolder(inProcesses: true)
        try app.model(
            "App", "App",
            RouteFolder.entity(
                "Book", "title",
                "<attribute name=\"cover\" optional=\"YES\" attributeType=\"Binary\" "
                    + "allowsExternalBinaryDataStorage=\"YES\"/>"))
        try app.model("App", "App 2", RouteFolder.entity("Book", "title"))
        try app.current("App", "App")
        try app.generate("App", "App", rows: 50)
    }

    private let call = [
        "migrate", "--accept-loss", "App.sqlite", "--models", "App.xcdatamodeld", "--output", "New.sqlite",
    ]

    @Test("A dangling symbolic link at the path blocks an output, and a restored snapshot")
    func danglingLink() throws {
        try app.current("App", "App 2")
        try app.done("snapshot", "create", "App.sqlite")
        try FileManager.default.createSymbolicLink(
            atPath: app.folder.file("New.sqlite"), withDestinationPath: "nowhere.sqlite")
        for call in [call, ["rollback", "App.sqlite", "--output", "New.sqlite"]] {
            let refused = try app.run(call)
            #expect(refused.exitCode == 2 && refused.diagnostics.contains("Choose another output"), "\(refused)")
        }
        try FileManager.default.removeItem(atPath: app.folder.file("New.sqlite"))
        try app.done("rollback", "App.sqlite", "--output", "New.sqlite")
    }

    private func bytes(_ file: String) throws -> Data {
        try Data(contentsOf: URL(fileURLWithPath: app.folder.file(file)))
    }

    @Test("The output has the store's content with its -wal and external files; the store stays")
    func copied() throws {
        let name = UUID().uuidString
        try app.write("a cover", to: ".App_SUPPORT/_EXTERNAL_DATA/\(name)")
        let hexadecimal = name.utf8.map { String($0, radix: 16) }.joined()
        // Another program has the store open, and has written to its -wal.
        let writer = try Connection(path: app.folder.file("App.sqlite"), mode: .readWrite)
        try writer.execute(
            """
            PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;
            UPDATE ZBOOK SET ZTITLE = 'written late', ZCOVER = x'02\(hexadecimal)00' WHERE Z_PK = 7
            """)
        let before = [try bytes("App.sqlite"), try bytes("App.sqlite-wal")]
        #expect(before[1].count > 0)
        let outcome = try app.run(call)
        #expect(outcome.exitCode == 0 && outcome.output.contains("is a copy of the store"), "\(outcome)")
        #expect(
            try app.count("SELECT count(*) FROM ZBOOK WHERE ZTITLE = 'written late' AND Z_PK = 7", in: "New.sqlite")
                == 1)
        #expect(try app.count("SELECT count(*) FROM ZBOOK", in: "New.sqlite") == 50)
        #expect(try bytes(".New_SUPPORT/_EXTERNAL_DATA/\(name)") == Data("a cover".utf8))
        #expect([try bytes("App.sqlite"), try bytes("App.sqlite-wal")] == before)
        try app.done("verify", "New.sqlite", "--models", "App.xcdatamodeld")
        #expect(!FileManager.default.fileExists(atPath: app.folder.file("New.sqlite.ferry")))
        withExtendedLifetime(writer) {}
        // The repeated call finds its output; another store's output is not overwritten.
        let again = try app.run(call + ["--json"])
        #expect(again.exitCode == 0 && again.output.contains("\"upToDate\""), "\(again)")
        try writer.execute("UPDATE ZBOOK SET ZTITLE = 'later still' WHERE Z_PK = 8")
        let other = try app.run(call)
        #expect(other.exitCode == 2 && other.diagnostics.contains("already exists"), "\(other)")
    }

    @Test(
        "An output that was emptied, replaced or written to does not count as finished",
        arguments: ["App", "App 2"], ["emptied", "replaced", "written to", "written to in its -wal"])
    func changed(_ target: String, _ change: String) throws {
        let call = call + ["--to", target]
        #expect(try app.run(call).exitCode == 0)
        let untouched = try app.run(call + ["--json"])
        #expect(untouched.exitCode == 0 && untouched.output.contains("\"upToDate\""), "\(untouched)")
        let output = app.folder.file("New.sqlite")
        var writer: Connection?
        switch change {
        case "emptied": #expect(truncate(output, 0) == 0)
        case "replaced":
            try FileManager.default.removeItem(atPath: output)
            try FileManager.default.copyItem(atPath: app.folder.file("App.sqlite"), toPath: output)
        case "written to": try app.execute("DELETE FROM ZBOOK WHERE Z_PK = 7", on: "New.sqlite")
        default:
            try app.execute("PRAGMA journal_mode = WAL", on: "New.sqlite")
            writer = try Connection(path: output, mode: .readWrite)
            try writer?.execute("PRAGMA wal_autocheckpoint = 0; DELETE FROM ZBOOK WHERE Z_PK = 7")
        }
        let now = try bytes("New.sqlite")
        let again = try app.run(call)
        #expect(again.exitCode == 2 && again.diagnostics.contains("already exists"), "\(again)")
        #expect(try bytes("New.sqlite") == now)
        withExtendedLifetime(writer) {}
    }

    @Test("A stopped call can be resumed, and JSON names the outcome")
    func stopped() throws {
        let held = try app.run(call + ["--hold-swap"])
        #expect(held.exitCode == 75, "\(held)")
        #expect(!FileManager.default.fileExists(atPath: app.folder.file("New.sqlite")))
        let outcome = try app.run(call + ["--json"])
        #expect(outcome.exitCode == 0 && outcome.output.contains("\"copied\""), "\(outcome)")
        #expect(try app.count("SELECT count(*) FROM ZBOOK", in: "New.sqlite") == 50)
    }

    @Test("A store with inconsistent pages is refused, and copied unchanged on request")
    func damaged() throws {
        try app.execute(
            """
            PRAGMA journal_mode = DELETE; CREATE INDEX ZBOOK_BAD ON ZBOOK (ZTITLE); PRAGMA writable_schema = ON;
            UPDATE sqlite_master SET rootpage = (SELECT rootpage FROM sqlite_master WHERE name = 'ZBOOK')
                WHERE name = 'ZBOOK_BAD'
            """)
        let refused = try app.run(call)
        #expect(refused.exitCode == 2 && refused.diagnostics.contains("--damaged keep"), "\(refused)")
        #expect(!FileManager.default.fileExists(atPath: app.folder.file("New.sqlite")))
    }

    @Test("A rehearsal of a store at its target makes no files")
    func rehearsed() throws {
        let outcome = try app.run(
            ["migrate", "App.sqlite", "--models", "App.xcdatamodeld", "--rehearse", "--json"])
        #expect(outcome.exitCode == 0 && outcome.output.contains("\"upToDate\""), "\(outcome)")
    }
}
