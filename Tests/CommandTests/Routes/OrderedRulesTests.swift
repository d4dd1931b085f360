internal import TestSupport
internal import Testing

/// Orders of a many-to-many relationship with two ordered sides.
@Suite("Rules of ordered relationships")
struct OrderedRulesTests {
    @Test(
        "A written rule that is equal to the automatic one keeps the orders of both sides",
        arguments: [
            (#""FanToFan""#, #""AlbumToAlbum""#), ("null", "null"), (#""FanToFan""#, nil), (nil, #""AlbumToAlbum""#),
        ] as [(String?, String?)], ["auto", "row"])
    func writtenOut(rules: (likers: String?, likes: String?), executor: String) throws {
        let app = try RouteFolder()
        func relationships(_ name: String, _ mapping: String?) -> String {
            mapping.map { #", "relationships": { "\#(name)": { "mapping": \#($0), "from": "$source.\#(name)" } }"# }
                ?? ""
        }
        for (version, more) in [("App 1", "title"), ("App 2", "heading")] {
            try app.model(
                "App", version,
                RouteFolder.entity("Album", more, RouteFolder.link("likers", "Fan", "likes", isOrdered: true))
                    + RouteFolder.entity("Fan", RouteFolder.link("likes", "Album", "likers", isOrdered: true)))
        }
        try app.current("App", "App 2")
        try app.write(
            """
            { "source": "App 1", "destination": "App 2", "entityMappings": [
                { "source": "Album", "destination": "Album"\(relationships("likers", rules.likers)) },
                { "source": "Fan", "destination": "Fan"\(relationships("likes", rules.likes)) } ] }
            """, to: "map.json")
        try app.generate("App", "App 1", rows: 3)
        // Each side has an order that neither its keys nor those of the other side have.
        try app.execute(
            """
            DELETE FROM Z_1LIKERS;
            INSERT INTO Z_1LIKERS (Z_1LIKES, Z_2LIKERS, Z_FOK_1LIKES, Z_FOK_2LIKERS)
            VALUES (1, 1, 3072, 5120), (2, 1, 2048, 2048), (3, 1, 1024, 7168), (1, 2, 9216, 1024), (2, 2, 4096, 8192)
            """)
        try app.done(
            "migrate", "--accept-loss", "App.sqlite", "--models", "App.xcdatamodeld", "--mappings", "map.json",
            "FERRY_EXECUTOR=\(executor)")
        for (side, other, key) in [
            ("Z_1LIKES", "Z_FOK_1LIKES", "Z_2LIKERS"), ("Z_2LIKERS", "Z_FOK_2LIKERS", "Z_1LIKES"),
        ] {
            let ordered =
                "SELECT group_concat(\(side), '') FROM (SELECT * FROM Z_1LIKERS WHERE \(key) = 1 ORDER BY \(other))"
            #expect(try app.count("SELECT CAST((\(ordered)) AS INTEGER)") == (side == "Z_1LIKES" ? 321 : 21))
        }
    }
}
