import FerryBase
import FerryExpression
import FerryMapping
import FerryModel
import FerrySQLite
import FerryStore
import FerryVerify
import TestSupport
import Testing

/// Posts with cards, a one-to-one whose objects all keep their keys, and with new objects of every kind of storage.
///
/// Colors and labels are one-to-one, by the rules of both sides and of one (labels have the posts' keys); notes have keys
/// in the new rows, kinds in the posts' rows (the first of two), topics are in a join table, and zones have the rule
/// themselves. Distant keys spread the posts over many parts.
@Suite("Related objects in parts")
struct RelatedObjectsTests {
    typealias Difference = VerificationSummary.Difference

    private let folder: TemporaryFolder
    private let step: ResolvedStep

    private var source: String { folder.path + "/source.sqlite" }
    private var destination: String { folder.path + "/destination.sqlite" }

    // MARK: Models

    private static func version(_ name: String, _ entities: [Entity]) -> ModelVersion {
        let model = ManagedObjectModel(versionIdentifiers: [name], entities: entities)
        return ModelVersion(
            name: name, bundle: nil, path: "/\(name)", isCurrent: false, model: model,
            hashes: VersionHash.hashes(of: model))
    }

    private static func relationship(
        _ name: String, to entity: String, inverse: String, toMany: Bool = false
    ) -> Relationship {
        Relationship(
            name: name, destinationEntity: entity, inverseName: inverse, inverseEntity: entity, isOptional: true,
            maxCount: toMany ? 0 : 1)
    }

    private static let name = Attribute(name: "name", type: .string, isOptional: true)

    private static func named(_ entity: String, _ relationships: Relationship...) -> Entity {
        Entity(name: entity, attributes: [name], relationships: relationships)
    }

    private static let first = version(
        "1",
        [
            named("Card", relationship("post", to: "Post", inverse: "card")),
            named(
                "Post", relationship("card", to: "Card", inverse: "post"),
                relationship("tags", to: "Tag", inverse: "post", toMany: true)),
            named("Tag", relationship("post", to: "Post", inverse: "tags")),
        ])

    private static let second = version(
        "2",
        [
            named("Card", relationship("post", to: "Post", inverse: "card")),
            named("Color", relationship("post", to: "Post", inverse: "color")),
            named("Kind", relationship("posts", to: "Post", inverse: "kind", toMany: true)),
            named("Label", relationship("post", to: "Post", inverse: "label")),
            named("Note", relationship("post", to: "Post", inverse: "notes")),
            named(
                "Post", relationship("card", to: "Card", inverse: "post"),
                relationship("color", to: "Color", inverse: "post"), relationship("kind", to: "Kind", inverse: "posts"),
                relationship("label", to: "Label", inverse: "post"),
                relationship("notes", to: "Note", inverse: "post", toMany: true),
                relationship("topics", to: "Topic", inverse: "posts", toMany: true),
                relationship("zones", to: "Zone", inverse: "post", toMany: true)),
            named("Topic", relationship("posts", to: "Post", inverse: "topics", toMany: true)),
            named("Zone", relationship("post", to: "Post", inverse: "zones")),
        ])

    private static func mapping(
        _ position: Int, _ name: String, _ source: String, _ destination: String, filter: String? = nil,
        iteration: String? = nil, value: String = "$source.name", _ rules: [(String, String, String)] = [],
        keeps: Bool = false
    ) throws -> ResolvedEntityMapping {
        ResolvedEntityMapping(
            position: position, mappingModel: 0, name: name, source: source, destination: destination,
            filter: try filter.map { try Predicate.parse($0) },
            iteration: try iteration.map { .init(variable: "element", elements: try Expression.parse($0)) }, unique: [],
            attributes: [ResolvedAttribute(name: "name", expression: try Expression.parse(value))],
            relationships: try rules.map {
                ResolvedRelationship(
                    name: $0, mappings: [$1], from: try Expression.parse($2), isAutomatic: $2 != "$source")
            }, keepsPrimaryKey: keeps)
    }

    private static func mappings() throws -> [ResolvedEntityMapping] {
        let posts = ("post", "Posts", "$source")
        return [
            try mapping(0, "Colors", "Post", "Color", value: "uppercase:($source.name)", [posts]),
            try mapping(
                1, "Posts", "Post", "Post", filter: "name != 'Draft'",
                [
                    ("card", "Cards", "$source.card"), ("color", "Colors", "$source"), ("kind", "Kinds", "$source"),
                    ("label", "Labels", "$source"), ("notes", "Notes", "$source"), ("topics", "Topics", "$source"),
                ], keeps: true),
            try mapping(2, "Cards", "Card", "Card", [("post", "Posts", "$source.post")], keeps: true),
            try mapping(3, "Labels", "Post", "Label", keeps: true),
            try mapping(4, "Notes", "Post", "Note", iteration: "$source.tags", value: "$element.name"),
            try mapping(5, "Kinds", "Post", "Kind", iteration: "$source.tags", value: "$element.name"),
            try mapping(6, "Topics", "Post", "Topic", iteration: "$source.tags", value: "$element.name"),
            try mapping(7, "Zones", "Post", "Zone", [posts]),
        ]
    }

    // MARK: Stores

    private static let count: Int64 = 60
    /// The key of the n-th post, from 0.
    private static func post(_ number: Int64) -> Int64 { 100 + 9_000 * number }

    init() throws {
        folder = try TemporaryFolder()
        step = ResolvedStep(
            source: Self.first, destination: Self.second, mappingModels: [], entityMappings: try Self.mappings())
        let metadata = StoreMetadata.new(for: Self.first, uuid: "0B9C3F5E-8E2D-4B6A-9C1D-2F3A4B5C6D7E")
        // The card of the n-th post is the n-th from the end; every tenth post is left out.
        let numbers = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < \(Self.count - 1))"
        let (key, card) = ("100 + 9000 * i", "100 + 9000 * (\(Self.count - 1) - i)")
        let isDraft = "i % 10 = 3"
        func ifKept(_ value: String) -> String { "iif(\(isDraft), NULL, \(value))" }
        let highest = Self.post(Self.count)
        try Library.create(
            source, try StoreLayout.canonical(for: Self.first.model),
            ["Card": highest, "Post": highest, "Tag": 2 * Self.count], metadata,
            """
            \(numbers) INSERT INTO ZPOST (Z_PK, Z_ENT, Z_OPT, ZNAME, ZCARD)
            SELECT \(key), 2, 1, iif(\(isDraft), 'Draft', 'Post ' || i), \(card) FROM n;
            \(numbers) INSERT INTO ZCARD (Z_PK, Z_ENT, Z_OPT, ZNAME, ZPOST)
            SELECT \(card), 1, 1, 'Card ' || i, \(key) FROM n;
            \(numbers) INSERT INTO ZTAG (Z_PK, Z_ENT, Z_OPT, ZNAME, ZPOST)
            SELECT 1 + 2 * i + s, 3, 1, 'Tag ' || i || s, \(key) FROM n, (SELECT 0 AS s UNION ALL SELECT 1);
            """)
        let many = ["Note", "Kind", "Topic"].map { entity in
            let number = ["Kind": 3, "Note": 5, "Topic": 7][entity] ?? 0
            let (column, value) = entity == "Note" ? (", ZPOST", ", " + ifKept(key)) : ("", "")
            return """
                \(numbers) INSERT INTO Z\(entity.uppercased()) (Z_PK, Z_ENT, Z_OPT, ZNAME\(column))
                SELECT 1 + 2 * i + s, \(number), 1, 'Tag ' || i || s\(value)
                FROM n, (SELECT 0 AS s UNION ALL SELECT 1);
                """
        }
        try Library.create(
            destination, try StoreLayout.canonical(for: Self.second.model),
            [
                "Card": highest, "Post": highest, "Color": Self.count, "Label": highest, "Kind": 2 * Self.count,
                "Note": 2 * Self.count, "Topic": 2 * Self.count, "Zone": Self.count,
            ], metadata.restamped(for: Self.second),
            """
            \(numbers) INSERT INTO ZPOST (Z_PK, Z_ENT, Z_OPT, ZNAME, ZCARD, ZCOLOR, ZLABEL, ZKIND)
            SELECT \(key), 6, 1, 'Post ' || i, \(card), i + 1, \(key), 1 + 2 * i FROM n WHERE NOT (\(isDraft));
            \(numbers) INSERT INTO ZCARD (Z_PK, Z_ENT, Z_OPT, ZNAME, ZPOST)
            SELECT \(card), 1, 1, 'Card ' || i, \(ifKept(key)) FROM n;
            \(numbers) INSERT INTO ZCOLOR (Z_PK, Z_ENT, Z_OPT, ZNAME, ZPOST)
            SELECT i + 1, 2, 1, iif(\(isDraft), 'DRAFT', 'POST ' || i), \(ifKept(key)) FROM n;
            \(numbers) INSERT INTO ZLABEL (Z_PK, Z_ENT, Z_OPT, ZNAME, ZPOST)
            SELECT \(key), 4, 1, iif(\(isDraft), 'Draft', 'Post ' || i), \(ifKept(key)) FROM n;
            \(numbers) INSERT INTO ZZONE (Z_PK, Z_ENT, Z_OPT, ZNAME, ZPOST)
            SELECT i + 1, 8, 1, iif(\(isDraft), 'Draft', 'Post ' || i), \(ifKept(key)) FROM n;
            \(many.joined(separator: "\n"))
            \(numbers) INSERT INTO Z_6TOPICS (Z_6POSTS, Z_7TOPICS)
            SELECT \(key), 1 + 2 * i + s FROM n, (SELECT 0 AS s UNION ALL SELECT 1) WHERE NOT (\(isDraft));
            """)
    }

    private func change(_ path: String, _ sql: String) throws {
        try Connection(path: path, mode: .readWrite).execute(sql)
    }

    private func verify(
        jobs: Int, key: String? = nil, stop: StopRequest = StopRequest(), trace: TraceHook? = nil
    ) throws -> VerificationSummary {
        var verification = Verification(
            mode: .full, step: step, sourcePath: source, isSourcePrivate: false, destinationPath: destination,
            workFolder: folder.path, counts: nil, now: 700_000_000.5, trace: trace, stop: stop)
        verification.jobs = jobs
        verification.resumeKey = key
        // A commit of all parts takes longer than a part.
        verification.leastNanoseconds = 2_000_000
        return try verification.run()
    }

    // MARK: Tests

    @Test("The links of a sound store are compared by their sums, without written pairs", arguments: [1, 2, 7])
    func needsNoPairs(_ jobs: Int) throws {
        let statements = SharedList<String>()
        let report = try verify(jobs: jobs, trace: { event in statements.append(event.text) })
        #expect(report.differences == [])
        #expect(report.checked == 2 * Self.count + 54 + 2 * Self.count + 6 * Self.count)
        #expect(statements.all.filter { $0.contains("pairs_") } == [])
    }

    struct Damage: CustomTestStringConvertible, Sendable {
        var what: String
        var sql: String
        /// The differences that must be among those found: check, entity, count.
        var found: [(check: VerificationCheck, entity: String, count: Int64)]
        var testDescription: String { what }
    }

    /// Exchanges the links of the posts 10 and 50, at both sides.
    private static func exchange(_ entity: String, _ column: String) -> String {
        let (one, two) = (post(10), post(50))
        return """
            CREATE TEMP TABLE old AS SELECT Z_PK, \(column) AS other FROM ZPOST WHERE Z_PK IN (\(one), \(two));
            UPDATE ZPOST SET \(column) = (SELECT other FROM old WHERE old.Z_PK <> ZPOST.Z_PK)
            WHERE Z_PK IN (\(one), \(two));
            UPDATE Z\(entity) SET ZPOST = iif(ZPOST = \(one), \(two), \(one)) WHERE ZPOST IN (\(one), \(two));
            """
    }

    private static func damages(of entity: String, _ column: String, _ name: String) -> [Damage] {
        let table = "Z" + entity
        return [
            Damage(
                what: "\(name): exchanged at both sides", sql: exchange(entity, column),
                found: [(.relationships, name, 4)]),
            Damage(
                what: "\(name): another post at one side",
                sql: "UPDATE \(table) SET ZPOST = \(post(50)) WHERE ZPOST = \(post(10))",
                found: [(.relationships, name, 1), (.references, name, 1), (.references, "Post", 1)]),
            Damage(
                what: "\(name): another one in the post's row",
                sql: "UPDATE ZPOST SET \(column) = (SELECT \(column) FROM ZPOST WHERE Z_PK = \(post(50))) "
                    + "WHERE Z_PK = \(post(10))",
                found: [(.relationships, name, 1), (.references, name, 1), (.references, "Post", 1)]),
            Damage(
                what: "\(name): lost in the new row", sql: "UPDATE \(table) SET ZPOST = NULL WHERE ZPOST = \(post(10))",
                found: [(.relationships, name, 1), (.references, "Post", 1)]),
            Damage(
                what: "\(name): lost in the post's row",
                sql: "UPDATE ZPOST SET \(column) = NULL WHERE Z_PK = \(post(10))",
                found: [(.relationships, name, 1), (.references, name, 1)]),
            Damage(
                what: "\(name): lost at both sides",
                sql: "UPDATE ZPOST SET \(column) = NULL WHERE Z_PK = \(post(10)); "
                    + "UPDATE \(table) SET ZPOST = NULL WHERE ZPOST = \(post(10))",
                found: [(.relationships, name, 2)]),
            Damage(
                what: "\(name): the row is missing, and the post's key with it",
                sql: "DELETE FROM \(table) WHERE ZPOST = \(post(10)); "
                    + "UPDATE ZPOST SET \(column) = NULL WHERE Z_PK = \(post(10))",
                found: [(.rows, name, 1), (.relationships, name, 2)]),
            Damage(
                what: "\(name): a link of a post that was left out",
                sql: "UPDATE \(table) SET ZPOST = \(post(3)) "
                    + "WHERE Z_PK = (SELECT min(Z_PK) FROM \(table) WHERE ZPOST IS NULL)",
                found: [(.references, name, 1), (.relationships, name, 1)]),
            Damage(
                what: "\(name): the post is missing", sql: "DELETE FROM ZPOST WHERE Z_PK = \(post(10))",
                found: [(.rows, "Post", 1), (.references, name, 1), (.relationships, name, 1)]),
            Damage(
                what: "\(name): text instead of a key",
                sql: "UPDATE \(table) SET ZPOST = 'x' WHERE ZPOST = \(post(10))",
                found: [(.references, name, 1), (.references, "Post", 1), (.relationships, name, 1)]),
        ]
    }

    static let damages: [Damage] =
        damages(of: "CARD", "ZCARD", "Card") + damages(of: "COLOR", "ZCOLOR", "Color")
        + damages(of: "LABEL", "ZLABEL", "Label") + [
            Damage(
                what: "A wrong value of a new object", sql: "UPDATE ZCOLOR SET ZNAME = 'x' WHERE Z_PK IN (11, 51)",
                found: [(.rows, "Color", 2)]),
            Damage(
                what: "A new object too many, with a key",
                sql: "INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZPOST) VALUES (500, 5, 1, \(post(10)))",
                found: [(.rows, "Note", 1), (.relationships, "Note", 1)]),
            Damage(
                what: "Another post's note", sql: "UPDATE ZNOTE SET ZPOST = \(post(50)) WHERE Z_PK = 21",
                found: [(.relationships, "Note", 1)]),
            Damage(
                what: "A note without its post", sql: "UPDATE ZNOTE SET ZPOST = NULL WHERE Z_PK = 21",
                found: [(.relationships, "Note", 1)]),
            Damage(
                what: "Zones exchanged",
                sql: "UPDATE ZZONE SET ZPOST = iif(Z_PK = 11, \(post(50)), \(post(10))) WHERE Z_PK IN (11, 51)",
                found: [(.relationships, "Zone", 2)]),
            Damage(
                what: "A zone of a post that was left out", sql: "UPDATE ZZONE SET ZPOST = \(post(3)) WHERE Z_PK = 4",
                found: [(.references, "Zone", 1), (.relationships, "Zone", 1)]),
            Damage(
                what: "The second kind", sql: "UPDATE ZPOST SET ZKIND = ZKIND + 1 WHERE Z_PK = \(post(10))",
                found: [(.relationships, "Post", 1)]),
            Damage(
                what: "A post without its kind", sql: "UPDATE ZPOST SET ZKIND = NULL WHERE Z_PK = \(post(59))",
                found: [(.relationships, "Post", 1)]),
            Damage(
                what: "A topic less", sql: "DELETE FROM Z_6TOPICS WHERE Z_6POSTS = \(post(10)) AND Z_7TOPICS = 22",
                found: [(.relationships, "Post", 1)]),
            Damage(
                what: "A topic more", sql: "INSERT INTO Z_6TOPICS (Z_6POSTS, Z_7TOPICS) VALUES (\(post(10)), 23)",
                found: [(.relationships, "Post", 1)]),
            Damage(
                what: "A topic of the last post, before its own",
                sql: "INSERT INTO Z_6TOPICS (Z_6POSTS, Z_7TOPICS) VALUES (\(post(59)), 1)",
                found: [(.relationships, "Post", 1)]),
            Damage(
                what: "Topics exchanged",
                sql: "UPDATE Z_6TOPICS SET Z_7TOPICS = iif(Z_7TOPICS = 21, 101, 21) WHERE Z_7TOPICS IN (21, 101)",
                found: [(.relationships, "Post", 4)]),
        ]

    @Test("A damage is found, equally for any number of jobs", arguments: damages)
    func findsDamage(_ damage: Damage) throws {
        try change(destination, damage.sql)
        let reports = try [1, 2, 7].map { try verify(jobs: $0) }
        for report in reports { #expect(report.differences == reports[0].differences) }
        let found = reports[0].differences
        for (check, entity, count) in damage.found {
            #expect(found.contains { $0.check == check && $0.entity == entity && $0.count == count }, "\(found)")
        }
    }

    /// Damage that is compared pair by pair: carried keys, keys of new rows, and a join table.
    private static let comparedByPair = ["Card: exchanged", "Color: lost at both", "Topics exchanged"].map { name in
        damages.first { $0.what.hasPrefix(name) }
    }

    @Test("A stopped verification goes on between and in the parts", arguments: 0..<3)
    func goesOn(_ number: Int) throws {
        let damage = try #require(Self.comparedByPair[number])
        try change(destination, damage.sql)
        let whole = try verify(jobs: 2).differences
        var resumed: VerificationSummary?
        // After a few units at first, after more in each later call: each begins with the same work.
        for call in 1...2_000 where resumed == nil {
            let spent = StopRequest(
                following: StopRequest(), budgetNanoseconds: UInt64(call) * (number == 2 ? 4_000_000 : 40_000_000),
                budgetSpent: FerryError(.budgetSpent, "It is spent."))
            do {
                resumed = try verify(jobs: 2, key: "run", stop: spent)
            } catch let error as FerryError where [.budgetSpent, .interrupted].contains(error.code) {}
        }
        #expect(resumed?.differences == whole)
    }

    @Test("One-sided and dangling links of the source do not hide a difference")
    func healsDamage() throws {
        // The 20th post lost its card, the 30th card its post; the 40th post's card does not exist.
        try change(
            source,
            """
            UPDATE ZPOST SET ZCARD = NULL WHERE Z_PK = \(Self.post(20));
            UPDATE ZCARD SET ZPOST = NULL WHERE ZPOST = \(Self.post(30));
            UPDATE ZPOST SET ZCARD = 7 WHERE Z_PK = \(Self.post(40));
            DELETE FROM ZCARD WHERE ZPOST = \(Self.post(40));
            """)
        try change(
            destination,
            """
            DELETE FROM ZCARD WHERE ZPOST = \(Self.post(40));
            UPDATE ZPOST SET ZCARD = NULL WHERE Z_PK = \(Self.post(40));
            """)
        #expect(try verify(jobs: 2).differences == [])
        // A copy that leaves the halves as they were.
        try change(
            destination,
            """
            UPDATE ZPOST SET ZCARD = NULL WHERE Z_PK = \(Self.post(20));
            UPDATE ZCARD SET ZPOST = NULL WHERE ZPOST = \(Self.post(20));
            """)
        let found = try verify(jobs: 2).differences
        #expect(found.contains { $0.check == .relationships && $0.entity == "Card" && $0.count == 2 }, "\(found)")
    }
}
