import FerryBase
import FerryExpression
import FerryMapping
import FerryModel
import FerrySQLite
import FerryStore
import FerryVerify
import TestSupport
import Testing

/// Authors that are carried over, and authors that a preceding mapping finds among them or creates; a one-to-one and a
/// to-one relationship with several candidate objects.
@Suite("Find or create")
struct FindOrCreateTests {
    private let folder: TemporaryFolder
    private let step: ResolvedStep
    private let counts: [EntityMappingCounts]

    private static func version(_ name: String, _ entities: [Entity]) -> ModelVersion {
        let model = ManagedObjectModel(versionIdentifiers: [name], entities: entities)
        return ModelVersion(
            name: name, bundle: nil, path: "/\(name)", isCurrent: false, model: model,
            hashes: VersionHash.hashes(of: model))
    }

    private static func mapping(
        _ position: Int, _ name: String, _ source: String, _ destination: String, filter: String? = nil,
        unique: [String] = [], attributes: [(String, String)], relationships: [ResolvedRelationship] = [], keeps: Bool
    ) throws -> ResolvedEntityMapping {
        ResolvedEntityMapping(
            position: position, mappingModel: 0, name: name, source: source, destination: destination,
            filter: try filter.map { try Predicate.parse($0) }, iteration: nil, unique: unique,
            attributes: try attributes.map { ResolvedAttribute(name: $0, expression: try Expression.parse($1)) },
            relationships: relationships, keepsPrimaryKey: keeps)
    }

    init() throws {
        folder = try TemporaryFolder()
        let born = Attribute(name: "born", type: .date, isOptional: true)
        let name = Attribute(name: "name", type: .string, isOptional: true)
        let first = FindOrCreateTests.version(
            "1",
            [
                Entity(name: "Author", attributes: [born, name]),
                Entity(name: "Book", attributes: [Attribute(name: "by", type: .string, isOptional: true)]),
            ])
        func toOne(_ name: String, _ entity: String, _ inverse: String, many: Bool = false) -> Relationship {
            Relationship(
                name: name, destinationEntity: entity, inverseName: inverse, inverseEntity: entity, isOptional: true,
                maxCount: many ? 0 : 1)
        }
        let second = FindOrCreateTests.version(
            "2",
            [
                Entity(
                    name: "Author", attributes: [born, name],
                    relationships: [toOne("main", "Book", "star"), toOne("first", "Book", "fans")]),
                Entity(
                    name: "Book",
                    relationships: [toOne("star", "Author", "main"), toOne("fans", "Author", "first", many: true)]),
            ])
        let from = Expression.variable("source")
        step = ResolvedStep(
            source: first, destination: second, mappingModels: [],
            entityMappings: [
                try FindOrCreateTests.mapping(
                    0, "BookAuthor", "Book", "Author", unique: ["name"],
                    attributes: [("born", "5"), ("name", "$source.by")],
                    relationships: [
                        ResolvedRelationship(name: "first", mappings: ["BookToBook"], from: from, isAutomatic: false)
                    ], keeps: false),
                try FindOrCreateTests.mapping(
                    1, "AuthorToAuthor", "Author", "Author",
                    attributes: [("born", "$source.born"), ("name", "$source.name")], keeps: true),
                try FindOrCreateTests.mapping(
                    2, "BookToBook", "Book", "Book", attributes: [],
                    relationships: [
                        ResolvedRelationship(name: "star", mappings: ["BookAuthor"], from: from, isAutomatic: false)
                    ], keeps: true),
            ])
        var counts = step.entityMappings.map {
            EntityMappingCounts(name: $0.name, source: $0.source, destination: $0.destination)
        }
        for (index, numbers) in [(6, 2, 4), (3, 3, 0), (6, 6, 0)].enumerated() {
            (counts[index].read, counts[index].written, counts[index].merged) =
                (Int64(numbers.0), Int64(numbers.1), Int64(numbers.2))
        }
        self.counts = counts
        let metadata = StoreMetadata.new(for: first, uuid: "0B9C3F5E-8E2D-4B6A-9C1D-2F3A4B5C6D7E")
        // Two carried authors share a name: the first is found. Two books have no author: nil equals nil.
        try Library.create(
            folder.path + "/source.sqlite", try StoreLayout.canonical(for: first.model), ["Author": 8, "Book": 6],
            metadata,
            """
            INSERT INTO ZAUTHOR (Z_PK, Z_ENT, Z_OPT, ZNAME, ZBORN) VALUES
                (2, 1, 1, 'Ann', 1), (3, 1, 1, 'ann', 2), (5, 1, 1, 'Ann', 3);
            INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZBY) VALUES
                (1, 2, 1, 'Bo'), (2, 2, 1, 'Ann'), (3, 2, 1, NULL), (4, 2, 1, 'Bo'), (5, 2, 1, NULL), (6, 2, 1, 'Ann');
            """)
        try Library.create(
            folder.path + "/destination.sqlite", try StoreLayout.canonical(for: second.model),
            ["Author": 10, "Book": 6], metadata.restamped(for: second),
            """
            INSERT INTO ZAUTHOR (Z_PK, Z_ENT, Z_OPT, ZNAME, ZBORN, ZMAIN, ZFIRST) VALUES
                (2, 1, 1, 'Ann', 1, 2, 2), (3, 1, 1, 'ann', 2, NULL, NULL), (5, 1, 1, 'Ann', 3, NULL, NULL),
                (9, 1, 1, 'Bo', 5, 1, 1), (10, 1, 1, NULL, 5, 3, 3);
            INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZSTAR) VALUES
                (1, 2, 1, 9), (2, 2, 1, 2), (3, 2, 1, 10), (4, 2, 1, NULL), (5, 2, 1, NULL), (6, 2, 1, NULL);
            """)
    }

    private func differences(isSourcePrivate: Bool = false) throws -> [VerificationSummary.Difference] {
        try Verification(
            mode: .full, step: step, sourcePath: folder.path + "/source.sqlite", isSourcePrivate: isSourcePrivate,
            destinationPath: folder.path + "/destination.sqlite", workFolder: folder.path, counts: counts, now: 0
        ).run().differences
    }

    @Test("Objects that another mapping carried are found; the first of several is used")
    func findsCarriedObjects() throws {
        #expect(try differences() == [])
    }

    @Test("A private source is read without a lock, a source in WAL mode with its log")
    func readsTheLog() throws {
        #expect(try differences(isSourcePrivate: true) == [])
        let guardian = try Connection(path: folder.path + "/source.sqlite", mode: .readWrite)
        _ = try guardian.value("PRAGMA journal_mode = WAL")
        try guardian.execute("UPDATE ZAUTHOR SET ZBORN = 7 WHERE Z_PK = 3")
        #expect(try differences(isSourcePrivate: true).map(\.check) == [.rows])
        #expect(try differences().map(\.example) == ["ZAUTHOR Z_PK 3 ZBORN"])
    }

    @Test(
        "Another object than the first is a difference",
        arguments: [
            ("UPDATE ZAUTHOR SET ZFIRST = 4 WHERE Z_PK = 9", "Author", 1),
            (
                "UPDATE ZAUTHOR SET ZMAIN = 4 WHERE Z_PK = 9; UPDATE ZBOOK SET ZSTAR = NULL WHERE Z_PK = 1; UPDATE ZBOOK SET ZSTAR = 9 WHERE Z_PK = 4",
                "Author", 3
            ),
        ])
    func findsOtherChoices(sql: String, entity: String, count: Int64) throws {
        try Connection(path: folder.path + "/destination.sqlite", mode: .readWrite).execute(sql)
        let found = try differences()
        #expect(found.map(\.check) == [.relationships])
        #expect(found.first?.entity == entity)
        #expect(found.first?.count == count)
    }
}
