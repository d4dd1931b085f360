import FerryBase
import FerryEngine
import FerryModel
import FerryPlan
import FerrySQLite
import FerryStore
import FerryVerify
import Foundation
import TestSupport
import Testing

/// Objects that are made for each link of a join table and need only the key of the link's destination.
@Suite("One object for each link")
struct SoundLinksTests {
    private static let books = 1_500
    private static let users = 15_000

    private static let source = ManagedObjectModel(
        .made("Book", [.text("title")], [.many("users", "User", inverse: "books")]),
        .made("User", [.text("name")], [.many("books", "Book", inverse: "users")]))

    private static let destination = ManagedObjectModel(
        .made("Book", [.text("title")], [.many("files", "File", inverse: "book")]),
        .made(
            "File", [.text("title")], [.one("book", "Book", inverse: "files"), .one("user", "User", inverse: "files")]),
        .made("User", [.text("name")], [.many("files", "File", inverse: "user")]))

    private static let mapping = """
        { "source": "Model", "destination": "Model 2", "entityMappings": [
            { "name": "UserToUser", "source": "User", "destination": "User" },
            { "name": "BookToBook", "source": "Book", "destination": "Book" },
            { "name": "BookFile", "source": "Book", "forEach": { "user": "$source.users" }, "destination": "File",
              "attributes": { "title": "$source.title" },
              "relationships": { "book": { "mapping": "BookToBook", "from": "$source" },
                                 "user": { "mapping": "UserToUser", "from": "$user" } } } ] }
        """

    /// Makes books with four users each, in any order of the users' keys.
    private func store() throws -> StoreBuilder {
        let store = try StoreBuilder(
            Self.source, maximumKeys: ["Book": Int64(Self.books), "User": Int64(Self.users)])
        let numbers = "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k <"
        try store.execute(
            "\(numbers) \(Self.books)) INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE) SELECT k, 1, 1, 'Book ' || k FROM n",
            """
            \(numbers) \(Self.users))
            INSERT INTO ZUSER (Z_PK, Z_ENT, Z_OPT, ZNAME) SELECT k, 2, 1, printf('%.300c', 'n') || k FROM n
            """,
            """
            \(numbers) \(Self.books * 4)) INSERT INTO Z_1USERS (Z_1BOOKS, Z_2USERS)
            SELECT (k + 3) / 4, 1 + k * 7919 % \(Self.users) FROM n
            """)
        return store
    }

    private func step(
        _ store: StoreBuilder, damage: [StoreDamage]?, faults: FaultPlan = FaultPlan()
    ) throws -> TracedStep {
        try TracedStep(
            store, Self.mapping, from: Self.source, to: Self.destination, chunk: 500, damage: damage,
            vfs: VFS(temporaryFolder: store.folder.path, faults: faults))
    }

    private func run(_ store: StoreBuilder, damage: [StoreDamage]?) throws -> (files: Connection, read: Double) {
        let faults = FaultPlan()
        let step = try step(store, damage: damage, faults: faults)
        let size = try #require(
            FileManager.default.attributesOfItem(atPath: store.path)[.size] as? Int64, "the store has a size")
        let read = faults.bytesRead.filter { store.path.hasSuffix($0.key) || $0.key.hasSuffix("/Store.sqlite") }
        let files = try Connection(path: step.run.destinationPath, mode: .readOnly)
        return (files, Double(read.values.reduce(0, +)) / Double(size))
    }

    private func wrong(_ files: Connection, in store: StoreBuilder) throws -> Int64? {
        try files.attach(path: store.path, as: "old", mode: .readOnly)
        return try files.integer(
            """
            SELECT count(*) FROM (
                SELECT ZBOOK, ZUSER FROM main.ZFILE EXCEPT SELECT Z_1BOOKS, Z_2USERS FROM old.Z_1USERS)
            """)
    }

    @Test("Without dangling links, no row of the destination is read for its key")
    func sound() throws {
        let store = try store()
        let (files, read) = try run(store, damage: [])
        #expect(read > 0 && read < 1.6, "\(read) times the store")
        #expect(try files.integer("SELECT count(*) FROM ZFILE") == Int64(Self.books * 4))
        #expect(try wrong(files, in: store) == 0)
    }

    @Test("A dangling link makes no object")
    func dangling() throws {
        let store = try store()
        try store.execute("INSERT INTO Z_1USERS (Z_1BOOKS, Z_2USERS) VALUES (3, 900001)")
        let (files, _) = try run(store, damage: nil)
        #expect(try files.integer("SELECT count(*) FROM ZFILE") == Int64(Self.books * 4))
        #expect(try wrong(files, in: store) == 0)
    }

    // MARK: Verification

    private func verify(
        _ step: TracedStep, of store: StoreBuilder, _ mode: VerifyMode = .full, jobs: Int = 2
    ) throws -> (report: VerificationSummary, lookUps: [String]) {
        let statements = Locked<[String]>([])
        var verification = Verification(
            mode: mode, step: step.run.step.resolved, sourcePath: store.path, isSourcePrivate: true,
            destinationPath: step.run.destinationPath, workFolder: store.folder.path, counts: step.report.counts,
            now: 0,
            trace: { event in statements.withLock { $0.append(event.text) } })
        verification.jobs = jobs
        let report = try verification.run()
        // Lookups in the order of the destination's index read users in sequence.
        let lookUps = statements.withLock { $0 }.filter {
            $0.contains("source.ZUSER t ON t.Z_PK = j.Z_2USERS") && !$0.contains("LEFT JOIN")
        }
        return (report, lookUps)
    }

    @Test("Verification looks up no link without damage, and finds every change of the objects made from links")
    func verifiesSound() throws {
        let store = try store()
        let step = try step(store, damage: [])
        for jobs in [1, 3] {
            let (report, lookUps) = try verify(step, of: store, jobs: jobs)
            #expect(report.differences == [])
            #expect(lookUps == [])
            #expect(report.checked == Int64(Self.books * 5 + Self.users))
        }
        let quick = try verify(step, of: store, .quick)
        #expect(quick.report.differences == [] && quick.lookUps == [])
        try Connection(path: step.run.destinationPath, mode: .readWrite).execute(
            "UPDATE ZFILE SET ZUSER = ZUSER % 15000 + 1 WHERE Z_PK = 17; UPDATE ZFILE SET ZTITLE = 'x' WHERE Z_PK = 5999"
        )
        let found = try [1, 3].map { try verify(step, of: store, jobs: $0).report.differences }
        #expect(found[0] == found[1])
        #expect(found[0].contains { $0.check == .rows && $0.count == 1 && $0.example == "ZFILE Z_PK 5999 ZTITLE" })
        #expect(found[0].contains { $0.check == .relationships && $0.example == "ZFILE Z_PK 17 ZUSER" }, "\(found[0])")
    }

    @Test(
        "Dangling links, and links to an object that is no user, make no object for verification either",
        arguments: [
            "INSERT INTO Z_1USERS (Z_1BOOKS, Z_2USERS) VALUES (3, 900001)",
            "UPDATE ZUSER SET Z_ENT = 1 WHERE Z_PK = 8",
        ])
    func verifiesUnsound(_ damage: String) throws {
        let store = try store()
        try store.execute(damage)
        let step = try step(store, damage: nil)
        for (jobs, mode) in [(1, VerifyMode.full), (3, .full), (2, .quick)] {
            let report = try verify(step, of: store, mode, jobs: jobs).report
            #expect(report.differences.filter { $0.entity == "File" } == [], "\(mode)")
        }
    }
}
