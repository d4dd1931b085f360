import FerryBase
import FerryEngine
import FerryModel
import FerryPlan
import FerrySQLite
import FerryVerify
import TestSupport
import Testing

/// Several checks share one reading of an index or of a table: each check finds its own damage, and no other.
@Suite("One reading of an index or a table for all checks")
struct OneReadingTests {
    private static func text(_ name: String) -> Attribute { Attribute(name: name, type: .string, isOptional: true) }

    private static func link(_ name: String, _ entity: String, inverse: String, toMany: Bool = true) -> Relationship {
        Relationship(
            name: name, destinationEntity: entity, inverseName: inverse, inverseEntity: entity, isOptional: true,
            maxCount: toMany ? 0 : 1)
    }

    private static func model(_ more: [Attribute] = []) -> ManagedObjectModel {
        ManagedObjectModel(
            versionIdentifiers: [""],
            entities: [
                Entity(
                    name: "Author", attributes: [text("name")],
                    relationships: [link("books", "Book", inverse: "author")]),
                Entity(
                    name: "Book", attributes: [text("title")] + more,
                    relationships: [
                        link("author", "Author", inverse: "books", toMany: false),
                        link("tags", "Tag", inverse: "books"),
                    ],
                    fetchIndexes: [FetchIndex(name: "byTitle", elements: [.init(property: "title")])]),
                Entity(
                    name: "Tag", attributes: [text("name")], relationships: [link("books", "Book", inverse: "tags")]),
            ])
    }

    private static let rows = """
        INSERT INTO ZAUTHOR (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (1, 1, 1, 'Ada'), (2, 1, 1, 'Ben');
        INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZAUTHOR) VALUES (1, 2, 1, 'One', 1), (2, 2, 1, 'Two', 2),
            (3, 2, 1, NULL, NULL), (4, 2, 1, 'Four', 2);
        INSERT INTO ZTAG (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (1, 3, 1, 'a'), (2, 3, 1, 'b'), (3, 3, 1, 'c');
        INSERT INTO Z_2TAGS (Z_2BOOKS, Z_3TAGS) VALUES (1, 1), (1, 2), (2, 3), (4, 1), (4, 3);
        """

    /// Returns SQL that changes rows without an index.
    private static func behind(_ index: String, _ change: String) -> String {
        """
        PRAGMA writable_schema = ON;
        CREATE TEMP TABLE hidden AS SELECT * FROM sqlite_master WHERE name = '\(index)';
        DELETE FROM sqlite_master WHERE name = '\(index)';
        PRAGMA writable_schema = RESET;
        \(change);
        PRAGMA writable_schema = ON;
        INSERT INTO sqlite_master SELECT * FROM hidden;
        PRAGMA writable_schema = RESET;
        """
    }

    struct Damage: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var sql: String
        /// The check and the example of each difference.
        var found: Set<String>

        init(_ name: String, _ sql: String, _ found: Set<String>) {
            (testDescription, self.sql, self.found) = (name, sql, found)
        }
    }

    static let damages = [
        Damage("none", "SELECT 1", []),
        Damage(
            "a key to nowhere", "UPDATE ZBOOK SET ZAUTHOR = 99 WHERE Z_PK = 1",
            ["references ZBOOK Z_PK 1 ZAUTHOR", "relationships ZBOOK Z_PK 1 ZAUTHOR"]),
        Damage(
            "a key to nowhere that its index does not have",
            behind("ZBOOK_ZAUTHOR_INDEX", "UPDATE ZBOOK SET ZAUTHOR = 99 WHERE Z_PK = 1"),
            [
                "indexes index ZBOOK_ZAUTHOR_INDEX", "references ZBOOK Z_PK 1 ZAUTHOR",
                "relationships ZBOOK Z_PK 1 ZAUTHOR",
            ]),
        Damage(
            "an index that has a key to nowhere, unlike its row",
            behind(
                "ZBOOK_ZAUTHOR_INDEX",
                "UPDATE ZBOOK SET ZAUTHOR = 1 WHERE Z_PK = 4; UPDATE ZBOOK SET ZAUTHOR = 2 WHERE Z_PK = 4")
                + "UPDATE ZBOOK SET ZAUTHOR = 99 WHERE Z_PK = 4;"
                + behind("ZBOOK_ZAUTHOR_INDEX", "UPDATE ZBOOK SET ZAUTHOR = 2 WHERE Z_PK = 4")
                .replacing("hidden", with: "hidden_again"),
            ["indexes index ZBOOK_ZAUTHOR_INDEX"]),
        Damage(
            "a link too many, to nowhere", "INSERT INTO Z_2TAGS VALUES (1, 77)",
            ["references Z_2TAGS Z_2BOOKS 1", "relationships Z_2TAGS Z_2BOOKS 1"]),
        Damage(
            "a link too few", "DELETE FROM Z_2TAGS WHERE Z_2BOOKS = 2",
            ["relationships Z_2TAGS Z_2BOOKS 2"]),
        // The check reads the links from that index.
        Damage(
            "a link too few that an index still has",
            behind("Z_2TAGS_Z_3TAGS_INDEX", "DELETE FROM Z_2TAGS WHERE Z_2BOOKS = 2"),
            ["indexes index Z_2TAGS_Z_3TAGS_INDEX"]),
        Damage(
            "an index without a link that is there",
            behind("Z_2TAGS_Z_3TAGS_INDEX", "INSERT INTO Z_2TAGS VALUES (3, 1)"),
            ["indexes index Z_2TAGS_Z_3TAGS_INDEX"]),
        Damage(
            "a link without an end", "INSERT INTO Z_2TAGS VALUES (NULL, 1)", ["references Z_2TAGS Z_3TAGS 1"]),
        Damage(
            "a link with a text for a key", "INSERT INTO Z_2TAGS VALUES ('1x', 1)",
            ["references Z_2TAGS Z_3TAGS 1", "relationships Z_2TAGS Z_2BOOKS 1"]),
        Damage(
            "an object in the midst that is missing", "DELETE FROM ZTAG WHERE Z_PK = 2",
            ["counts ZTAG rows", "rows ZTAG Z_PK 2", "references Z_2TAGS Z_2BOOKS 1"]),
        Damage(
            "an object in the midst that is of no known entity", "UPDATE ZTAG SET Z_ENT = 9 WHERE Z_PK = 2",
            ["counts ZTAG Z_ENT 9", "rows ZTAG Z_PK 2 Z_ENT", "references Z_2TAGS Z_2BOOKS 1"]),
        Damage(
            "an object in the midst with another key",
            "DELETE FROM ZAUTHOR WHERE Z_PK = 1; INSERT INTO ZAUTHOR VALUES (3, 1, 1, 'Ada')",
            ["keys Z_PRIMARYKEY Author Z_MAX", "rows ZAUTHOR Z_PK 1", "references ZBOOK Z_PK 1 ZAUTHOR"]),
        Damage(
            "an object that a row hides at the lowest of all keys",
            "INSERT INTO ZTAG (Z_PK, Z_ENT, Z_OPT) VALUES (-9223372036854775808, 3, 1)", ["counts ZTAG rows"]),
    ]

    @Test("finds the damage, and no other", arguments: damages, [1, 2])
    func finds(_ damage: Damage, jobs: Int) throws {
        let (folder, run, verification) = try migrated()
        defer { withExtendedLifetime(folder) {} }
        let connection = try Connection(path: run.destinationPath, mode: .readWrite)
        connection.allowSchemaWrites()
        try connection.execute(damage.sql)
        var changed = verification
        changed.jobs = jobs
        let found = try changed.run().differences.map { "\($0.check) \($0.example ?? "")" }
        #expect(Set(found) == damage.found, "\(found)")
        #expect(found.count == damage.found.count)
    }

    @Test("counts rows without reading their values, and finds their stale index entries")
    func large() throws {
        var (folder, run, verification) = try migrated(title: String(repeating: "long ", count: 200))
        defer { withExtendedLifetime(folder) {} }
        verification.valueLimit = 500
        #expect(try verification.run().differences.isEmpty)
        let connection = try Connection(path: run.destinationPath, mode: .readWrite)
        connection.allowSchemaWrites()
        try connection.execute(
            Self.behind("Z_Book_byTitle", "UPDATE ZBOOK SET ZTITLE = ZTITLE || 'er' WHERE Z_PK = 1"))
        let checks = try verification.run().differences.map(\.check)
        #expect(Set(checks) == [.indexes, .rows])
    }

    private func migrated(title: String = "Two") throws -> (TemporaryFolder, StepRun, Verification) {
        let store = try StoreBuilder(Self.model(), maximumKeys: ["Author": 2, "Book": 4, "Tag": 3])
        try store.execute(Self.rows, "UPDATE ZBOOK SET ZTITLE = '\(title)' WHERE Z_PK < 3")
        let run = try CodedStep.prepare(
            store.path, store.version, to: Self.model([Self.text("note")]), in: store.folder)
        let report = try run.run()
        try run.finish()
        return (
            store.folder, run,
            Verification(
                mode: .full, step: run.step.resolved, sourcePath: store.path, isSourcePrivate: true,
                destinationPath: run.destinationPath, workFolder: store.folder.path, counts: report.counts, now: 0)
        )
    }
}
