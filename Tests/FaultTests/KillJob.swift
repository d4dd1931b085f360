internal import FerryBase
internal import FerrySQLite
internal import Foundation
internal import TestSupport
internal import Testing

/// A migration of the demo's library by the program, in a folder where the program can be killed and called again.
struct KillJob {
    enum Kind: String, CaseIterable {
        /// Three copied steps that replace the store.
        case replaced
        /// The same steps, for a store with a `-wal` that an app has left behind.
        case replacedWithLog = "replaced, with a -wal"
        /// The same steps to a new file.
        case output = "to a new file"
        /// One inferred step within the store.
        case inPlace = "in place"
        /// The same for a store that is in WAL mode for the step alone.
        case inPlaceWithJournal = "in place, with a rollback journal"
    }

    let kind: Kind
    let program: String
    /// Holds `source` (never changed) and `work` (recreated for each kill).
    private let folder: TemporaryFolder
    private let files = FileLayer()

    // MARK: An undisturbed run

    /// The number of lines on standard error in each phase.
    private(set) var lines: [Phase: Int] = [:]
    private(set) var old: Content
    private(set) var new: Content

    /// The content of a store, as a plain client reads it and as the same-destination rule compares it.
    struct Content: Equatable {
        var client: PlainClient
        var digest: String
    }

    init(_ kind: Kind, program: String, books: Int) throws {
        self.kind = kind
        self.program = program
        folder = try TemporaryFolder()
        let source = folder.file("source")
        let made = try TracedProgram(
            program, ["demo", source, "--prepare", "--books", String(books), "--authors", String(max(2, books / 5))],
            in: folder.path, output: folder.file("output"))
        try #require(made.wait() == 0, "the demo's store cannot be made")
        if kind == .replacedWithLog { try Self.leaveLog("\(source)/\(Self.storeName)") }
        if kind == .inPlaceWithJournal {
            try Connection(path: "\(source)/\(Self.storeName)", mode: .readWrite)
                .setPragma("journal_mode", to: "DELETE")
        }
        old = Content(client: PlainClient(integrity: "ok"), digest: "")
        new = old
        try reset()
        // `content(of:)` also opens the store, so that its content includes a journal or a `-wal`.
        old = try content(of: store)
        try reset()
        let run = try TracedProgram(program, words + Self.tracing, in: folder.path, output: folder.file("output"))
        var phase: Phase?
        while let line = run.line() {
            phase = Self.phase(line) ?? phase
            if let phase { lines[phase, default: 0] += 1 }
        }
        try #require(run.wait() == 0, "an undisturbed run fails: \(kind.rawValue)")
        new = try content(of: result)
        try #require(old.client.integrity == "ok" && new.client.integrity == "ok" && old != new)
    }

    /// Leaves the store as a killed app does: the last commits are only in the `-wal`.
    private static func leaveLog(_ store: String) throws {
        let connection = try Connection(path: store, mode: .readWrite)
        connection.keepWriteAheadLogOnClose()
        try connection.execute(
            """
            PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;
            UPDATE ZBOOK SET ZPRICE = ZPRICE + 1 WHERE Z_PK % 3 = 0;
            DELETE FROM ZBOOK WHERE Z_PK IN (SELECT Z_PK FROM ZBOOK ORDER BY Z_PK DESC LIMIT 1)
            """)
    }

    // MARK: Words

    private static let storeName = "Library.sqlite"
    static let tracing = ["FERRY_TRACE=1", "--progress", "json"]

    /// Small chunks give a run many moments; relative paths keep messages independent of the machine.
    var words: [String] {
        let models = ["--models", "source/Library.xcdatamodeld"]
        let start = ["migrate", "--accept-loss", "work/\(Self.storeName)"] + models + ["--chunk-size", "50", "--json"]
        return switch kind {
        case .replaced, .replacedWithLog: start + ["--mappings", "source/Mappings"]
        case .output: start + ["--mappings", "source/Mappings", "--output", "work/New.sqlite"]
        case .inPlace, .inPlaceWithJournal: start + ["--no-mappings", "--to", "Library2"]
        }
    }

    /// Returns the phase that a line on standard error begins; nil for all other lines.
    static func phase(_ line: String) -> Phase? {
        let start = "{\"phase\":\""
        guard line.hasPrefix(start) else { return nil }
        return Phase(rawValue: String(line.dropFirst(start.count).prefix { $0 != "\"" }))
    }

    func run(_ words: [String]) throws -> (code: Int32?, output: String) {
        let output = folder.file("output")
        let code = try TracedProgram(program, words, in: folder.path, output: output).wait()
        return (code, try String(contentsOfFile: output, encoding: .utf8))
    }

    func start() throws -> TracedProgram {
        try TracedProgram(program, words + Self.tracing, in: folder.path, output: folder.file("output"))
    }

    // MARK: Files

    private var source: String { folder.file("source/\(Self.storeName)") }
    var store: String { folder.file("work/\(Self.storeName)") }
    /// The path of the migrated store.
    var result: String { kind == .output ? folder.file("work/New.sqlite") : store }

    /// Puts the untouched store into a new work folder.
    func reset() throws {
        try files.removeTree(folder.file("work"))
        try files.createDirectory(folder.file("work"))
        for side in ["", "-wal"] where try files.exists(source + side) {
            try FileManager.default.copyItem(atPath: source + side, toPath: store + side)
        }
    }

    /// Returns whether main file and `-wal` are unchanged, byte for byte; an empty `-wal` counts as none.
    func isUntouched() throws -> Bool {
        try bytes(store) == bytes(source) && bytes(store + "-wal") == bytes(source + "-wal")
    }

    private func bytes(_ path: String) throws -> [UInt8] { try files.exists(path) ? files.read(path) : [] }

    func exists(_ path: String) throws -> Bool { try files.exists(path) }

    /// Returns the files beside the finished store that do not belong to a finished store.
    func leftovers() throws -> [String] {
        try files.list(folder.file("work")).filter { entry in
            if entry.name.hasSuffix(".ferry") || entry.name.hasSuffix("-journal") || entry.name.contains("-mj") {
                return true
            }
            // A `-wal` that existed before the run may stay.
            guard entry.name.hasSuffix("-wal") else { return false }
            return try files.attributes(folder.file("work/\(entry.name)")).size > 0
        }.map(\.name).filter { kind != .output || $0 != "\(Self.storeName)-wal" }
    }

    /// Returns the content of a store.
    ///
    /// A plain client opens the store at its path, as the user's app would after a crash. With a `-wal`, opening would
    /// write the `-wal` back, which is a change by another program: then the client opens a copy of both files.
    func content(of path: String) throws -> Content {
        let copy = folder.file("seen.sqlite")
        for side in ["", "-wal", "-shm", "-journal"] { try files.removeIfPresent(copy + side) }
        if kind == .replacedWithLog {
            for side in ["", "-wal", "-journal"] where try files.exists(path + side) {
                try FileManager.default.copyItem(atPath: path + side, toPath: copy + side)
            }
        }
        let client = try PlainClient(kind == .replacedWithLog ? copy : path)
        if kind != .replacedWithLog { try FileManager.default.copyItem(atPath: path, toPath: copy) }
        return Content(client: client, digest: try DatabaseDump.digest(copy))
    }
}

extension PlainClient {
    fileprivate init(integrity: String) {
        self.integrity = integrity
        rows = [:]
    }
}
