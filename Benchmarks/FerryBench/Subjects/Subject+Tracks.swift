internal import FerryGenerate
internal import FerrySQLite
internal import FerryStore

extension Subject {
    /// Tracks with a JSON array of one to three artists, each found by name or created, and related many to many.
    static let tracks = Subject(
        old: ModelText.model([ModelText.entity("Track", track + [ModelText.attribute("json", "String")])]),
        new: ModelText.model([
            ModelText.entity(
                "Artist",
                [
                    ModelText.attribute("imageURL", "String"), ModelText.attribute("name", "String"),
                    ModelText.toMany("tracks", "Track", inverse: "artists"),
                ]),
            ModelText.entity("Track", track + [ModelText.toMany("artists", "Artist", inverse: "tracks")]),
        ]),
        mapping: """
            { "source": "Version1", "destination": "Version2",
              "entityMappings": [
                { "name": "TrackArtist", "source": "Track",
                  "forEach": { "artist": "JSON($source.json, 'artists')" }, "destination": "Artist",
                  "unique": ["name"],
                  "attributes": { "name": "$artist.name", "imageURL": "$artist.imageURL" } },
                { "name": "TrackToTrack", "source": "Track", "destination": "Track",
                  "relationships": { "artists": { "mapping": "TrackArtist", "from": "$source" } } } ] }
            """,
        options: { rows in
            let artists = Int64(max(4, rows / 10))
            return GenerationOptions(
                rowsOfEntity: ["Track": Int64(rows)], emptyPercent: 0,
                values: [
                    PropertyKey("Track", "album"): MadeValue.distinct(prefix: "Album ", count: artists),
                    PropertyKey("Track", "title"): MadeValue.numbered(prefix: "A song about the number "),
                    PropertyKey("Track", "json"): { _, random in
                        .text(text(artists: artists, first: random.below(artists), count: 1 + random.below(3)))
                    },
                ])
        })

    private static let track = [
        ModelText.attribute("album", "String"), ModelText.attribute("seconds", "Double"),
        ModelText.attribute("title", "String"),
    ]

    private static func text(artists: Int64, first: Int64, count: Int64) -> String {
        let elements = (0..<count).map { offset in
            let number = (first + offset * 7_919) % artists
            return
                "{\"name\":\"Artist \(number)\",\"role\":\"main\",\"imageURL\":\"https://example.org/a/\(number).jpg\"}"
        }
        return "{\"version\":2,\"artists\":[\(elements.joined(separator: ","))],\"explicit\":false}"
    }
}
