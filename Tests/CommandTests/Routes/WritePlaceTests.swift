internal import FerryBase
internal import Foundation
internal import TestSupport
internal import Testing

/// Paths that belong to SQLite, to a run, to snapshots or to external files.
@Suite("A path that Ferry may not write to")
struct WritePlaceTests {
    private let app: RouteFolder

    init() throws {
        app = try RouteFolder()
        try app.model("App", "v1", RouteFolder.entity("Note", "title"))
        try app.model("App", "v2", RouteFolder.entity("Note", "title", "text"))
        try app.current("App", "v2")
        try app.generate("App", "v1")
    }

    private func exists(_ file: String) -> Bool { FileManager.default.fileExists(atPath: app.folder.file(file)) }

    private static let migrate = ["migrate", "App.sqlite", "--models", "App.xcdatamodeld", "--quiet"]

    /// The names that are taken beside App.sqlite, and those in folders that are.
    private static let names = ["App.sqlite-wal", "App.sqlite-shm", "App.sqlite-journal", "App.sqlite.ferry-log.json"]
    private static let folders = [
        "App.sqlite.ferry", "App.sqlite.snapshots", ".App_SUPPORT/_EXTERNAL_DATA", "Other.ferry",
    ]

    /// Makes the folders, of which Other.ferry is that of a run whose store is gone.
    private func makeFolders() throws {
        for folder in Self.folders { try app.write("", to: folder + "/run.json") }
        for folder in Self.folders where folder != "Other.ferry" {
            try FileManager.default.removeItem(atPath: app.folder.file(folder + "/run.json"))
        }
    }

    /// Every command that writes a file where the command line says; `%` is the file.
    private static let commands: [(words: [String], ending: String)] = [
        (migrate + ["--output", "%"], ""), (["rollback", "App.sqlite", "--output", "%"], ""),
        (["generate", "App.xcdatamodeld", "--version", "v1", "--rows", "1", "--output", "%"], ""),
        (["mapping", "init", "App.xcdatamodeld:v1", "App.xcdatamodeld:v2", "--output", "%"], ""),
        (["config", "init", "--models", "App.xcdatamodeld", "--output", "%"], ""),
        (["graph", "App.xcdatamodeld", "--output", "%"], ""),
        (["plan", "App.sqlite", "--models", "App.xcdatamodeld", "--report", "%"], ".html"),
        (migrate + ["--report", "%"], ".html"),
        (["tune", "App.sqlite", "--models", "App.xcdatamodeld", "--report", "%"], ".html"),
        (["verify", "App.sqlite", "--models", "App.xcdatamodeld", "--report", "%"], ".html"),
    ]

    @Test("is refused as an output, a report and a restored store, by every command", arguments: commands.indices)
    func refusesOutputs(_ index: Int) throws {
        try app.done("snapshot", "create", "App.sqlite", "--snapshot-dir", "Kept")
        try makeFolders()
        let (command, ending) = Self.commands[index]
        let names = ending.isEmpty ? Self.names : []
        for path in names + Self.folders.map({ $0 + "/New" + ending }) + [
            "./.App_SUPPORT/_EXTERNAL_DATA/../New" + ending
        ] {
            var words = command.map { $0 == "%" ? path : $0 }
            if words[0] == "rollback" { words += ["--snapshot-dir", "Kept"] }
            let outcome = try app.run(words)
            #expect(outcome.exitCode == 2, "\(words): \(outcome)")
            #expect(
                outcome.diagnostics.contains(" is reserved: ") || outcome.diagnostics.contains(", the folder of "),
                "\(words): \(outcome.diagnostics)")
            #expect(!exists(path), "\(words)")
        }
        // The same names without a store beside them are free.
        let free = try app.run(
            command.map { $0 == "%" ? "Free-journal" + ending : $0 }
                + (command[0] == "rollback" ? ["--snapshot-dir", "Kept"] : []))
        #expect(free.exitCode == 0, "\(free)")
        #expect(exists("Free-journal" + ending))
    }

    @Test("is refused also beside an output of the same command")
    func refusesBesideOutput() throws {
        try app.refused(
            "migrate", "App.sqlite", "--models", "App.xcdatamodeld", "--output", "New.html", "--report",
            "New.html.ferry/report.html")
        let outcome = try app.refused(
            "migrate", "App.sqlite", "--models", "App.xcdatamodeld", "--output", "New", "--report", "New.ferry/r.html")
        #expect(outcome.diagnostics.contains("the folder of a run"), "\(outcome)")
    }

    @Test(
        "is refused as the folder of snapshots before anything is written",
        arguments: [
            "App.sqlite.ferry", "App.sqlite.ferry/a/b", ".App_SUPPORT", ".App_SUPPORT/_EXTERNAL_DATA/s", "Other.ferry",
            "link", "link/s", "App.sqlite.ferry/../App.sqlite.ferry", "App.sqlite", "App.sqlite/s", "dangling",
        ])
    func refusesSnapshotFolders(_ path: String) throws {
        try app.write("", to: "Other.ferry/lock")
        let manager = FileManager.default
        try manager.createDirectory(atPath: app.folder.file(".App_SUPPORT"), withIntermediateDirectories: true)
        try manager.createSymbolicLink(atPath: app.folder.file("link"), withDestinationPath: ".App_SUPPORT")
        try manager.createSymbolicLink(atPath: app.folder.file("dangling"), withDestinationPath: "nowhere")
        try app.refused("migrate", "App.sqlite", "--models", "App.xcdatamodeld", "--snapshot-dir", path)
        try app.refused("snapshot", "create", "App.sqlite", "--snapshot-dir", path)
        #expect(try manager.contentsOfDirectory(atPath: app.folder.file(".App_SUPPORT")).isEmpty)
    }

    @Test("A folder with a name like one of these takes snapshots and outputs if it is none")
    func takesOtherFolders() throws {
        for (number, folder) in ["Mine.ferry", ".Mine_SUPPORT", "Mine.snapshots"].enumerated() {
            try FileManager.default.createDirectory(
                atPath: app.folder.file(folder), withIntermediateDirectories: true)
            try app.done(Self.migrate + ["--output", "\(folder)/New\(number).sqlite"])
            try app.done("snapshot", "create", "App.sqlite", "--snapshot-dir", folder)
        }
    }

    // MARK: The snapshot before COMMIT

    /// What happens to the snapshot after it was taken.
    enum Loss: String, CaseIterable {
        case folderRemoved, archiveRemoved, manifestRemoved, cutOff, rotten, externalRemoved
    }

    @Test("A held swap does not happen without its snapshot, and happens with a new one", arguments: Loss.allCases)
    func looksAgain(_ loss: Loss) throws {
        try app.write(
            "{ \"source\": \"v1\", \"destination\": \"v2\", \"entityMappings\": [{ \"name\": \"N\", \"source\": \"Note\", \"destination\": \"Note\", \"where\": \"title != nil\" }] }",
            to: "m.json")
        let external = ".App_SUPPORT/_EXTERNAL_DATA/38379490-3126-421A-9628-DA681244BFCA"
        try app.write("large", to: external)
        let words = Self.migrate + ["--mappings", "m.json", "--accept-loss"]
        let held = try app.run(words + ["--hold-swap"])
        #expect(held.exitCode == 75, "\(held)")
        let folder = app.folder.file("App.sqlite.snapshots")
        let manager = FileManager.default
        let files = try manager.contentsOfDirectory(atPath: folder)
        func remove(_ ending: String) throws {
            let name = try #require(files.first { $0.hasSuffix(ending) })
            try manager.removeItem(atPath: "\(folder)/\(name)")
        }
        let archive = try #require(files.first { $0.hasSuffix(".zst") || $0.hasSuffix(".gz") })
        var bytes = try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(archive)"))
        switch loss {
        case .folderRemoved: try manager.removeItem(atPath: folder)
        case .archiveRemoved: try manager.removeItem(atPath: "\(folder)/\(archive)")
        case .manifestRemoved: try remove(".json")
        case .cutOff: try bytes.dropLast().write(to: URL(fileURLWithPath: "\(folder)/\(archive)"))
        case .rotten:
            bytes[bytes.count / 2] ^= 1
            try bytes.write(to: URL(fileURLWithPath: "\(folder)/\(archive)"))
        case .externalRemoved: try remove("_SUPPORT")
        }
        let before = try Data(contentsOf: URL(fileURLWithPath: app.folder.file("App.sqlite")))
        var outcome = try app.run(words)
        if loss == .rotten || loss == .externalRemoved {
            // Only reading the archive shows it: that is done before COMMIT.
            #expect(outcome.exitCode == 1 && outcome.diagnostics.contains("was removed or damaged"), "\(outcome)")
            #expect(try Data(contentsOf: URL(fileURLWithPath: app.folder.file("App.sqlite"))) == before)
            outcome = try app.run(words)
        }
        #expect(outcome.exitCode == 0, "\(outcome)")
        #expect(try app.count("SELECT count(*) FROM pragma_table_info('ZNOTE') WHERE name = 'ZTEXT'") == 1)
        let back = try app.run("rollback", "App.sqlite")
        #expect(back.exitCode == 0, "\(back)")
        #expect(try app.count("SELECT count(*) FROM pragma_table_info('ZNOTE') WHERE name = 'ZTEXT'") == 0)
    }
}

extension RouteFolder {
    @discardableResult
    func done(_ words: [String], location: SourceLocation = #_sourceLocation) throws -> FerryBinary.Outcome {
        let outcome = try run(words)
        #expect(outcome.exitCode == 0, "\(words): \(outcome)", sourceLocation: location)
        return outcome
    }
}
