import FerryBase
import FerryEngine
import FerryMapping
import FerryModel
import FerryPlan
import FerrySQLite
import FerryStore
import FerryVerify
import TestSupport
import Testing

/// A store with damage and remains of earlier versions, altered in place and verified against its old state.
@Suite("Verification of a store that was altered in place")
struct InPlaceVerificationTests {
    private static func link(_ name: String, _ entity: String, inverse: String, toMany: Bool = false) -> Relationship {
        Relationship(
            name: name, destinationEntity: entity, inverseName: inverse, inverseEntity: entity, isOptional: true,
            maxCount: toMany ? 0 : 1)
    }

    private static func model(
        writer: String, title: String, id: String? = nil, more: [Attribute] = []
    ) -> ManagedObjectModel {
        let heading = Attribute(name: title, type: .string, isOptional: true, renamingIdentifier: id)
        let byTitle = FetchIndex(
            name: "byTitle", elements: [.init(property: title, kind: .binary, isAscending: true)])
        return ManagedObjectModel(
            versionIdentifiers: [""],
            entities: [
                Entity(
                    name: writer, attributes: [Attribute(name: "name", type: .string, isOptional: true)],
                    relationships: [link("books", "Book", inverse: "author", toMany: true)],
                    renamingIdentifier: "Author"),
                Entity(
                    name: "Book", attributes: [heading] + more,
                    relationships: [
                        link("author", writer, inverse: "books"), link("cover", "Cover", inverse: "book"),
                        link("tags", "Tag", inverse: "books", toMany: true),
                    ], fetchIndexes: [byTitle]),
                Entity(name: "Cover", relationships: [link("book", "Book", inverse: "cover")]),
                Entity(name: "Tag", relationships: [link("books", "Book", inverse: "tags", toMany: true)]),
            ])
    }

    /// Where the altered store is verified: as a file, or by its own connection before COMMIT.
    enum Moment: CaseIterable { case atRest, beforeCommit }

    /// Migrates a damaged store in place, changes the result and verifies it.
    private func verify(
        _ change: String?, mode: VerifyMode = .full, _ moment: Moment = .atRest
    ) throws -> VerificationSummary {
        let store = try StoreBuilder(
            Self.model(writer: "Author", title: "title"),
            maximumKeys: ["Author": 2, "Book": 5, "Cover": 3, "Tag": 2])
        try store.execute(
            "ALTER TABLE ZBOOK ADD COLUMN ZDEAD VARCHAR",
            "INSERT INTO ZAUTHOR (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (1, 1, 1, 'Ada'), (2, 1, 1, 'Ben')",
            "INSERT INTO ZCOVER (Z_PK, Z_ENT, Z_OPT, ZBOOK) VALUES (1, 3, 1, 1), (2, 3, 1, 2), (3, 3, 1, 77)",
            "INSERT INTO ZTAG (Z_PK, Z_ENT, Z_OPT) VALUES (1, 4, 1), (2, 4, 1)",
            // Book 2 has no author, cover 2 leads to a book without it, cover 3 to no book.
            """
            INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZAUTHOR, ZCOVER, ZDEAD)
            VALUES (1, 2, 1, 'One', 1, 1, 'x'), (2, 2, 1, 'Two', 99, NULL, 'y'), (3, 2, 1, 'Three', 2, NULL, 'z'),
                (4, 2, 1, 'Four', 2, 88, NULL), (5, 2, 1, NULL, NULL, NULL, NULL)
            """)
        let join = try #require(store.layout.joinTables.first)
        let columns = try #require(
            store.layout.relationshipStorage[PropertyKey("Book", "tags")].flatMap { storage in
                if case .join(_, let own, let other, _, _) = storage { (own, other) } else { nil }
            })
        try store.execute(
            "INSERT INTO \(join.name) (\(columns.0), \(columns.1)) VALUES (1, 1), (1, 2), (2, 2), (3, 66)")

        let target = ModelVersion(
            of: Self.model(
                writer: "Writer", title: "heading", id: "title",
                more: [
                    Attribute(name: "copies", type: .integer32, isOptional: true, defaultValue: .integer(2))
                ]), name: "New")
        let plan = Planner(catalog: ModelCatalog(versions: [store.version, target]), mappingModels: [])
            .plan(from: store.version, to: target, rows: [:], areRowsEstimated: true)
        let step = try #require(plan.steps.first)
        #expect(step.mode == .inPlace, "\(step.needsCopyBecause ?? "")")
        let path = store.folder.file("Altered.sqlite")
        try Fixtures.copyStore(from: store.path, to: path)
        let connection = try Connection(path: path, mode: .readWrite)
        func verification(_ report: StepReport) -> Verification {
            Verification(
                mode: mode, of: .altered, step: step.resolved, sourcePath: store.path, isSourcePrivate: true,
                destinationPath: path, workFolder: store.folder.path, counts: report.counts, now: 0)
        }
        if moment == .beforeCommit {
            try connection.execute("PRAGMA journal_mode = WAL")
            try Verification.attach(workFolder: store.folder.path, to: connection)
        }
        var found: VerificationSummary?
        let run = StepRun(step, in: .store(connection), options: EngineOptions(chunkSize: .automatic, now: 0))
        let report = try run.run { report in
            guard moment == .beforeCommit else { return }
            var verification = verification(report)
            if change == nil { verification.kept = report.kept } else { connection.keep([]) }
            if let change { try connection.execute(change) }
            found = try verification.run(before: connection)
        }
        if let found { return found }
        if let change { try connection.execute(change) }
        return try verification(report).run()
    }

    @Test(
        "Reports no difference for damage of the source, full and quick", arguments: ["full", "quick"], Moment.allCases)
    func accepts(mode: String, _ moment: Moment) throws {
        let report = try verify(nil, mode: try #require(VerifyMode(rawValue: mode)), moment)
        #expect(report.differences.isEmpty, "\(report.differences)")
        #expect((report.checked > 0) == (mode == "full"))
    }

    @Test(
        "Reports damage that the source did not have",
        arguments: [
            ("UPDATE ZBOOK SET ZAUTHOR = 99 WHERE Z_PK = 1", "references"),
            ("UPDATE ZBOOK SET ZAUTHOR = 98 WHERE Z_PK = 2", "references"),
            ("UPDATE ZBOOK SET ZAUTHOR = 2 WHERE Z_PK = 1", "relationships"),
            ("UPDATE ZBOOK SET ZAUTHOR = NULL WHERE Z_PK = 1", "relationships"),
            ("UPDATE ZBOOK SET ZCOVER = NULL WHERE Z_PK = 1", "references"),
            ("UPDATE ZCOVER SET ZBOOK = 3 WHERE Z_PK = 2", "references"),
            ("UPDATE ZBOOK SET ZHEADING = 'Other' WHERE Z_PK = 3", "rows"),
            ("UPDATE ZBOOK SET ZCOPIES = NULL WHERE Z_PK = 5", "rows"),
            ("ALTER TABLE ZBOOK ADD COLUMN ZDEADTOO VARCHAR", "schema"),
            ("ALTER TABLE ZWRITER ADD COLUMN ZDEAD VARCHAR", "schema"),
            ("DROP INDEX Z_Book_byTitle", "schema"),
            (
                "DROP INDEX Z_Book_byTitle; CREATE INDEX Z_Book_byTitle ON ZBOOK (ZHEADING COLLATE BINARY DESC)",
                "schema"
            ),
            ("UPDATE Z_1TAGS SET Z_3TAGS = 1 WHERE Z_3TAGS = 66", "relationships"),
            ("DELETE FROM Z_1TAGS WHERE Z_3TAGS = 2", "relationships"),
        ], Moment.allCases)
    func finds(_ damage: (change: String, check: String), _ moment: Moment) throws {
        let report = try verify(damage.change, moment)
        #expect(report.differences.contains { $0.check.rawValue == damage.check }, "\(report.differences)")
    }
}
