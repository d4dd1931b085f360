internal import Foundation
internal import TestSupport
internal import Testing

/// Orders of relationships that keep all their links.
@Suite("Lost orders")
struct LostOrdersTests {
    private let app: RouteFolder

    init() throws { app = try RouteFolder() }

    /// One side of a relationship, by default to-many.
    private struct Side {
        var name: String
        var isOrdered = true
        var isToMany = true
        var identifier: String?

        func xml(_ entity: String, _ inverse: String) -> String {
            "<relationship name=\"\(name)\" optional=\"YES\" \(isToMany ? "toMany=\"YES\"" : "maxCount=\"1\"") "
                + (isOrdered ? "ordered=\"YES\" " : "") + (identifier.map { "elementID=\"\($0)\" " } ?? "")
                + "deletionRule=\"Nullify\" destinationEntity=\"\(entity)\" inverseName=\"\(inverse)\" "
                + "inverseEntity=\"\(entity)\"/>"
        }
    }

    private func version(_ number: Int, _ songs: Side, _ albums: Side) throws {
        try app.model(
            "App", "App \(number)",
            RouteFolder.entity("Album", "title", songs.xml("Song", albums.name))
                + RouteFolder.entity("Song", "title", albums.xml("Album", songs.name)))
        try app.current("App", "App \(number)")
    }

    private func mapping(from number: Int = 1, album: String = "{}", song: String = "{}") throws -> [String] {
        try app.write(
            """
            { "source": "App \(number)", "destination": "App \(number + 1)", "entityMappings": [
                { "source": "Album", "destination": "Album", "relationships": \(album) },
                { "source": "Song", "destination": "Song", "relationships": \(song) }] }
            """, to: "map.json")
        return ["--mappings", "map.json"]
    }

    private static func words(_ command: String, _ more: [String]) -> [String] {
        [command, "App.sqlite", "--models", "App.xcdatamodeld"] + more
    }

    private func losses(_ more: [String]) throws -> [String] {
        let outcome = try app.run(Self.words("plan", more + ["--json"]))
        return try PlannedLoss.all(in: outcome.output).map {
            #expect($0.values == nil)
            return "\($0.name) \($0.rows.map(String.init) ?? "?"): \($0.because)"
        }
    }

    /// Generates album 1 with songs 3, 2 and 1 in this order, and album 2 with one song.
    private func orderedSongs() throws {
        try app.generate("App", "App 1")
        try app.execute(
            """
            UPDATE ZSONG SET ZALBUM = CASE Z_PK WHEN 4 THEN 2 ELSE 1 END,
                Z_FOK_ALBUM = CASE Z_PK WHEN 4 THEN 2048 ELSE 6144 - 1024 * Z_PK END
            """)
    }

    @Test(
        "A relationship that is no longer ordered loses its order, and only --lose allows this",
        arguments: [[], ["--mappings"], ["--output", "New.sqlite"]])
    func unordered(more: [String]) throws {
        try version(1, Side(name: "songs"), Side(name: "album", isOrdered: false, isToMany: false))
        try version(
            2, Side(name: "tracks", isOrdered: false, identifier: "songs"),
            Side(name: "album", isOrdered: false, isToMany: false))
        try orderedSongs()
        let isMapped = more == ["--mappings"]
        let more = try isMapped ? mapping() : more
        let found = try losses(more.filter { !$0.hasSuffix("output") && $0 != "New.sqlite" })
        #expect(found == ["Album.songs 1: App 2 does not order it"])
        let text = try app.run(Self.words("plan", isMapped ? more : []))
        #expect(text.output.contains("Loses: order of Album.songs, 1 object."), "\(text)")
        let refused = try app.run(Self.words("migrate", more))
        #expect(refused.exitCode == 2 && refused.diagnostics.contains("--lose Album.songs"), "\(refused)")
        let done = try app.run(Self.words("migrate", more + ["--lose", "Album.songs"]))
        #expect(
            done.exitCode == 0
                && done.diagnostics.contains(
                    "The order of Album.songs is lost, of 1 object: App 2 does not order it."),
            "\(done)")
    }

    @Test("If no object has two related objects, or all stay ordered, no order is lost")
    func nothingToOrder() throws {
        let album = Side(name: "album", isOrdered: false, isToMany: false)
        try version(1, Side(name: "songs"), album)
        try version(2, Side(name: "songs", isOrdered: false), album)
        try orderedSongs()
        try app.execute("UPDATE ZSONG SET ZALBUM = Z_PK, Z_FOK_ALBUM = 2048")
        #expect(try losses([]).isEmpty)
        try version(2, Side(name: "tracks", identifier: "songs"), album)
        try orderedAgain()
        #expect(try losses([]).isEmpty)
    }

    private func orderedAgain() throws { try app.execute("UPDATE ZSONG SET ZALBUM = 1, Z_FOK_ALBUM = 9216 - Z_PK") }

    @Test("An order is followed from version to version, and an order that the store never had is no loss")
    func chain() throws {
        let album = Side(name: "album", isOrdered: false, isToMany: false)
        try version(1, Side(name: "songs"), album)
        try version(2, Side(name: "tracks", identifier: "songs"), album)
        try version(3, Side(name: "tracks", isOrdered: false), album)
        try orderedSongs()
        let chain = ["--chain", "chain.txt"]
        try app.write("App 1\nApp 2\nApp 3\n", to: "chain.txt")
        #expect(try losses(chain) == ["Album.songs 1: App 3 does not order it"])
        try app.execute("UPDATE ZSONG SET ZALBUM = Z_PK, Z_FOK_ALBUM = 2048")
        #expect(try losses(chain).isEmpty)
        try FileManager.default.removeItem(atPath: app.folder.file("App.sqlite"))
        try version(1, Side(name: "songs", isOrdered: false), album)
        try version(3, Side(name: "tracks", isOrdered: false), album)
        try app.generate("App", "App 1")
        try app.execute("UPDATE ZSONG SET ZALBUM = 1")
        #expect(try losses(chain).isEmpty)
    }

    // MARK: Both sides ordered

    /// Generates album 1 with songs 3, 2, 1, and song 1 on albums 2, 1.
    private func orderedBothWays() throws {
        try app.generate("App", "App 1")
        try app.execute(
            """
            DELETE FROM Z_1SONGS;
            INSERT INTO Z_1SONGS (Z_1ALBUMS, Z_2SONGS, Z_FOK_1ALBUMS, Z_FOK_2SONGS)
            VALUES (1, 1, 3072, 5120), (1, 2, 2048, 3072), (1, 3, 2048, 2048), (2, 1, 2048, 2048)
            """)
    }

    @Test(
        "A rule that renames a many-to-many relationship keeps the orders of both sides",
        arguments: [
            (#"{ "tracks": { "mapping": "SongToSong", "from": "$source.songs" } }"#, "{}"),
            ("{}", #"{ "records": { "mapping": null, "from": "$source.albums" } }"#),
        ], ["auto", "row"])
    func renamed(rules: (album: String, song: String), executor: String) throws {
        try version(1, Side(name: "songs"), Side(name: "albums"))
        try version(2, Side(name: "tracks"), Side(name: "records"))
        try orderedBothWays()
        let more = try mapping(album: rules.album, song: rules.song)
        #expect(try losses(more).isEmpty)
        let done = try app.run(Self.words("migrate", more + ["FERRY_EXECUTOR=\(executor)"]))
        #expect(done.exitCode == 0, "\(done)")
        let songs = "SELECT Z_2TRACKS AS k FROM Z_1TRACKS WHERE Z_1RECORDS = 1 ORDER BY Z_FOK_2TRACKS"
        #expect(try app.count("SELECT CAST(group_concat(k, '') AS INTEGER) FROM (\(songs))") == 321)
        let albums = "SELECT Z_1RECORDS AS k FROM Z_1TRACKS WHERE Z_2TRACKS = 1 ORDER BY Z_FOK_1RECORDS"
        #expect(try app.count("SELECT CAST(group_concat(k, '') AS INTEGER) FROM (\(albums))") == 21)
    }

    @Test("Objects with new keys keep the order of the rule's own side, and lose the other order")
    func newKeys() throws {
        try version(1, Side(name: "songs"), Side(name: "albums"))
        try version(2, Side(name: "tracks"), Side(name: "records"))
        try orderedBothWays()
        // A second mapping to the entity gives new keys; only this mapping relates the albums.
        try app.write(
            """
            { "source": "App 1", "destination": "App 2", "entityMappings": [
                { "source": "Song", "destination": "Song" },
                { "name": "Titles", "source": "Song", "destination": "Album", "where": "title == 'none'" },
                { "name": "Albums", "source": "Album", "destination": "Album",
                  "relationships": { "tracks": { "mapping": "SongToSong", "from": "$source.songs" } } }] }
            """, to: "map.json")
        let more = ["--mappings", "map.json"]
        #expect(try losses(more) == ["Song.albums 1: the entity mappings to App 2 recreate its order"])
        let done = try app.run(Self.words("migrate", more + ["--accept-loss"]))
        #expect(done.exitCode == 0, "\(done)")
        let songs = """
            SELECT Z_2TRACKS AS k FROM Z_1TRACKS WHERE Z_1RECORDS = (SELECT min(Z_1RECORDS) FROM Z_1TRACKS)
            ORDER BY Z_FOK_2TRACKS
            """
        #expect(try app.count("SELECT CAST(group_concat(k, '') AS INTEGER) FROM (\(songs))") == 321)
    }
}
