import FerryBase
import FerryExpression
import FerryMapping
import FerryModel
import FerrySQLite
import FerryStore
import FerryVerify
import TestSupport
import Testing

/// Authors whose homes and tags are the source's own, in a table that also gets authors that `unique` finds or creates.
@Suite("Carried links beside new objects")
struct CarriedBesideNewTests {
    typealias Difference = VerificationSummary.Difference

    private let folder: TemporaryFolder
    private let step: ResolvedStep

    private static func relationship(
        _ name: String, to entity: String, inverse: String, toMany: Bool = false
    ) -> Relationship {
        Relationship(
            name: name, destinationEntity: entity, inverseName: inverse, inverseEntity: entity, isOptional: true,
            maxCount: toMany ? 0 : 1)
    }

    private static func version(_ identifier: String, bookName: String) -> ModelVersion {
        func text(_ name: String) -> Attribute { Attribute(name: name, type: .string, isOptional: true) }
        let model = ManagedObjectModel(
            versionIdentifiers: [identifier],
            entities: [
                Entity(
                    name: "Author", attributes: [text("name")],
                    relationships: [
                        relationship("home", to: "Place", inverse: "authors"),
                        relationship("tags", to: "Tag", inverse: "authors", toMany: true),
                    ]),
                Entity(name: "Book", attributes: [text(bookName)]),
                Entity(
                    name: "Place", relationships: [relationship("authors", to: "Author", inverse: "home", toMany: true)]
                ),
                Entity(
                    name: "Tag", relationships: [relationship("authors", to: "Author", inverse: "tags", toMany: true)]),
            ])
        return ModelVersion(
            name: identifier, bundle: nil, path: "/\(identifier)", isCurrent: false, model: model,
            hashes: VersionHash.hashes(of: model))
    }

    private static func mapping(
        _ position: Int, _ source: String, _ destination: String, unique: [String] = [],
        attributes: [String: String] = [:], related: [String: String] = [:]
    ) throws -> ResolvedEntityMapping {
        ResolvedEntityMapping(
            position: position, mappingModel: 0, name: "\(source)To\(destination)", source: source,
            destination: destination, filter: nil, iteration: nil, unique: unique,
            attributes: try attributes.map { ResolvedAttribute(name: $0, expression: try Expression.parse($1)) },
            relationships: try related.map { name, entity in
                ResolvedRelationship(
                    name: name, mappings: ["\(entity)To\(entity)"], from: try Expression.parse("$source.\(name)"),
                    isAutomatic: true)
            }, keepsPrimaryKey: source == destination)
    }

    init() throws {
        folder = try TemporaryFolder()
        let (first, second) = (Self.version("1", bookName: "by"), Self.version("2", bookName: "author"))
        step = ResolvedStep(
            source: first, destination: second, mappingModels: [],
            entityMappings: [
                try Self.mapping(
                    0, "Author", "Author", attributes: ["name": "$source.name"],
                    related: ["home": "Place", "tags": "Tag"]),
                try Self.mapping(1, "Book", "Author", unique: ["name"], attributes: ["name": "$source.by"]),
                try Self.mapping(2, "Book", "Book", attributes: ["author": "$source.by"]),
                try Self.mapping(3, "Place", "Place", related: ["authors": "Author"]),
                try Self.mapping(4, "Tag", "Tag", related: ["authors": "Author"]),
            ])
        let metadata = StoreMetadata.new(for: first, uuid: "0B9C3F5E-8E2D-4B6A-9C1D-2F3A4B5C6D7E")
        let kept = """
            INSERT INTO ZAUTHOR (Z_PK, Z_ENT, Z_OPT, ZNAME, ZHOME) VALUES
                (1, 1, 1, 'Ann', 1), (2, 1, 1, 'Bo', 2), (4, 1, 1, 'Cy', NULL);
            INSERT INTO ZPLACE (Z_PK, Z_ENT, Z_OPT) VALUES (1, 3, 1), (2, 3, 1);
            INSERT INTO ZTAG (Z_PK, Z_ENT, Z_OPT) VALUES (1, 4, 1), (2, 4, 1);
            INSERT INTO Z_1TAGS (Z_1AUTHORS, Z_4TAGS) VALUES (1, 1), (1, 2), (2, 2);
            """
        func books(_ column: String) -> String {
            """
            INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, \(column)) VALUES (1, 2, 1, 'Ann'), (2, 2, 1, 'Di'), (3, 2, 1, 'Di');
            """
        }
        try Library.create(
            folder.path + "/source.sqlite", try StoreLayout.canonical(for: first.model),
            ["Author": 8, "Book": 3, "Place": 2, "Tag": 2], metadata, kept + books("ZBY"))
        try Library.create(
            folder.path + "/destination.sqlite", try StoreLayout.canonical(for: second.model),
            ["Author": 9, "Book": 3, "Place": 2, "Tag": 2], metadata.restamped(for: second),
            kept + books("ZAUTHOR") + "INSERT INTO ZAUTHOR (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (9, 1, 1, 'Di')")
    }

    private func differences() throws -> [Difference] {
        let verification = Verification(
            mode: .full, step: step, sourcePath: folder.path + "/source.sqlite", isSourcePrivate: false,
            destinationPath: folder.path + "/destination.sqlite", workFolder: folder.path, counts: nil, now: 0)
        return try verification.run().differences
    }

    @Test("A right store has no difference")
    func findsNothing() throws {
        #expect(try differences() == [])
    }

    @Test(
        "A wrong key or link of an author, kept or new, is found at its place",
        arguments: [
            ("UPDATE ZAUTHOR SET ZHOME = 2 WHERE Z_PK = 1", 1, "ZAUTHOR Z_PK 1 ZHOME"),
            ("UPDATE ZAUTHOR SET ZHOME = NULL WHERE Z_PK = 2", 1, "ZAUTHOR Z_PK 2 ZHOME"),
            ("UPDATE ZAUTHOR SET ZHOME = 1 WHERE Z_PK = 9", 1, "ZAUTHOR Z_PK 9 ZHOME"),
            ("UPDATE Z_1TAGS SET Z_4TAGS = 1 WHERE Z_1AUTHORS = 2", 2, "Z_1TAGS Z_1AUTHORS 2"),
            ("INSERT INTO Z_1TAGS (Z_1AUTHORS, Z_4TAGS) VALUES (9, 1)", 1, "Z_1TAGS Z_1AUTHORS 9"),
            ("DELETE FROM Z_1TAGS WHERE Z_1AUTHORS = 2", 1, "Z_1TAGS Z_1AUTHORS 2"),
        ])
    func findsDamage(sql: String, count: Int64, example: String) throws {
        let connection = try Connection(path: folder.path + "/destination.sqlite", mode: .readWrite)
        try connection.execute(sql)
        #expect(
            try differences() == [Difference(check: .relationships, entity: "Author", count: count, example: example)])
    }
}
