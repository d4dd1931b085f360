internal import FerryBase
internal import Foundation
internal import TestSupport
internal import Testing

/// Files that are not what their names promise: each is refused before anything changes.
@Suite("Bad input")
struct BadInputTests {
    private let app: RouteFolder
    private let manager = FileManager.default

    init() throws {
        app = try RouteFolder()
        try app.model("App", "v1", RouteFolder.entity("Note", "title"))
        try app.model("App", "v2", RouteFolder.entity("Note", "title", "text"))
        try app.current("App", "v2")
        try app.generate("App", "v1", rows: 300)
    }

    private var store: String { app.folder.file("App.sqlite") }
    private static let models = ["App.sqlite", "--models", "App.xcdatamodeld"]
    /// Every command that reads the store.
    private static let commands = [
        ["inspect", "App.sqlite"], ["plan"] + models, ["plan"] + models + ["--check"], ["migrate"] + models,
        ["migrate"] + models + ["--output", "New.sqlite"], ["migrate"] + models + ["--rehearse"], ["verify"] + models,
        ["snapshot", "create", "App.sqlite"], ["tune"] + models,
    ]

    private func expectRefusals(_ words: String, of commands: [[String]]) throws {
        for command in commands {
            let outcome = try app.run(command)
            #expect(outcome.exitCode == 2 && outcome.diagnostics.contains(words), "\(command): \(outcome)")
            #expect(!manager.fileExists(atPath: app.folder.file("New.sqlite")))
        }
    }

    @Test("A truncated store is called damaged by every command", arguments: [1.0, 0.5, 0.25])
    func truncatedStore(_ share: Double) throws {
        let bytes = try Data(contentsOf: URL(fileURLWithPath: store))
        try bytes.prefix(max(4_096, Int(Double(bytes.count - 4_096) * share))).write(to: URL(fileURLWithPath: store))
        for command in Self.commands where share < 1 || command[0] != "inspect" {
            let outcome = try app.run(command)
            #expect(outcome.exitCode == 2, "\(command): \(outcome)")
            #expect(
                outcome.diagnostics.contains("damaged") || outcome.output.contains("damaged"), "\(command): \(outcome)")
            #expect(
                outcome.diagnostics.contains(".recover") || outcome.output.contains(".recover"),
                "\(command): \(outcome)")
            #expect(!outcome.diagnostics.contains("Run the same command again"), "\(command): \(outcome)")
        }
    }

    @Test("What is in the way of a side file or of the snapshots is named", arguments: ["-wal", "-journal", "-shm"])
    func sideFiles(_ ending: String) throws {
        let readers = ending == "-shm" ? Self.commands.filter { $0 == ["migrate"] + Self.models } : Self.commands
        try manager.createDirectory(atPath: store + ending, withIntermediateDirectories: false)
        try expectRefusals("App.sqlite\(ending) is not a regular file but a folder", of: readers)
        try manager.removeItem(atPath: store + ending)
        try manager.createSymbolicLink(atPath: store + ending, withDestinationPath: "nowhere")
        try expectRefusals("App.sqlite\(ending) is not a regular file but a symbolic link", of: readers)
    }

    @Test("A file under the name of the snapshots' folder is refused")
    func snapshotsFile() throws {
        try app.write("", to: "App.sqlite.snapshots")
        try expectRefusals(
            "App.sqlite.snapshots is not a folder",
            of: [["migrate"] + Self.models, ["snapshot", "create", "App.sqlite"]])
        try app.done(["migrate"] + Self.models + ["--snapshot", "none"])
    }

    @Test("Metadata of 10 MB are refused")
    func longUUID() throws {
        try app.execute("UPDATE Z_METADATA SET Z_UUID = hex(zeroblob(5000000))")
        try expectRefusals("is larger than 2 MiB", of: Self.commands)
    }

    @Test("A log of runs that is too long, or no file, is set aside and blocks no command", arguments: [true, false])
    func longLog(_ isFile: Bool) throws {
        try app.done(["migrate"] + Self.models)
        let log = store + ".ferry-log.json"
        try manager.removeItem(atPath: log)
        if isFile {
            try app.write("", to: "App.sqlite.ferry-log.json")
            let file = try FileHandle(forWritingTo: URL(fileURLWithPath: log))
            try file.truncate(atOffset: 100_000_000)
            try file.close()
        } else {
            try manager.createDirectory(atPath: log, withIntermediateDirectories: false)
        }
        try app.done("status", "App.sqlite")
        try app.done("snapshot", "create", "App.sqlite")
        let back = try app.run("rollback", "App.sqlite", "--json")
        #expect(back.exitCode == 0, "\(back)")
        #expect(manager.fileExists(atPath: log + ".unreadable"))
        #expect(try manager.attributesOfItem(atPath: log)[.size] as? Int ?? 0 < 100_000)
    }

    /// The longest name whose files beside it, also those set aside, have names of at most 255 bytes.
    private static let longest = 255 - ".ferry-log.json.unreadable".utf8.count

    @Test("A store whose name leaves no room for the names beside it is refused with the length that is allowed")
    func longNames() throws {
        for length in [Self.longest + 1, 237, 245, 246, 255] {
            let name = String(repeating: "n", count: length)
            try manager.copyItem(atPath: store, toPath: app.folder.file(name))
            let words = [
                ["migrate", name, "--models", "App.xcdatamodeld"], ["plan", name, "--models", "App.xcdatamodeld"],
                ["migrate", "App.sqlite", "--models", "App.xcdatamodeld", "--output", name + "x"],
                ["generate", "App.xcdatamodeld", "--version", "v1", "--output", name],
            ]
            for command in words where length < 255 || !command.contains("--output") {
                let outcome = try app.run(command)
                #expect(outcome.exitCode == 2, "\(command): \(outcome)")
                #expect(outcome.diagnostics.contains("at most \(Self.longest) bytes"), "\(outcome)")
            }
            try manager.removeItem(atPath: app.folder.file(name))
        }
        let name = String(repeating: "n", count: Self.longest)
        try manager.moveItem(atPath: store, toPath: app.folder.file(name))
        try app.done(["migrate", name, "--models", "App.xcdatamodeld"])
        try app.write("no log", to: name + ".ferry-log.json")
        try app.done(["rollback", name])
        #expect(manager.fileExists(atPath: app.folder.file(name + ".ferry-log.json.unreadable")))
    }

    @Test("A file of another kind is called what it is, and hears of decryption only if it may be encrypted")
    func otherKinds() throws {
        let kinds: [(Data, what: String, remedy: String)] = [
            (Data(), "an empty file", "backup"), (Data(count: 8_192), "a file of zero bytes", "backup"),
            (Data("<?xml version=\"1.0\"?><database/>".utf8), "an XML file", "another type"),
            (Data("bplist00".utf8 + [UInt8](repeating: 7, count: 200)), "a binary property list", "another type"),
            (Data("SQLite format 3\0".utf8), "is truncated within its header", ".recover"),
            (Data("Dear diary".utf8), "a text file", "main file"),
            (Data((0..<200).map { UInt8(truncatingIfNeeded: $0 * 167 + 13) }), "encrypted, or", "decrypted"),
        ]
        for (bytes, what, remedy) in kinds {
            try bytes.write(to: URL(fileURLWithPath: store))
            for command in Self.commands {
                let outcome = try app.run(command)
                #expect(outcome.exitCode == 2, "\(command): \(outcome)")
                #expect(outcome.diagnostics.contains(what) && outcome.diagnostics.contains(remedy), "\(outcome)")
                #expect(outcome.diagnostics.contains("decrypted") == what.hasPrefix("encrypted"), "\(outcome)")
            }
        }
    }
}
