internal import Ferry
internal import FerryBase
internal import FerrySQLite
internal import Foundation
internal import TestSupport
internal import Testing

/// Steps of mapping models that keep every row, on generated stores of two related entities: Tag changes, Book does not.
@Suite("Mapping models in place")
struct MappedInPlaceTests {
    private let app: RouteFolder

    init() throws {
        app = try RouteFolder()
        let book = RouteFolder.entity("Book", "name", "pages:Integer 32", RouteFolder.link("tags", "Tag", "books"))
        let tag = RouteFolder.link("books", "Book", "tags")
        try app.model("App", "App 1", book + RouteFolder.entity("Tag", "name", tag))
        try app.model("App", "App 2", book + RouteFolder.entity("Tag", "name", "label", "size:Integer 32", tag))
        try app.current("App", "App 2")
        try app.write(
            """
            { "source": "App 1", "destination": "App 2", "entityMappings": [
              { "source": "Book", "destination": "Book" },
              { "source": "Tag", "destination": "Tag",
                "attributes": { "label": "uppercase:($source.name)", "size": "$source.name.length" } } ] }
            """, to: "map.json")
        try app.generate("App", "App 1", rows: 600)
    }

    private var store: String { app.folder.file("App.sqlite") }

    private func migrate(
        _ change: (inout Configuration) -> Void = { _ in },
        onEvent: @escaping @Sendable (MigrationEvent) -> Void = { _ in }
    ) throws -> MigrationReport {
        var configuration = Configuration { $0.snapshots.form = .none }
        change(&configuration)
        return try Migrator(
            store: URL(fileURLWithPath: store),
            models: [.url(URL(fileURLWithPath: app.folder.file("App.xcdatamodeld")))],
            mappings: [URL(fileURLWithPath: app.folder.file("map.json"))]
        ).migrate(configuration, onEvent: onEvent)
    }

    /// Every row by column names, because altered tables have another order of columns.
    private func rows(_ path: String) throws -> [[Value]] {
        let connection = try Connection(path: path, mode: .readOnly)
        return try connection.rows("SELECT Z_PK, Z_ENT, Z_OPT, ZNAME, ZPAGES FROM ZBOOK ORDER BY 1")
            + connection.rows("SELECT Z_PK, Z_ENT, Z_OPT, ZLABEL, ZSIZE FROM ZTAG ORDER BY 1")
            + connection.rows("SELECT * FROM Z_1TAGS ORDER BY 1, 2")
            + connection.rows("SELECT * FROM Z_PRIMARYKEY ORDER BY 1")
            + connection.rows("SELECT name FROM sqlite_master ORDER BY 1")
    }

    private func copied() throws -> [[Value]] {
        let output = app.folder.file("Copied.sqlite")
        let report = try migrate {
            $0.executor = .set
            $0.output = URL(fileURLWithPath: output)
        }
        #expect(report.mode == .copy)
        return try rows(output)
    }

    @Test(
        "Give the rows of a copy, verified in full before COMMIT, and write only what changes",
        arguments: ["DELETE", "WAL"])
    func onTheStore(_ journal: String) throws {
        let expected = try copied()
        try app.execute("PRAGMA journal_mode = \(journal)")
        let report = try migrate()
        #expect(report.mode == .inPlace && report.outcome == .migrated)
        #expect(report.verification.mode == .full)
        #expect(report.verification.checked == 600 && report.verification.differences.isEmpty)
        #expect(try rows(store) == expected)
        let connection = try Connection(path: store, mode: .readWrite)
        #expect(try connection.value("PRAGMA journal_mode")?.text == journal.lowercased())
        #expect(try connection.value("PRAGMA integrity_check") == .text("ok"))
        #expect(try app.run("verify", "App.sqlite", "--models", "App.xcdatamodeld").exitCode == 0)
    }

    @Test("Give the same store in the run folder")
    func inTheFolder() throws {
        let expected = try copied()
        #expect(throws: FerryError.self) { try migrate { $0.holdsSwap = true } }
        #expect(try FileLayer().exists(store + ".ferry/step-1/destination.sqlite"))
        let report = try migrate { $0.holdsSwap = false }
        #expect(report.resumed && report.mode == .inPlace)
        #expect(try rows(store) == expected)
    }

    @Test(
        "A changed byte of a kept table is found, and its table is compared row by row", arguments: [1, 150, 333, 600])
    func findsDamageOfKeptTables(_ row: Int) throws {
        let output = app.folder.file("New.sqlite")
        let destination = output + ".ferry/step-1/destination.sqlite"
        let name = try #require(rows(of: "SELECT ZNAME FROM ZBOOK WHERE Z_PK = \(row)")[0][0].text)
        let isChanged = Locked(false)
        let error = #expect(throws: FerryError.self) {
            try migrate {
                $0.output = URL(fileURLWithPath: output)
            } onEvent: { event in
                guard case .phase(.verify, _) = event, !isChanged.withLock({ $0 }) else { return }
                do {
                    let found = try Self.exchange(name, in: destination, by: String(name.dropLast()) + "#")
                    isChanged.withLock { $0 = found }
                } catch {
                    Issue.record(error)
                }
            }
        }
        #expect(isChanged.withLock { $0 })
        #expect(error?.code == .verificationFailed)
        let differences = (error?.cause as? VerificationDifferences)?.summary.differences ?? []
        #expect(differences.map(\.check) == [.rows] && differences[0].entity == "Book" && differences[0].count == 1)
        #expect(try !FileLayer().exists(output))
    }

    @Test("Where every object keeps its row, the pages of other entities stay as they are")
    func leavesPages() throws {
        let app = try RouteFolder()
        let book = RouteFolder.entity("Book", "title", "notes")
        try app.model("App", "App 1", book + RouteFolder.entity("User", "name"))
        try app.model("App", "App 2", book + RouteFolder.entity("User", "fullName"))
        try app.current("App", "App 2")
        try app.write(
            """
            { "source": "App 1", "destination": "App 2", "entityMappings": [
              { "source": "Book", "destination": "Book" },
              { "source": "User", "destination": "User", "attributes": { "fullName": "uppercase:($source.name)" } } ] }
            """, to: "Maps/One.json")
        let made = try app.run(
            "generate", "App.xcdatamodeld", "--version", "App 1", "--rows", "20", "--rows-of", "Book=4000", "--output",
            "App.sqlite")
        try #require(made.exitCode == 0, "\(made.diagnostics)")
        try app.execute("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE")
        let store = URL(fileURLWithPath: app.folder.file("App.sqlite"))
        let before = try Data(contentsOf: store)
        try app.done(
            "migrate", "App.sqlite", "--models", "App.xcdatamodeld", "--mappings", "Maps", "--snapshot", "none")
        let after = try Data(contentsOf: store)
        #expect(try app.count("SELECT count(*) FROM ZUSER WHERE ZFULLNAME IS upper(ZFULLNAME)") == 20)
        let size = 4096
        let pages = min(before.count, after.count) / size
        let changed = (0..<pages).count { page in
            before[page * size..<(page + 1) * size] != after[page * size..<(page + 1) * size]
        }
        #expect(pages > 50 && changed > 0 && changed < pages / 5, "\(changed) of \(pages) pages")
    }

    private func rows(of query: String) throws -> [[Value]] {
        try Connection(path: store, mode: .readOnly).rows(query)
    }

    /// Whether the file has the word, which is exchanged then.
    private static func exchange(_ word: String, in path: String, by other: String) throws -> Bool {
        let data = try Data(contentsOf: URL(fileURLWithPath: path))
        guard let place = data.range(of: Data(word.utf8)) else { return false }
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try file.seek(toOffset: UInt64(place.lowerBound))
        try file.write(contentsOf: Data(other.utf8))
        return true
    }
}
