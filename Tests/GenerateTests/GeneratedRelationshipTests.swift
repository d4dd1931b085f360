import FerryBase
import FerryGenerate
import FerryModel
import FerrySQLite
import FerryVerify
import TestSupport
import Testing

/// Relationships with minimum and maximum counts, checked by `FerryVerify` and counted here.
struct GeneratedRelationshipTests {
    private static func many(
        _ name: String, to destination: String, inverse: String?, least: Int = 0, most: Int = 0, optional: Bool = true,
        ordered: Bool = false
    ) -> Relationship {
        Relationship(
            name: name, destinationEntity: destination, inverseName: inverse, isOptional: optional, isOrdered: ordered,
            minCount: least, maxCount: most)
    }

    private static func one(_ name: String, to destination: String, inverse: String?, optional: Bool = true)
        -> Relationship
    { Relationship(name: name, destinationEntity: destination, inverseName: inverse, isOptional: optional) }

    private func generate(
        _ entities: [Entity], _ options: GenerationOptions, in folder: TemporaryFolder
    ) throws -> (store: Connection, generator: StoreGenerator) {
        let version = ModelVersion(of: ManagedObjectModel(versionIdentifiers: [], entities: entities))
        let path = folder.file("Store.sqlite")
        let generator = try StoreGenerator(version, options: options)
        try generator.generate(at: path, files: FileLayer())
        let report = try Verification(ofStore: version, at: path, isNew: true, workFolder: folder.path).run()
        #expect(report.differences == [])
        return (try Connection(path: path, mode: .readOnly), generator)
    }

    /// Returns the fewest and the most objects of an owner.
    private func spread(_ store: Connection, _ owners: String, _ objects: String, _ key: String) throws -> [Int64?] {
        let row = try store.rows(
            "SELECT min(n), max(n) FROM (SELECT count(b.\(key)) AS n FROM \(owners) a "
                + "LEFT JOIN \(objects) b ON b.\(key) = a.Z_PK GROUP BY a.Z_PK)")
        return row[0].map(\.integer)
    }

    @Test("A mandatory to-many relationship with minimum and maximum count gets the objects that it needs")
    func toMany() throws {
        let folder = try TemporaryFolder()
        let (store, generator) = try generate(
            [
                Entity(
                    name: "Team",
                    relationships: [
                        Self.many("players", to: "Player", inverse: "team", least: 3, most: 5, optional: false)
                    ]),
                Entity(name: "Player", relationships: [Self.one("team", to: "Team", inverse: "players")]),
            ], GenerationOptions(rows: 100), in: folder)
        #expect(generator.rows == ["Team": 100, "Player": 300])
        #expect(try spread(store, "ZTEAM", "ZPLAYER", "ZTEAM") == [3, 3])
    }

    @Test("Objects with a mandatory owner spread over as many owners as the maximum count requires")
    func greatestNumber() throws {
        let folder = try TemporaryFolder()
        let (store, generator) = try generate(
            [
                Entity(
                    name: "Team",
                    relationships: [Self.many("players", to: "Player", inverse: "team", most: 4, ordered: true)]),
                Entity(
                    name: "Player", relationships: [Self.one("team", to: "Team", inverse: "players", optional: false)]),
            ], GenerationOptions(rows: 10, rowsOfEntity: ["Player": 101]), in: folder)
        #expect(generator.rows == ["Team": 26, "Player": 101])
        #expect(try spread(store, "ZTEAM", "ZPLAYER", "ZTEAM")[1] == 4)
        #expect(
            try store.integer(
                "SELECT count(*) FROM (SELECT 1 FROM ZPLAYER GROUP BY ZTEAM, Z_FOK_TEAM HAVING count(*) > 1)") == 0)
    }

    @Test("Many-to-many relationships with counts on both sides keep both, ordered or not, also within one entity")
    func manyToMany() throws {
        let folder = try TemporaryFolder()
        let (store, _) = try generate(
            [
                Entity(
                    name: "Course",
                    relationships: [
                        Self.many(
                            "students", to: "Student", inverse: "courses", least: 2, most: 6, optional: false,
                            ordered: true),
                        Self.many("before", to: "Course", inverse: "after", least: 1, optional: false),
                        Self.many("after", to: "Course", inverse: "before", most: 2),
                    ]),
                Entity(
                    name: "Student",
                    relationships: [
                        Self.many("courses", to: "Course", inverse: "students", least: 1, most: 3, optional: false),
                        Self.many("friends", to: "Student", inverse: "friends", least: 1, optional: false),
                        Self.many("rivals", to: "Student", inverse: "rivals", least: 3, optional: false),
                    ]),
            ], GenerationOptions(rows: 40, rowsOfEntity: ["Student": 51]), in: folder)
        let students = try store.rows(
            "SELECT min(n), max(n) FROM (SELECT count(*) AS n FROM Z_1STUDENTS GROUP BY Z_1COURSES)")
        #expect(students[0][0].integer ?? 0 >= 2 && students[0][1].integer ?? 9 <= 6)
        let courses = try store.rows(
            "SELECT min(n), max(n), count(*) FROM (SELECT count(*) AS n FROM Z_1STUDENTS GROUP BY Z_2STUDENTS)")
        #expect(courses[0][0].integer ?? 0 >= 1 && courses[0][1].integer ?? 9 <= 3 && courses[0][2].integer == 51)
        for table in ["Z_2FRIENDS", "Z_2RIVALS"] {
            #expect(
                try store.integer(
                    "SELECT count(*) FROM \(table) a WHERE NOT EXISTS (SELECT 1 FROM \(table) b "
                        + "WHERE b.\(table) = a.REFLEXIVE AND b.REFLEXIVE = a.\(table))") == 0)
            #expect(try store.integer("SELECT count(DISTINCT \(table)) FROM \(table)") == 51)
        }
    }

    @Test("Objects of mandatory one-to-one relationships have a partner each, also of the same entity or a subentity")
    func oneToOne() throws {
        let folder = try TemporaryFolder()
        let (store, generator) = try generate(
            [
                Entity(
                    name: "Person",
                    relationships: [
                        Self.one("passport", to: "Passport", inverse: "person", optional: false),
                        Self.one("twin", to: "Person", inverse: "twin", optional: false),
                        Self.one("next", to: "Person", inverse: "previous", optional: false),
                        Self.one("previous", to: "Person", inverse: "next", optional: false),
                    ]),
                Entity(
                    name: "Passport", relationships: [Self.one("person", to: "Person", inverse: "passport")]),
                Entity(name: "Diplomat", superentity: "Passport"),
            ], GenerationOptions(rows: 33, rowsOfEntity: ["Person": 101, "Diplomat": 5]), in: folder)
        #expect(generator.rows == ["Person": 101, "Passport": 96, "Diplomat": 5])
        #expect(try store.integer("SELECT count(*) FROM ZPERSON WHERE ZPASSPORT IS NULL OR ZTWIN IS NULL") == 0)
    }

    @Test("A mandatory to-many without inverse has its objects")
    func inverseless() throws {
        let folder = try TemporaryFolder()
        let (store, generator) = try generate(
            [
                Entity(
                    name: "Cart",
                    relationships: [Self.many("items", to: "Item", inverse: nil, least: 2, most: 3, optional: false)]),
                Entity(name: "Item"), Entity(name: "Gift", superentity: "Item"),
            ], GenerationOptions(rows: 20, rowsOfEntity: ["Cart": 50]), in: folder)
        #expect((generator.rows["Item"] ?? 0) + (generator.rows["Gift"] ?? 0) >= 100)
        let row = try spread(store, "ZCART", "ZITEM", "Z1ITEMS")
        #expect(row[0] ?? 0 >= 2 && row[1] ?? 9 <= 3)
    }

    @Test("Rows requested by name that cannot be related are refused, and counts without a solution too")
    func refusals() throws {
        let folder = try TemporaryFolder()
        let teams = [
            Entity(
                name: "Team",
                relationships: [Self.many("players", to: "Player", inverse: "team", least: 3, optional: false)]),
            Entity(name: "Player", relationships: [Self.one("team", to: "Team", inverse: "players")]),
        ]
        var error = #expect(throws: FerryError.self) {
            try generate(teams, GenerationOptions(rows: 10, rowsOfEntity: ["Player": 20]), in: folder)
        }
        #expect(error?.code == .unsupported && error?.message.contains("30 of Player") == true)
        let tree = [
            Entity(
                name: "Node",
                relationships: [
                    Self.many("children", to: "Node", inverse: "parent", least: 2, optional: false),
                    Self.one("parent", to: "Node", inverse: "children"),
                ])
        ]
        error = #expect(throws: FerryError.self) { try generate(tree, GenerationOptions(rows: 10), in: folder) }
        #expect(error?.code == .unsupported)
        // Without rows there are no relationships.
        #expect(try generate(tree, GenerationOptions(rows: 0), in: folder).generator.rows == ["Node": 0])
    }
}
