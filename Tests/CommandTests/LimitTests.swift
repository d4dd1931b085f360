internal import FerryBase
internal import FerrySQLite
internal import Foundation
internal import TestSupport
internal import Testing

/// The built program where the system stops a write: a limit on files, a closed pipe, a clock that is set back.
@Suite("The program at a limit")
struct LimitTests {
    private let folder: TemporaryFolder
    private let library: ProgramTests.Library

    init() throws {
        folder = try TemporaryFolder()
        library = ProgramTests.Library(folder: folder.path)
        try library.prepare(books: 300)
    }

    private var migrate: [String] {
        ["migrate", "--accept-loss", library.store] + library.sources + ["--progress", "none", "FERRY_EXECUTOR=set"]
    }

    /// Runs the program through a line of a shell; `"$@"` in the line is the program's command line.
    private func shell(_ line: String, _ words: [String]) throws -> FerryBinary.Outcome {
        let program = try #require(BuiltProgram.path)
        return try FerryBinary.run(["-c", line, "sh", program] + words, in: folder.path, program: "/bin/sh")
    }

    @Test("A limit on the size of files is reported as an error, and the same command resumes without it")
    func fileSize() throws {
        let before = try library.digest()
        // Enough for the snapshot, but not for the new store.
        let stopped = try shell("ulimit -f 150; exec \"$@\"", migrate)
        #expect(stopped.exitCode == 1, "\(stopped.diagnostics)")
        #expect(stopped.diagnostics.contains("unchanged"), "\(stopped.diagnostics)")
        #expect(try library.digest() == before)
        let again = try FerryBinary.run(migrate, in: folder.path)
        #expect(again.exitCode == 0, "\(again.diagnostics)")
    }

    @Test("A failed migration in place leaves no new companion files beside the store")
    func sideFiles() throws {
        try FileLayer().createDirectory(folder.file("large"))
        let library = ProgramTests.Library(folder: folder.file("large"))
        try library.prepare(books: 9_000)
        do {
            let store = try Connection(path: library.store, mode: .readWrite)
            try store.execute("PRAGMA journal_mode = WAL; UPDATE ZBOOK SET Z_OPT = Z_OPT WHERE Z_PK = 1")
        }
        // A copy, because reading a store in WAL mode creates companion files.
        try FileLayer().copy(library.store, to: folder.file("before.sqlite"))
        #expect(try library.files() == ["Library.sqlite", "Library.xcdatamodeld", "Mappings"])
        // A quarter or half of the store: blocks have 512 bytes, as in POSIX, or 1,024. The `-wal` has most of its pages.
        let limit = try FileLayer().attributes(library.store).size / 512 / 4
        let words = [
            "migrate", "--accept-loss", library.store, "--models", library.models, "--no-mappings", "--to", "Library2",
            "--snapshot", "none", "--progress", "none",
        ]
        let stopped = try shell("ulimit -f \(limit); exec \"$@\"", words)
        #expect(stopped.exitCode == 1, "\(stopped.diagnostics)")
        let files = try library.files()
        #expect(
            files == ["Library.sqlite", "Library.sqlite.ferry", "Library.xcdatamodeld", "Mappings"],
            "\(stopped.diagnostics)")
        let connection = try Connection(path: library.store, mode: .readOnly)
        #expect(try connection.pragma("journal_mode")?.text == "wal")
        #expect(try DatabaseDump.text(library.store) == DatabaseDump.text(folder.file("before.sqlite")))
    }

    @Test("A closed pipe on its output does not end a migration")
    func closedPipe() throws {
        let words = migrate + ["FERRY_TRACE=1"]
        _ = try shell("{ \"$@\" 2>&1; echo $? > code; } | true", words)
        let code = try String(contentsOfFile: folder.file("code"), encoding: .utf8)
        #expect(code == "0\n")
        let verified = try FerryBinary.run(["verify", library.store, "--models", library.models], in: folder.path)
        #expect(verified.exitCode == 0, "\(verified.diagnostics)")
    }

    @Test("Each command with progress ends normally when its reader only reads the first line")
    func headOfProgress() throws {
        let version = "\(library.models):Library1"
        let commands = [
            ["generate", version, "--rows", "200", "--output", folder.file("New.sqlite")],
            ["snapshot", "create", library.store],
            ["verify", library.store, "--models", library.models],
            ["tune", library.store, "--sizes", "50", "--runs", "1"] + library.sources,
            ["repair", library.store, "--missing", "--output", folder.file("Copy.sqlite"), "--models", library.models],
            ["migrate", "--accept-loss", library.store] + library.sources,
        ]
        let telling = try CommandTable.read().commands.filter { $0.options.contains { $0.name == "--progress" } }
        #expect(!telling.isEmpty && telling.allSatisfy { known in commands.contains { $0.starts(with: known.words) } })
        for command in commands {
            _ = try shell(
                "{ \"$@\" 2>&1 >told; echo $? >code; } | head -n 1 >first", command + ["--progress", "json"])
            #expect(try String(contentsOfFile: folder.file("code"), encoding: .utf8) == "0\n", "\(command)")
            let first = try Data(contentsOf: URL(fileURLWithPath: folder.file("first")))
            #expect(try JSONSerialization.jsonObject(with: first) is [String: Any], "\(command)")
            #expect(try !Data(contentsOf: URL(fileURLWithPath: folder.file("told"))).isEmpty, "\(command)")
        }
    }

    #if os(Linux)
        @Test("Output on a full disk is reported as incomplete; the migration itself succeeded")
        func fullOutput() throws {
            let shown = try shell(
                "exec \"$@\" > /dev/full", ["mapping", "show", folder.file("library/Mappings/1-rename.json")])
            #expect(shown.exitCode == 1 && shown.diagnostics.contains("is incomplete"), "\(shown.diagnostics)")
            let migrated = try shell("exec \"$@\" > /dev/full", migrate + ["--json"])
            #expect(migrated.exitCode == 0 && migrated.diagnostics.contains("is incomplete"), "\(migrated.diagnostics)")
        }
    #endif

    @Test("Pruning and recovery are reported as in the contract")
    func pruneAndRecover() throws {
        #expect(try FerryBinary.run(migrate, in: folder.path).exitCode == 0)
        #expect(try FerryBinary.run(["snapshot", "create", library.store], in: folder.path).exitCode == 0)
        let words = ["snapshot", "prune", library.store, "--keep", "1"]
        let young = try FerryBinary.run(words, in: folder.path)
        #expect(young.exitCode == 0 && young.output.hasPrefix("Nothing was removed."), "\(young.diagnostics)")
        let json = try FerryBinary.run(words + ["--min-age", "0s", "--json"], in: folder.path)
        #expect(json.exitCode == 0, "\(json.diagnostics)")
        let pruned = try JSONDecoder().decode(Pruned.self, from: Data(json.output.utf8))
        #expect(pruned.ferry == 1 && pruned.removed.isEmpty && pruned.kept.map(\.sequence) == [2, 1])
        #expect(try FerryBinary.run(["snapshot", "prune", library.store], in: folder.path).exitCode == 64)
        #expect(try FerryBinary.run(words + ["--min-age", "soon"], in: folder.path).exitCode == 64)
        let back = try FerryBinary.run(["rollback", library.store], in: folder.path)
        #expect(back.output.contains("Snapshot 2 was chosen: it is the newest of 2 snapshots."), "\(back.output)")
        #expect(try FerryBinary.run(["repair", library.store, "--recover"], in: folder.path).exitCode == 0)
        #expect(try FerryBinary.run(["repair", library.store], in: folder.path).exitCode == 64)
    }

    private struct Pruned: Decodable {
        struct Entry: Decodable {
            var path: String
            var sequence: Int64?
        }
        var ferry: Int
        var removed, kept: [Entry]
    }
}
