internal import FerryBase
internal import FerryGenerate
internal import FerrySQLite
internal import FerryStore
internal import Foundation

/// Stores of models of our own, each with one thing in abundance; most in place and copied.
enum OwnShapes {
    static let all: [Shape] =
        [
            Shape(name: "library", summary: "three steps: rename and compute, authors found or created, compute") {
                folder in
                try StepsSubject.write(rows: Int(folder.rows(100_000)), to: folder.path)
                let models = StepsSubject.versions.map { "\(folder.path)/\($0).xcdatamodel" }
                let mappings = (1..<models.count).map { "\(folder.path)/step\($0).json" }
                return Shape.Input(
                    objects: folder.rows(100_000) * 6 / 5,
                    words: models.flatMap { ["--models", $0] } + mappings.flatMap { ["--mappings", $0] } + [
                        "--to", "V4",
                    ])
            },
            subject("extract", "two attributes become objects", .assets, rows: 200_000),
            subject("json", "objects found or created for each element of a JSON array", .tracks, rows: 100_000),
            Shape(name: "policy", summary: "each object by a migration policy in Swift", hasPolicy: true) { folder in
                var subject = Subject.books
                subject.mapping = """
                    { "source": "Version1", "destination": "Version2", "entityMappings": [
                        { "name": "BookToBook", "source": "Book", "destination": "Book", "policy": "TitlePolicy",
                          "attributes": { "price": "$source.price * 1.2", "rating": null } } ] }
                    """
                return try folder.pair(subject, subject.options(Int(folder.rows(200_000))))
            },
            Shape(name: "json-large", summary: "an object for each element of the JSON of one row, 7 MB") { folder in
                var options = Subject.tracks.options(2)
                options.values[PropertyKey("Track", "json")] = { _, random in
                    // Each element has about 100 bytes.
                    let elements = (0..<folder.rows(70_000)).map { number in
                        "{\"name\":\"Artist \(number)\",\"imageURL\":\"https://example.org/a/\(random.next()).jpg\"}"
                    }
                    return .text("{\"artists\":[\(elements.joined(separator: ","))]}")
                }
                return try folder.pair(.tracks, options)
            },
            Shape(
                name: "versions-58", summary: "58 random versions, inferred and composed",
                make: { try RandomShapes.make($0, seed: 58, versions: 58, isMapped: false) }),
            unique, byValue,
        ] + both("wide-100", "100 columns", rows: 50_000, small: 0.2) { wide(100, $0) }
        + both("wide-1500", "1,500 columns", rows: 2_000) { wide(1_500, $0) }
        + both("entities-250", "250 entities", rows: 400, small: 0.1) { entities(250, $0) }
        + both("entities-500", "500 entities", rows: 20) { entities(500, $0) }
        + both("deep-60", "a hierarchy of 60 entities, each the parent of the next", rows: 1_500, small: 0.2, deep)
        + both("blobs", "values of 1 MiB in their rows", rows: 200, options: blobs) { valued(binary, $0) }
        + both("text", "texts of 10 to 100 kB", rows: 4_000, options: texts) { valued(text, $0) }
        + both("external", "values in external files", rows: 50_000) { valued(external, $0) }
        + both("many", "many to many", rows: 100_000, options: tagged) { many($0, isOrdered: false) }
        + both("ordered", "many to many, ordered", rows: 100_000, options: tagged) { many($0, isOrdered: true) }
        + both("chain", "a chain of to-one relationships through eight entities", rows: 50_000, chain)

    // MARK: Forms

    private static func subject(_ name: String, _ summary: String, _ subject: Subject, rows: Int) -> Shape {
        Shape(name: name, summary: summary) { try $0.pair(subject, subject.options(Int($0.rows(rows)))) }
    }

    /// Returns a shape whose step is inferred and runs in place, and one that a mapping model copies.
    private static func both(
        _ name: String, _ summary: String, rows: Int, small: Double? = nil,
        options: (@Sendable (Int64) -> GenerationOptions)? = nil, _ make: @escaping @Sendable (Bool) -> Subject
    ) -> [Shape] {
        [false, true].map { isCopied in
            let form = isCopied ? "copied" : "in place"
            return Shape(
                name: "\(name)-\(isCopied ? "copied" : "in-place")", summary: "\(summary), \(form)",
                small: isCopied || name == "entities-250" ? small : nil
            ) { folder in
                let rows = folder.rows(rows)
                return try folder.pair(make(isCopied), options?(rows) ?? GenerationOptions(rows: rows))
            }
        }
    }

    /// Returns a subject; the mapping names each entity, and the values of some of them.
    private static func subject(
        _ old: [String], _ new: [String], copied names: [String]?, values: [String: String] = [:]
    ) -> Subject {
        let mappings = names?.map { name in
            let computed = values[name].map { ", \"attributes\": { \($0) }" } ?? ""
            return
                "{ \"name\": \"\(name)To\(name)\", \"source\": \"\(name)\", \"destination\": \"\(name)\"\(computed) }"
        }
        return Subject(
            old: ModelText.model(old), new: ModelText.model(new),
            mapping: mappings.map {
                """
                { "source": "Version1", "destination": "Version2",
                  "entityMappings": [ \($0.joined(separator: ",\n    ")) ] }
                """
            }, options: { GenerationOptions(rows: Int64($0)) })
    }

    // MARK: Models

    private static func wide(_ columns: Int, _ isCopied: Bool) -> Subject {
        let kept = (1..<columns).map {
            ModelText.attribute("a\($0)", ["String", "Integer 64", "Double", "Date"][$0 % 4])
        }
        return subject(
            [ModelText.entity("Wide", kept + [ModelText.attribute("first", "String")])],
            [ModelText.entity("Wide", kept + [ModelText.attribute("second", "String", renamedFrom: "first")])],
            copied: isCopied ? ["Wide"] : nil, values: ["Wide": "\"second\": \"$source.first\""])
    }

    private static func entities(_ count: Int, _ isCopied: Bool) -> Subject {
        func name(_ number: Int) -> String { String(format: "E%03d", (number + count) % count) }
        func version(_ added: [String]) -> [String] {
            (0..<count).map { number in
                ModelText.entity(
                    name(number),
                    [
                        ModelText.attribute("a", "String"), ModelText.attribute("b", "Integer 64"),
                        ModelText.attribute("c", "Date"),
                        ModelText.toOne("next", name(number + 1), inverse: "previous"),
                        ModelText.toMany("previous", name(number - 1), inverse: "next"),
                    ] + added)
            }
        }
        return subject(
            version([]), version([ModelText.attribute("d", "String")]), copied: isCopied ? (0..<count).map(name) : nil)
    }

    @Sendable private static func deep(_ isCopied: Bool) -> Subject {
        func name(_ level: Int) -> String { String(format: "L%02d", level) }
        func version(_ added: [String]) -> [String] {
            (0..<60).map { level in
                ModelText.entity(
                    name(level),
                    [ModelText.attribute("a\(level)", "String"), ModelText.attribute("n\(level)", "Integer 32")]
                        + (level == 59 ? added : []), parent: level == 0 ? nil : name(level - 1))
            }
        }
        return subject(
            version([]), version([ModelText.attribute("added", "String")]),
            copied: isCopied ? (0..<60).map(name) : nil)
    }

    private static func many(_ isCopied: Bool, isOrdered: Bool) -> Subject {
        func version(_ added: [String]) -> [String] {
            [
                ModelText.entity(
                    "Book",
                    [
                        ModelText.attribute("title", "String"),
                        ModelText.toMany("tags", "Tag", inverse: "books", isOrdered: isOrdered),
                    ] + added),
                ModelText.entity(
                    "Tag", [ModelText.attribute("word", "String"), ModelText.toMany("books", "Book", inverse: "tags")]),
            ]
        }
        return subject(
            version([]), version([ModelText.attribute("rating", "Integer 16")]),
            copied: isCopied ? ["Book", "Tag"] : nil)
    }

    @Sendable private static func tagged(_ rows: Int64) -> GenerationOptions {
        GenerationOptions(rowsOfEntity: ["Book": rows, "Tag": max(2, rows / 20)])
    }

    @Sendable private static func chain(_ isCopied: Bool) -> Subject {
        func version(_ added: [String]) -> [String] {
            (0..<8).map { number in
                ModelText.entity(
                    "N\(number)",
                    [ModelText.attribute("name", "String")]
                        + (number > 0 ? [ModelText.toOne("up", "N\(number - 1)", inverse: "down")] : [])
                        + (number < 7 ? [ModelText.toMany("down", "N\(number + 1)", inverse: "up")] : added))
            }
        }
        return subject(
            version([]), version([ModelText.attribute("top", "String")]),
            copied: isCopied ? (0..<8).map { "N\($0)" } : nil,
            values: ["N7": "\"top\": \"$source.up.up.up.up.up.name\""])
    }

    private static let unique = Shape(
        name: "unique", summary: "objects found by an attribute's value or created, and related"
    ) { folder in
        let book = [ModelText.attribute("title", "String")]
        let subject = Subject(
            old: ModelText.model([ModelText.entity("Book", book + [ModelText.attribute("author", "String")])]),
            new: ModelText.model([
                ModelText.entity("Book", book + [ModelText.toOne("author", "Author", inverse: "books")]),
                ModelText.entity(
                    "Author",
                    [ModelText.attribute("name", "String"), ModelText.toMany("books", "Book", inverse: "author")]),
            ]),
            mapping: """
                { "source": "Version1", "destination": "Version2", "entityMappings": [
                    { "name": "BookAuthor", "source": "Book", "destination": "Author", "where": "author != nil",
                      "unique": ["name"], "attributes": { "name": "$source.author" } },
                    { "name": "BookToBook", "source": "Book", "destination": "Book",
                      "relationships": { "author": { "mapping": "BookAuthor", "from": "$source" } } } ] }
                """, options: { GenerationOptions(rows: Int64($0)) })
        return try folder.pair(subject, subject.options(Int(folder.rows(200_000))))
    }

    private static let byValue = Shape(
        name: "by-value", summary: "objects related by equal values, which no relationship held"
    ) { folder in
        let rows = folder.rows(20_000)
        let track = [ModelText.attribute("title", "String"), ModelText.attribute("kindID", "Integer 64")]
        let kind = [ModelText.attribute("name", "String"), ModelText.attribute("number", "Integer 64")]
        let kinds = """
            FETCH(FUNCTION($manager, 'fetchRequestForSourceEntityNamed:predicateString:', 'Kind', 'TRUEPREDICATE'), \
            $manager.sourceContext, NO)
            """
        let subject = Subject(
            old: ModelText.model([ModelText.entity("Track", track), ModelText.entity("Kind", kind)]),
            new: ModelText.model([
                ModelText.entity("Track", track + [ModelText.toOne("kind", "Kind", inverse: "tracks")]),
                ModelText.entity("Kind", kind + [ModelText.toMany("tracks", "Track", inverse: "kind")]),
            ]),
            mapping: """
                { "source": "Version1", "destination": "Version2", "entityMappings": [
                    { "name": "KindToKind", "source": "Kind", "destination": "Kind" },
                    { "name": "TrackToTrack", "source": "Track", "destination": "Track",
                      "relationships": { "kind": { "mapping": "KindToKind",
                          "from": "SUBQUERY(\(kinds), $k, $k.number == $source.kindID)" } } } ] }
                """, options: { GenerationOptions(rows: Int64($0)) })
        return try folder.pair(
            subject,
            GenerationOptions(
                rows: rows, emptyPercent: 0,
                values: [
                    PropertyKey("Kind", "number"): { key, _ in .integer(key) },
                    PropertyKey("Track", "kindID"): MadeValue.integers(1...rows),
                ]))
    }

    // MARK: Large values

    /// A large value that both versions have, and a name that the second one calls a label.
    @Sendable private static func valued(_ value: String, _ isCopied: Bool) -> Subject {
        subject(
            [ModelText.entity("Photo", [value, ModelText.attribute("name", "String")])],
            [ModelText.entity("Photo", [value, ModelText.attribute("label", "String", renamedFrom: "name")])],
            copied: isCopied ? ["Photo"] : nil, values: ["Photo": "\"label\": \"$source.name\""])
    }

    private static let binary = ModelText.attribute("content", "Binary")
    private static let text = ModelText.attribute("content", "String")
    private static let external = ModelText.attribute("content", "Binary", isExternal: true)

    @Sendable private static func blobs(_ rows: Int64) -> GenerationOptions {
        Subject.blobs.options(Int(rows))
    }

    @Sendable private static func texts(_ rows: Int64) -> GenerationOptions {
        GenerationOptions(
            rows: rows, emptyPercent: 0,
            values: [
                PropertyKey("Photo", "content"): { key, _ in
                    let bytes = [10_000, 40_000, 100_000][Int(key % 3)]
                    let word = "word \(key) "
                    return .text(String(String(repeating: word, count: bytes / word.utf8.count + 1).prefix(bytes)))
                }
            ])
    }
}
