internal import FerryBase
internal import FerrySQLite
internal import Foundation
internal import TestSupport
internal import Testing

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// The built program as a user who may create files beside a store but not write to it.
@Suite("A store that its user must not write")
struct UnwritableStoreTests {
    /// Drops root's rights, if the tests run as root.
    private static let dropper = "/usr/bin/setpriv"
    static let canRun = geteuid() != 0 || FileManager.default.isExecutableFile(atPath: dropper)

    private func run(_ words: [String], in folder: String) throws -> FerryBinary.Outcome {
        guard geteuid() == 0 else { return try FerryBinary.run(words, in: folder) }
        // A path that every user can reach.
        let program = folder + "/ferry"
        if !FileManager.default.fileExists(atPath: program) {
            try FileManager.default.copyItem(atPath: #require(BuiltProgram.path), toPath: program)
        }
        return try FerryBinary.run(
            ["--reuid", "65534", "--regid", "65534", "--clear-groups", program] + words, in: folder,
            program: Self.dropper)
    }

    @Test(
        "Is refused, because no lock would keep its app from writing; an output is made",
        .enabled(if: canRun, "A user other than root is needed."))
    func refuses() throws {
        let folder = try TemporaryFolder()
        let files = FileLayer()
        let made = try FerryBinary.run(
            ["demo", folder.path + "/demo", "--prepare", "--books", "20", "--authors", "4"], in: folder.path)
        #expect(made.exitCode == 0)
        let store = folder.file("demo/Library.sqlite")
        do {
            let connection = try Connection(path: store, mode: .readWrite)
            _ = try connection.setPragma("journal_mode", to: "DELETE")
        }
        try files.setMode(0o444, of: store)
        for path in [folder.path, folder.path + "/demo"] { try files.setMode(0o777, of: path) }
        let before = try files.read(store)
        let words = [
            "migrate", "--accept-loss", store, "--models", folder.file("demo/Library.xcdatamodeld"), "--mappings",
            folder.file("demo/Mappings"), "--snapshot", "none", "--json",
        ]
        let outcome = try run(words, in: folder.path)
        #expect(outcome.exitCode == 2, "\(outcome.diagnostics) \(outcome.output)")
        #expect(outcome.output.contains("storeReadOnly") && outcome.output.contains("--output"))
        #expect(try files.read(store) == before)
        let beside = try run(words + ["--output", folder.file("demo/New.sqlite")], in: folder.path)
        #expect(beside.exitCode == 0, "\(beside.diagnostics) \(beside.output)")
        #expect(try files.read(store) == before)
    }

    @Test(
        "Is read with its -wal if the folder is read-only, and an output is made elsewhere",
        .enabled(if: canRun, "A user other than root is needed."))
    func readsLog() throws {
        let folder = try TemporaryFolder()
        let files = FileLayer()
        let made = try FerryBinary.run(
            ["demo", folder.path + "/demo", "--prepare", "--books", "20", "--authors", "4"], in: folder.path)
        #expect(made.exitCode == 0)
        let place = folder.path + "/fixed"
        try files.createDirectory(place)
        let store = place + "/Library.sqlite"
        do {
            let connection = try Connection(path: folder.file("demo/Library.sqlite"), mode: .readWrite)
            _ = try connection.setPragma("journal_mode", to: "WAL")
            try connection.execute("PRAGMA wal_autocheckpoint = 0; UPDATE ZBOOK SET ZTITLE = 'Logged'")
            for suffix in ["", "-wal"] {
                try files.replace(store + suffix, with: files.read(folder.file("demo/Library.sqlite") + suffix))
            }
        }
        let results = folder.path + "/results"
        try files.createDirectory(results)
        for path in [folder.path, folder.path + "/demo", results] { try files.setMode(0o777, of: path) }
        for suffix in ["", "-wal"] { try files.setMode(0o444, of: store + suffix) }
        try files.setMode(0o555, of: place)
        defer { try? files.setMode(0o755, of: place) }
        let models = ["--models", folder.file("demo/Library.xcdatamodeld")]
        let output = results + "/New.sqlite"
        for words in [
            ["inspect", store], ["verify", store] + models,
            ["migrate", "--accept-loss", store] + models + [
                "--mappings", folder.file("demo/Mappings"), "--output", output,
            ],
        ] {
            let outcome = try run(words, in: results)
            #expect(outcome.exitCode == 0, "\(words[0]): \(outcome.diagnostics) \(outcome.output)")
        }
        let report = try run(["plan", store, "--report", place + "/p.html"] + models, in: results)
        #expect(report.exitCode == 1 && report.output.isEmpty, "before any work: \(report)")
        #expect(report.diagnostics.contains("/p.html cannot be written"), "\(report)")
        let titles = try Connection(path: output, mode: .readOnly).rows(
            "SELECT ZHEADING, count(*) FROM ZBOOK GROUP BY 1")
        #expect(titles == [[.text("Logged"), .integer(20)]])
        #expect(try files.list(place).map(\.name).sorted() == ["Library.sqlite", "Library.sqlite-wal"])
    }
}
