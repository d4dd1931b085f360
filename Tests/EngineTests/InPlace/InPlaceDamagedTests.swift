import FerryBase
import FerryEngine
import FerryMapping
import FerryModel
import FerryPlan
import FerrySQLite
import FerryStore
import TestSupport
import Testing

/// Damages the result of a step in place before the checks: each check finds its own damage, and the store stays
/// unchanged.
@Suite("Verification before COMMIT in place")
struct InPlaceDamagedTests {
    private static func model(
        book: [Attribute], authors: Relationship, written: Relationship, first: Entity? = nil
    ) -> ManagedObjectModel {
        ManagedObjectModel(
            versionIdentifiers: [""],
            entities: [
                .made("Author", parent: "Person", [], [written]),
                .made(
                    "Book", book + [.number("latitude", .double), .number("longitude", .double)],
                    [.one("owner", "Person", inverse: "owned"), authors],
                    indexes: [
                        FetchIndex(
                            name: "byPlace",
                            elements: ["latitude", "longitude"].map { .init(property: $0, kind: .rtree) })
                    ]), .made("Editor", parent: "Person"),
                .made(
                    "Person",
                    [
                        .text("name"),
                        Attribute(
                            name: "books", type: .integer64, isOptional: true, derivationExpression: "owned.@count"),
                    ], [.many("owned", "Book", inverse: "owner")]),
            ] + (first.map { [$0] } ?? []))
    }

    private static let before = model(
        book: [.text("title")], authors: .many("authors", "Author", inverse: "written"),
        written: .many("written", "Book", inverse: "authors"))
    /// Entity numbers change, and a mandatory attribute is new.
    private static let after = model(
        book: [
            .text("title"),
            Attribute(name: "copies", type: .integer32, isOptional: false, defaultValue: .integer(2)),
        ], authors: .many("authors", "Author", inverse: "written"),
        written: .many("written", "Book", inverse: "authors"), first: .made("Atlas", [.text("title")]))

    private func step() throws -> InPlaceStep {
        let layout = try StoreLayout.canonical(for: Self.before)
        func number(_ entity: String) throws -> Int64 { try #require(layout.number(of: entity)) }
        let (author, editor, book) = (try number("Author"), try number("Editor"), try number("Book"))
        let owner = try Self.entityColumn("owner", in: layout)
        let links = try Self.authors(in: layout)
        return try InPlaceStep(
            Self.before, Self.after, maximumKeys: ["Book": 3, "Person": 3],
            rows: [
                "PRAGMA trusted_schema = ON",
                """
                INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZNAME, ZBOOKS)
                VALUES (1, \(author), 1, 'Ann', 0), (2, \(editor), 1, 'Ben', 0), (3, \(try number("Person")), 1, 'Cid', 0)
                """,
                """
                INSERT INTO ZBOOK
                    (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZLATITUDE, ZLONGITUDE, ZOWNER, \(owner))
                VALUES (1, \(book), 1, 'a', 1, 2, 1, \(author)), (2, \(book), 1, 'b', 3, 4, 2, \(editor)),
                    (3, \(book), 1, 'c', NULL, NULL, NULL, NULL)
                """,
                "INSERT INTO \(links.table) (\(links.book), \(links.author)) VALUES (1, 1), (2, 1)",
            ])
    }

    /// Returns the column beside a foreign key that holds the number of the destination entity.
    private static func entityColumn(_ relationship: String, in layout: StoreLayout) throws -> String {
        guard case .foreignKey(_, _, let column?, _)? = layout.storage(of: relationship, in: "Book") else {
            throw FerryError(.internalError, "\(relationship) has no such column.")
        }
        return column
    }

    /// Returns the join table of books and authors, and its columns.
    private static func authors(
        in layout: StoreLayout
    ) throws -> (table: String, book: String, author: String) {
        guard case .join(let table, let book, let author, _, _)? = layout.storage(of: "authors", in: "Book") else {
            throw FerryError(.internalError, "There is no join table.")
        }
        return (table, book, author)
    }

    @Test("The checks find no difference in a step's own result")
    func isSound() throws {
        let step = try step()
        #expect(step.step.mode == .inPlace, "\(step.step.needsCopyBecause ?? "")")
        let report = try StepRun.inStore(step.step, on: step.store.connection, options: step.options)
        #expect(report.counts.map(\.written).reduce(0, +) == 6)
    }

    @Test(
        "A change inside the transaction is found, and the store stays unchanged",
        arguments: [
            ("ALTER TABLE ZBOOK DROP COLUMN ZTITLE", "schema of Book"),
            ("ALTER TABLE ZBOOK ADD COLUMN ZMORE INTEGER", "schema of Book"),
            ("DROP INDEX ZBOOK_ZOWNER_INDEX", "schema of Book"), ("CREATE TABLE ferry_left (x)", "schema"),
            ("CREATE TABLE ZLEFT (x)", "schema"), ("DROP TABLE ZATLAS", "schema of Atlas"),
            ("UPDATE Z_PRIMARYKEY SET Z_SUPER = 0 WHERE Z_NAME = 'Editor'", "schema of Editor"),
            ("INSERT INTO Z_PRIMARYKEY VALUES (77, 'Other', 0, 0)", "schema"), ("PRAGMA user_version = 7", "header"),
            ("UPDATE Z_METADATA SET Z_UUID = 'x'", "metadata"), ("DELETE FROM Z_METADATA", "metadata"),
            ("INSERT INTO Z_MODELCACHE VALUES (x'00')", "metadata"),
            ("UPDATE Z_PRIMARYKEY SET Z_MAX = 2 WHERE Z_NAME = 'Book'", "keys of Book"),
            ("UPDATE Z_PRIMARYKEY SET Z_MAX = 4 WHERE Z_NAME = 'Person'", "keys of Person"),
            ("DELETE FROM ZPERSON WHERE Z_PK = 1", "counts of Author"),
            ("UPDATE ZPERSON SET Z_ENT = 99 WHERE Z_PK = 1", "counts of Author"),
            ("UPDATE ZBOOK SET OWNED = 77 WHERE Z_PK = 1", "references of Book"),
            ("UPDATE LINKS SET LINKED = 2 WHERE rowid = (SELECT min(rowid) FROM LINKS)", "references"),
            ("DELETE FROM Z_Book_byPlace WHERE Z_PK = 1", "rTrees of Book"),
        ])
    func finds(change: String, check: String) throws {
        let layout = try StoreLayout.canonical(for: Self.after)
        let authors = try Self.authors(in: layout)
        let change = change.replacing("LINKS", with: authors.table).replacing("LINKED", with: authors.author)
            .replacing("OWNED", with: try Self.entityColumn("owner", in: layout))
        let error = try refusal(of: change)
        #expect(error.code == .verificationFailed)
        #expect(error.message.contains(": \(check)") == true, "\(error.message)")
    }

    @Test("A missing trigger is found")
    func findsTrigger() throws {
        let trigger = try #require(try StoreLayout.canonical(for: Self.after).allTriggers.first?.name)
        let error = try refusal(of: "DROP TRIGGER \(trigger)")
        #expect(error.code == .verificationFailed && error.message.contains(": derivedAttributes"), "\(error.message)")
    }

    @Test("A mandatory attribute without a value is found")
    func findsEmpty() throws {
        let error = try refusal(of: "UPDATE ZBOOK SET ZCOPIES = NULL WHERE Z_PK = 2")
        #expect(error.message.contains(": constraints of Book.copies (1)"), "\(error.message)")
    }

    // MARK: Damage before the step

    @Test("Rows of unknown entities keep their number")
    func keepsUnknownRows() throws {
        let stranger = "INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT) VALUES (4, 77, 1)"
        let kept = try step()
        try kept.store.execute(stranger)
        let report = try StepRun.inStore(kept.step, on: kept.store.connection, options: kept.options)
        #expect(report.counts.map(\.written).reduce(0, +) == 6)
        let lost = try step()
        try lost.store.execute(stranger)
        let error = try refusal(of: "DELETE FROM ZPERSON WHERE Z_PK = 4", in: lost)
        #expect(
            error.code == .verificationFailed && error.message.contains(": counts (1)"), "\(error.message)")
    }

    /// Returns a step of a store with links to authors, one of which leads to an editor.
    private func linked() throws -> InPlaceStep {
        let links = try Self.authors(in: StoreLayout.canonical(for: Self.before))
        return try InPlaceStep(
            Self.before, Self.after, maximumKeys: ["Book": 2, "Person": 3],
            rows: [
                "PRAGMA trusted_schema = ON",
                """
                INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZBOOKS)
                SELECT column1, Z_ENT, 1, 0 FROM (VALUES (1, 'Author'), (2, 'Editor'), (3, 'Author'))
                JOIN Z_PRIMARYKEY ON Z_NAME = column2
                """,
                "INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT) SELECT 1, Z_ENT, 1 FROM Z_PRIMARYKEY WHERE Z_NAME = 'Book'",
                "INSERT INTO \(links.table) (\(links.book), \(links.author)) VALUES (1, 1), (1, 2)",
            ])
    }

    @Test("The number of links to objects of a wrong entity must not grow")
    func keepsMistakenLinks() throws {
        let kept = try linked()
        #expect(kept.step.mode == .inPlace, "\(kept.step.needsCopyBecause ?? "")")
        try StepRun.inStore(kept.step, on: kept.store.connection, options: kept.options)
        let more = try linked()
        let authors = try Self.authors(in: StoreLayout.canonical(for: more.step.resolved.destination.model))
        let change =
            "UPDATE \(authors.table) SET \(authors.author) = 2, \(authors.book) = 2 WHERE \(authors.author) = 1"
        let error = try refusal(of: change, in: more)
        #expect(error.code == .verificationFailed && error.message.contains(": references of "), "\(error.message)")
    }

    /// Returns the error of a step whose result was changed; checks that the store has its old content again.
    private func refusal(of change: String, in made: InPlaceStep? = nil) throws -> FerryError {
        let step = try made ?? step()
        let connection = step.store.connection
        let before = try DatabaseDump.text(step.store.path, leavingOut: [])
        let error = #expect(throws: FerryError.self) {
            try StepRun.inStore(step.step, on: connection, options: step.options) { connection in
                try connection.withoutTriggers { try connection.execute(change) }
            }
        }
        #expect(!connection.isInTransaction)
        #expect(try DatabaseDump.text(step.store.path, leavingOut: []) == before)
        return try #require(error)
    }
}
