internal import FerryBase
internal import FerrySQLite
internal import Foundation
internal import TestSupport
internal import Testing

/// The built program where the system stops a write: a limit on files, a reader that goes away, a clock that goes back.
@Suite("The program at a limit")
struct LimitTests {
    private let folder: TemporaryFolder
    private let library: ProgramTests.Library

    init() throws {
        folder = try TemporaryFolder()
        library = ProgramTests.Library(folder: folder.path)
        try prepare(library, books: 300)
    }

    private func prepare(_ library: ProgramTests.Library, books: Int) throws {
        let made = try FerryBinary.run(["demo", library.path, "--books", "\(books)", "--prepare"], in: folder.path)
        try #require(made.exitCode == 0, "\(made.diagnostics)")
    }

    private var migrate: [String] {
        ["migrate", library.store] + library.sources + ["--progress", "none"]
    }

    /// Runs the program by a line of a shell, in which `"$@"` stands for it.
    private func shell(_ line: String, _ words: [String]) throws -> FerryBinary.Outcome {
        let program = try #require(BuiltProgram.path)
        return try FerryBinary.run(["-c", line, "sh", program] + words, in: folder.path, program: "/bin/sh")
    }

    @Test("A limit on the size of files is told as an error, and the same command goes on without it")
    func fileSize() throws {
        let before = try library.digest()
        // Enough for the snapshot, but not for the new store.
        let stopped = try shell("ulimit -f 150; exec \"$@\"", migrate)
        #expect(stopped.exitCode == 1, "\(stopped.diagnostics)")
        #expect(stopped.diagnostics.contains("as before"), "\(stopped.diagnostics)")
        #expect(try library.digest() == before)
        let again = try FerryBinary.run(migrate, in: folder.path)
        #expect(again.exitCode == 0, "\(again.diagnostics)")
    }

    @Test("A store in place that fails is left without side files that it did not have")
    func sideFiles() throws {
        // Above a MiB it leaves WAL mode for its transaction.
        try FileLayer().createDirectory(folder.file("large"))
        let library = ProgramTests.Library(folder: folder.file("large"))
        try prepare(library, books: 9_000)
        do {
            let store = try Connection(path: library.store, mode: .readWrite)
            try store.execute("PRAGMA journal_mode = WAL; UPDATE ZBOOK SET Z_OPT = Z_OPT WHERE Z_PK = 1")
        }
        // A copy, since reading a store in WAL mode makes side files.
        try FileLayer().copy(library.store, to: folder.file("before.sqlite"))
        #expect(try library.files() == ["Library.sqlite", "Library.xcdatamodeld", "Mappings"])
        let blocks = try FileLayer().attributes(library.store).size / 512 + 100
        let words = [
            "migrate", library.store, "--models", library.models, "--no-mappings", "--to", "Library2", "--no-snapshot",
            "--progress", "none",
        ]
        // Blocks of 512 bytes, as POSIX counts them, or of 1,024.
        for limit in [blocks, blocks / 2] {
            let stopped = try shell("ulimit -f \(limit); exec \"$@\"", words)
            guard stopped.exitCode != 0 else { continue }
            #expect(stopped.exitCode == 1, "\(stopped.diagnostics)")
            let files = try library.files()
            #expect(
                files == ["Library.sqlite", "Library.sqlite.ferry", "Library.xcdatamodeld", "Mappings"],
                "\(stopped.diagnostics)")
            let connection = try Connection(path: library.store, mode: .readOnly)
            #expect(try connection.pragma("journal_mode")?.text == "wal")
            #expect(try DatabaseDump.text(library.store) == DatabaseDump.text(folder.file("before.sqlite")))
            return
        }
        Issue.record("No limit has stopped the migration.")
    }

    @Test("A reader of its output that goes away does not end a migration")
    func closedPipe() throws {
        let words = migrate + ["--trace"]
        _ = try shell("{ \"$@\" 2>&1; echo $? > code; } | true", words)
        let code = try String(contentsOfFile: folder.file("code"), encoding: .utf8)
        #expect(code == "0\n")
        let verified = try FerryBinary.run(["verify", library.store, "--models", library.models], in: folder.path)
        #expect(verified.exitCode == 0, "\(verified.diagnostics)")
    }

    @Test("Each command that tells progress ends as if nobody had looked where only its first line is read")
    func headOfProgress() throws {
        let version = "\(library.models):Library1"
        let commands = [
            ["generate", version, "--rows", "200", "--output", folder.file("New.sqlite")],
            ["snapshot", "create", library.store], ["verify", library.store, "--models", library.models],
            ["migrate", library.store] + library.sources,
        ]
        let telling = try CommandTable.read().commands.filter { $0.options.contains { $0.name == "--progress" } }
        #expect(telling.allSatisfy { known in commands.contains { $0.starts(with: known.words) } })
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
        @Test("What is printed onto a full disk is told as not whole; a migration has been done all the same")
        func fullOutput() throws {
            let shown = try shell(
                "exec \"$@\" > /dev/full", ["mapping", "show", folder.file("library/Mappings/1-rename.json")])
            #expect(shown.exitCode == 1 && shown.diagnostics.contains("not whole"), "\(shown.diagnostics)")
            let migrated = try shell("exec \"$@\" > /dev/full", migrate + ["--json"])
            #expect(migrated.exitCode == 0 && migrated.diagnostics.contains("not whole"), "\(migrated.diagnostics)")
        }
    #endif

    @Test("Pruning and recovery are told as the contract has them")
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
        #expect(back.output.contains("Snapshot 2 was chosen: it is the newest of 2, by its number."), "\(back.output)")
        #expect(try FerryBinary.run(migrate + ["--recover", "--dry-run"], in: folder.path).exitCode == 64)
        #expect(try FerryBinary.run(migrate + ["--recover", "--rehearse"], in: folder.path).exitCode == 64)
        #expect(try FerryBinary.run(migrate + ["--recover"], in: folder.path).exitCode == 0)
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
