import FerryBase
import FerryExpression
import FerryMapping
import FerryModel
import FerrySQLite
import FerryStore
import FerryVerify
import TestSupport
import Testing

/// Many books whose authors are found or created, some found among carried authors.
///
/// Memory has room for four objects, for some of them, or for all.
@Suite("Objects that unique finds")
struct UniqueObjectsTests {
    private static let books = 3_000
    /// The distance of two books' keys, so that they are in several ranges.
    private static let spacing = 10
    private static let carried = 40
    /// Bytes of the memory for recent objects.
    static let limits: [Int?] = [1, 12_000, nil]

    private let folder: TemporaryFolder
    private let step: ResolvedStep
    private let counts: [EntityMappingCounts]
    /// The key of each book's author.
    private let authors: [Int]
    private let firstMade = UniqueObjectsTests.carried + 1

    private static func version(_ name: String, _ entities: [Entity]) -> ModelVersion {
        let model = ManagedObjectModel(versionIdentifiers: [name], entities: entities)
        return ModelVersion(
            name: name, bundle: nil, path: "/\(name)", isCurrent: false, model: model,
            hashes: VersionHash.hashes(of: model))
    }

    init() throws {
        folder = try TemporaryFolder()
        let name = Attribute(name: "name", type: .string, isOptional: true)
        let born = Attribute(name: "born", type: .integer64, isOptional: true)
        let by = Attribute(name: "by", type: .string, isOptional: true)
        let first = Self.version(
            "1", [Entity(name: "Author", attributes: [born, name]), Entity(name: "Book", attributes: [by])])
        let author = Relationship(
            name: "author", destinationEntity: "Author", inverseName: "books", inverseEntity: "Author",
            isOptional: true, maxCount: 1)
        let books = Relationship(
            name: "books", destinationEntity: "Book", inverseName: "author", inverseEntity: "Book",
            isOptional: true, maxCount: 0)
        let second = Self.version(
            "2",
            [
                Entity(name: "Author", attributes: [born, name], relationships: [books]),
                Entity(name: "Book", relationships: [author]),
            ])
        func mapping(
            _ position: Int, _ name: String, _ source: String, _ destination: String, unique: [String] = [],
            attributes: [(String, String)], relationships: [ResolvedRelationship] = [], keeps: Bool
        ) throws -> ResolvedEntityMapping {
            ResolvedEntityMapping(
                position: position, mappingModel: 0, name: name, source: source, destination: destination,
                filter: nil, iteration: nil, unique: unique,
                attributes: try attributes.map { ResolvedAttribute(name: $0, expression: try Expression.parse($1)) },
                relationships: relationships, keepsPrimaryKey: keeps)
        }
        let ofBook = ResolvedRelationship(
            name: "author", mappings: ["BookAuthor"], from: .variable("source"), isAutomatic: false)
        step = ResolvedStep(
            source: first, destination: second, mappingModels: [],
            entityMappings: [
                try mapping(
                    0, "AuthorToAuthor", "Author", "Author",
                    attributes: [("born", "$source.born"), ("name", "$source.name")], keeps: true),
                try mapping(
                    1, "BookAuthor", "Book", "Author", unique: ["name"],
                    attributes: [("born", "7"), ("name", "$source.by")], keeps: false),
                try mapping(2, "BookToBook", "Book", "Book", attributes: [], relationships: [ofBook], keeps: true),
            ])

        // The expected result, computed with a dictionary.
        var numbers = SplitMix(seed: 20_261_123)
        var keys: [String?: Int] = [:]
        for author in 1...Self.carried { keys["Author \(author)"] = author }
        var next = Self.carried + 1
        var made: [(key: Int, name: String?)] = []
        var names: [String?] = []
        var authors: [Int] = []
        for _ in 0..<Self.books {
            let number = numbers.next() % 700
            let name = number == 0 ? nil : "Author \(number)"
            names.append(name)
            if keys[name] == nil {
                keys[name] = next
                made.append((next, name))
                next += 1
            }
            authors.append(keys[name] ?? 0)
        }
        self.authors = authors
        counts = zip(
            step.entityMappings, [(Self.carried, Self.carried), (Self.books, made.count), (Self.books, Self.books)]
        ).map { mapping, numbers in
            var count = EntityMappingCounts(
                name: mapping.name, source: mapping.source, destination: mapping.destination)
            (count.read, count.written) = (Int64(numbers.0), Int64(numbers.1))
            count.merged = count.read - count.written
            return count
        }
        func text(_ name: String?) -> String { name.map { "'\($0)'" } ?? "NULL" }
        let old = (1...Self.carried).map { "(\($0), 1, 1, 'Author \($0)', \($0))" }
        let metadata = StoreMetadata.new(for: first, uuid: "0B9C3F5E-8E2D-4B6A-9C1D-2F3A4B5C6D7E")
        try Library.create(
            folder.path + "/source.sqlite", try StoreLayout.canonical(for: first.model),
            ["Author": Int64(Self.carried), "Book": Int64(Self.books * Self.spacing)], metadata,
            """
            INSERT INTO ZAUTHOR (Z_PK, Z_ENT, Z_OPT, ZNAME, ZBORN) VALUES \(old.joined(separator: ", "));
            INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZBY) VALUES \(
                names.enumerated().map { "(\(($0 + 1) * Self.spacing), 2, 1, \(text($1)))" }.joined(separator: ", "));
            """)
        let new = made.map { "(\($0.key), 1, 1, \(text($0.name)), 7)" }
        try Library.create(
            folder.path + "/destination.sqlite", try StoreLayout.canonical(for: second.model),
            ["Author": Int64(next - 1), "Book": Int64(Self.books * Self.spacing)], metadata.restamped(for: second),
            """
            INSERT INTO ZAUTHOR (Z_PK, Z_ENT, Z_OPT, ZNAME, ZBORN) VALUES \((old + new).joined(separator: ", "));
            INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZAUTHOR) VALUES \(
                authors.enumerated().map { "(\(($0 + 1) * Self.spacing), 2, 1, \($1))" }.joined(separator: ", "));
            """)
    }

    private func verification(_ limit: Int?) -> Verification {
        var verification = Verification(
            mode: .full, step: step, sourcePath: folder.path + "/source.sqlite", isSourcePrivate: true,
            destinationPath: folder.path + "/destination.sqlite", workFolder: folder.path, counts: counts, now: 0)
        verification.knownValueLimit = limit
        return verification
    }

    private func differences(_ limit: Int?) throws -> [VerificationSummary.Difference] {
        try verification(limit).run().differences
    }

    private func damage(_ sql: String) throws {
        try Connection(path: folder.path + "/destination.sqlite", mode: .readWrite).execute(sql)
    }

    @Test("A correct destination has no differences", arguments: limits)
    func findsNothing(limit: Int?) throws {
        var verification = verification(limit)
        let statements = Locked<[String]>([])
        verification.trace = { statement in statements.withLock { $0.append(statement.text) } }
        #expect(try verification.run().differences == [])
        #expect(statements.withLock { $0.contains { $0.contains("INSERT OR IGNORE INTO lookups.unique_1") } })
        // Nothing was corrected.
        #expect(statements.withLock { !$0.contains { $0.contains("INTO lookups.unique_1 VALUES") } })
    }

    @Test("Of carried authors with one name the first is found", arguments: limits)
    func findsFirst(limit: Int?) throws {
        let last = Self.carried
        try Connection(path: folder.path + "/source.sqlite", mode: .readWrite).execute(
            """
            UPDATE ZAUTHOR SET ZNAME = 'Author 1' WHERE Z_PK = \(last);
            UPDATE ZBOOK SET ZBY = 'Author 1' WHERE ZBY = 'Author \(last)';
            """)
        try damage(
            """
            UPDATE ZAUTHOR SET ZNAME = 'Author 1' WHERE Z_PK = \(last);
            UPDATE ZBOOK SET ZAUTHOR = 1 WHERE ZAUTHOR = \(last);
            """)
        #expect(try differences(limit) == [])
        try damage("UPDATE ZBOOK SET ZAUTHOR = \(last) WHERE Z_PK = (SELECT max(Z_PK) FROM ZBOOK WHERE ZAUTHOR = 1)")
        #expect(try differences(limit).map(\.check) == [.relationships])
    }

    @Test("A repeatedly stopped verification ends with the same report", arguments: [true, false])
    func goesOn(isSound: Bool) throws {
        if !isSound { try damage("UPDATE ZAUTHOR SET ZNAME = 'Nemo' WHERE Z_PK = \(firstMade + 100)") }
        let whole = try verification(1).run()
        var calls = 0
        var report: VerificationSummary?
        while report == nil {
            calls += 1
            try #require(calls < 500)
            var verification = verification(1)
            verification.resumeKey = "run"
            verification.leastNanoseconds = 0
            verification.stop = StopRequest(
                following: StopRequest(), budgetNanoseconds: 1, budgetSpent: FerryError(.budgetSpent, "It is spent."))
            do { report = try verification.run() } catch let error as FerryError where error.code == .budgetSpent {}
        }
        #expect(report?.differences == whole.differences && whole.differences.isEmpty == isSound)
        #expect(report?.checked == whole.checked)
        // Several stops in the walk over the books.
        #expect(calls > 20, "\(calls) calls")
    }

    @Test("A damaged cell that no search depends on is one difference", arguments: limits)
    func findsOtherCells(limit: Int?) throws {
        try damage("UPDATE ZAUTHOR SET ZBORN = 8 WHERE Z_PK = \(firstMade + 5)")
        #expect(try differences(limit).map(\.example) == ["ZAUTHOR Z_PK \(firstMade + 5) ZBORN"])
    }

    @Test("A wrong name is reported at its row, and nothing else", arguments: limits)
    func findsNames(limit: Int?) throws {
        try damage("UPDATE ZAUTHOR SET ZNAME = 'Nemo' WHERE Z_PK = \(firstMade + 100)")
        #expect(try differences(limit).map(\.example) == ["ZAUTHOR Z_PK \(firstMade + 100) ZNAME"])
    }

    @Test("Two authors with exchanged names are two differences", arguments: limits)
    func findsSwappedNames(limit: Int?) throws {
        try damage(
            """
            CREATE TEMP TABLE n AS SELECT Z_PK AS k, ZNAME AS n FROM ZAUTHOR;
            UPDATE ZAUTHOR SET ZNAME = (SELECT n FROM n WHERE k = \(firstMade + 9)) WHERE Z_PK = \(firstMade + 3);
            UPDATE ZAUTHOR SET ZNAME = (SELECT n FROM n WHERE k = \(firstMade + 3)) WHERE Z_PK = \(firstMade + 9);
            """)
        let found = try differences(limit)
        #expect(found.map(\.check) == [.rows] && found.first?.count == 2)
        #expect(found.first?.example == "ZAUTHOR Z_PK \(firstMade + 3) ZNAME")
    }

    @Test("An author that was created twice is a surplus row", arguments: limits)
    func findsDoubled(limit: Int?) throws {
        let last = authors.max() ?? 0
        try damage(
            """
            INSERT INTO ZAUTHOR (Z_PK, Z_ENT, Z_OPT, ZNAME, ZBORN)
                SELECT \(last + 1), 1, 1, ZNAME, 7 FROM ZAUTHOR WHERE Z_PK = \(firstMade + 2);
            UPDATE Z_PRIMARYKEY SET Z_MAX = \(last + 1) WHERE Z_NAME = 'Author';
            """)
        let found = try differences(limit)
        #expect(found.map(\.check) == [.counts, .rows])
        #expect(found.last?.example == "ZAUTHOR Z_PK \(last + 1)" && found.last?.count == 1)
    }

    @Test("An author that was created in spite of an existing one is found", arguments: limits)
    func findsMadeThoughThere(limit: Int?) throws {
        // The last created author becomes a second one with a carried author's name.
        let last = authors.max() ?? 0
        try damage("UPDATE ZAUTHOR SET ZNAME = 'Author 1' WHERE Z_PK = \(last)")
        #expect(try differences(limit).map(\.example) == ["ZAUTHOR Z_PK \(last) ZNAME"])
    }

    @Test("A missing author is reported, and each book without an author", arguments: limits)
    func findsMissing(limit: Int?) throws {
        try damage("DELETE FROM ZAUTHOR WHERE Z_PK = \(firstMade + 7)")
        let found = try differences(limit)
        #expect(found.contains { $0.check == .rows && $0.example == "ZAUTHOR Z_PK \(firstMade + 7)" && $0.count == 1 })
        #expect(Set(found.map(\.check)).isSubset(of: [.counts, .rows, .references, .relationships]))
    }

    @Test("A book with another author is reported", arguments: limits)
    func findsOtherAuthors(limit: Int?) throws {
        // One book whose author occurred long before, and the book from which the author was created.
        for book in [1, Self.books] {
            let author = authors[book - 1]
            try damage(
                "UPDATE ZBOOK SET ZAUTHOR = \(author == firstMade ? firstMade + 1 : firstMade) WHERE Z_PK = \(book * Self.spacing)"
            )
            let found = try differences(limit)
            #expect(found.map(\.check) == [.relationships] && found.map(\.entity) == ["Book"])
            try damage("UPDATE ZBOOK SET ZAUTHOR = \(author) WHERE Z_PK = \(book * Self.spacing)")
        }
        #expect(try differences(limit) == [])
    }
}
