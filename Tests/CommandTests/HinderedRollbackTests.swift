internal import FerryBase
internal import FerrySQLite
internal import Foundation
internal import TestSupport
internal import Testing

/// A rollback by the program against obstacles: each committed write of the app is always in the store or in a
/// snapshot.
@Suite("A rollback with obstacles")
struct HinderedRollbackTests {
    private let app: RouteFolder

    init() throws {
        app = try RouteFolder(inProcesses: true)
        try app.model("App", "App 1", RouteFolder.entity("Book", "title", "filling:Binary"))
        try app.model("App", "App 2", RouteFolder.entity("Book", "title", "filling:Binary", "note"))
        try app.current("App", "App 2")
        try app.generate("App", "App 1", rows: 20)
        try app.done("migrate", "App.sqlite", "--models", "App.xcdatamodeld")
    }

    /// Writes as the app does, in WAL mode, and commits.
    private func write(_ title: String) throws {
        try app.execute("UPDATE ZBOOK SET ZTITLE = '\(title)' WHERE Z_PK = 1")
    }

    /// Returns the titles of the first book in the store and in all snapshots.
    private func saved(_ store: String = "App.sqlite") throws -> Set<String> {
        var titles: Set<String> = [try title(store)]
        let names = try FileLayer().list(app.folder.file(store) + ".snapshots").map(\.name)
        for name in names where [".sqlite.zst", ".sqlite.gz"].contains(where: name.hasSuffix) {
            for side in ["", "-wal", "-shm"] { try FileLayer().removeIfPresent(app.folder.file("copy.sqlite") + side) }
            try app.done("rollback", store, "\(store).snapshots/\(name)", "--output", "copy.sqlite")
            titles.insert(try title("copy.sqlite"))
        }
        return titles
    }

    private func title(_ store: String) throws -> String {
        let connection = try Connection(path: app.folder.file(store), mode: .readWrite)
        guard try connection.value("PRAGMA integrity_check") == .text("ok") else { return "damaged" }
        return try connection.value("SELECT ZTITLE FROM ZBOOK WHERE Z_PK = 1")?.text ?? ""
    }

    @Test("Status and migrate name an unfinished rollback, and the same rollback finishes it")
    func namesUnfinished() throws {
        try write("one")
        do {
            let reader = try Connection(path: app.folder.file("App.sqlite"), mode: .readWrite)
            try reader.execute("BEGIN")
            #expect(try reader.value("SELECT ZTITLE FROM ZBOOK WHERE Z_PK = 1") == .text("one"))
            #expect(try app.run("rollback", "App.sqlite").exitCode == 75)
        }
        let status = try app.done("status", "App.sqlite").output
        #expect(status.contains("A rollback of App.sqlite is unfinished") && !status.contains("migrat"), "\(status)")
        #expect(try app.done("status", "App.sqlite", "--json").output.contains("\"rollback\": true"))
        try app.model("App", "App 3", RouteFolder.entity("Book", "title", "filling:Binary", "note", "year"))
        let other = try app.run("migrate", "App.sqlite", "--models", "App.xcdatamodeld", "--to", "App 3")
        #expect(other.exitCode == 2 && other.diagnostics.contains("discard it and run the same command"), "\(other)")
        try app.done("rollback", "App.sqlite")
        #expect(try app.done("status", "App.sqlite").output.contains("was rolled back"))
    }

    @Test("With a reader in a transaction a rollback waits or finishes, and the reader can continue to read")
    func reader() throws {
        try write("one")
        do {
            let reader = try Connection(path: app.folder.file("App.sqlite"), mode: .readWrite)
            try reader.execute("BEGIN")
            #expect(try reader.value("SELECT ZTITLE FROM ZBOOK WHERE Z_PK = 1") == .text("one"))
            for turn in 0..<3 {
                let outcome = try app.run("rollback", "App.sqlite")
                #expect([0, 2, 75].contains(outcome.exitCode), "\(turn): \(outcome)")
                #expect(try reader.value("SELECT ZTITLE FROM ZBOOK WHERE Z_PK = 1") == .text("one"))
                #expect(try saved().contains("one"), "\(turn)")
            }
            try reader.execute("COMMIT")
        }
        let outcome = try app.run("rollback", "App.sqlite")
        #expect(outcome.exitCode == 0, "\(outcome)")
        #expect(try saved().contains("one"))
    }

    @Test("Three rollbacks after writes lose nothing")
    func threeTimes() throws {
        var written: Set<String> = []
        for title in ["one", "two", "three"] {
            try write(title)
            written.insert(title)
            try app.done("rollback", "App.sqlite")
            #expect(try saved().isSuperset(of: written))
            #expect(try self.title("App.sqlite") != title)
        }
    }

    @Test(
        "With an unwritable folder of snapshots a rollback is refused, and the store stays",
        .enabled(if: UnwritableStoreTests.canRun, "A user other than root is needed."))
    func unwritable() throws {
        try write("one")
        let files = FileManager.default
        for item in try files.subpathsOfDirectory(atPath: app.folder.path) where item.hasPrefix("App.sqlite") {
            let isFolder = item.hasSuffix(".snapshots")
            try files.setAttributes(
                [.posixPermissions: isFolder ? 0o555 : item.contains("/") ? 0o444 : 0o666],
                ofItemAtPath: app.folder.file(item))
        }
        let outcome = try app.runUnprivileged(["rollback", "App.sqlite"])
        #expect([1, 2].contains(outcome.exitCode), "\(outcome)")
        try files.setAttributes([.posixPermissions: 0o777], ofItemAtPath: app.folder.file("App.sqlite.snapshots"))
        #expect(try title("App.sqlite") == "one")
        try app.done("rollback", "App.sqlite")
        #expect(try title("App.sqlite") != "one")
        #expect(try saved().contains("one"))
    }

    #if os(Linux)
        @Test(
            "On a full disk a rollback ends with an error, the store stays, and with room it succeeds",
            .enabled(if: MountNamespace.isAllowed, "this system allows no mount namespace"), arguments: [0, 60, 200])
        func fullDisk(freeKilobytes: Int) throws {
            try write("one")
            try app.execute(
                "UPDATE ZBOOK SET ZFILLING = randomblob(20000); PRAGMA wal_checkpoint(TRUNCATE)")
            // All of this runs on a small volume; the program's output and the store's content are written to the
            // folder.
            let script = """
                mount -t tmpfs -o size=8m none "$1" && cp -r App.sqlite* "$1/" && cd "$1" || exit 99
                head -c 16m /dev/zero > full 2> /dev/null
                [ "$3" = 0 ] || truncate -s -"$3"K full
                "$2" rollback App.sqlite > "$4/first" 2>&1; echo $? > "$4/code"
                mkdir "$4/after" && cp -r App.sqlite* "$4/after/"
                rm full
                "$2" rollback App.sqlite > "$4/second" 2>&1; echo $? > "$4/code2"
                mkdir "$4/done" && cp -r App.sqlite* "$4/done/"
                """
            let volume = app.folder.file("volume")
            try FileManager.default.createDirectory(atPath: volume, withIntermediateDirectories: true)
            let run = try FerryBinary.run(
                [
                    "-m", "sh", "-c", script, "sh", volume, try #require(BuiltProgram.path), "\(freeKilobytes)",
                    app.folder.path,
                ], in: app.folder.path, program: "/usr/bin/unshare")
            #expect(run.exitCode == 0, "\(run)")
            func text(_ file: String) throws -> String {
                try String(contentsOfFile: app.folder.file(file), encoding: .utf8)
            }
            let first = try text("code").trimmingCharacters(in: .whitespacesAndNewlines)
            let (said, saidThen) = (try text("first"), try text("second"))
            #expect(["1", "2", "75"].contains(first), "\(first) \(said)")
            #expect(try title("after/App.sqlite") == "one", "\(said)")
            #expect(try text("code2").hasPrefix("0"), "\(saidThen)")
            #expect(try title("done/App.sqlite") != "one")
            #expect(try saved("done/App.sqlite").contains("one"))
        }
    #endif
}
