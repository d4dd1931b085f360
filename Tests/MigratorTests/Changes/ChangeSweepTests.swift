import Ferry
import FerryBase
import FerryModel
import FerrySQLite
import FerryStore
import Foundation
import TestSupport
import Testing

/// Single random changes to a new store: between the run and its verification, and afterwards.
///
/// `FERRY_CHANGES` gives their number (default: one of each kind in each scene), `FERRY_CHANGE_SEED` the seed.
@Suite("A single random change")
struct ChangeSweepTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let changes =
        environment["FERRY_CHANGES"].flatMap { Int($0) } ?? scenes.count * RandomChange.Kind.allCases.count
    private static let seed = environment["FERRY_CHANGE_SEED"].flatMap { UInt64($0) } ?? 1

    /// Whether the run or `verify --source` must find the change, in a copied or an altered store.
    struct Scene: CustomTestStringConvertible, Sendable {
        var way: DamagedStore.Way
        var isAfterwards: Bool
        var testDescription: String { "\(way), \(isAfterwards ? "verify --source" : "before verification")" }
    }

    static let scenes = [DamagedStore.Way.copy, .inPlaceOutput].flatMap { way in
        [false, true].map { Scene(way: way, isAfterwards: $0) }
    }

    /// An attribute of each other type, and SQL of values that differ in storage class, sign or length.
    private static let types: [(type: String, values: [String])] = [
        ("Integer 16", ["0", "-1", "32767"]), ("Integer 32", ["1", "NULL", "-2147483648"]),
        ("Integer 64", ["9007199254740993", "-1", "0"]), ("Boolean", ["0", "1", "NULL"]),
        ("Double", ["0.0", "-0.0", "1e300", "0.1"]), ("Float", ["0.5", "-1.5", "3"]),
        ("Decimal", ["12.25", "1", "NULL"]), ("Date", ["700000000.5", "-1", "NULL"]),
        ("Binary", ["x''", "x'00ff00'", "zeroblob(300)"]), ("UUID", ["x'000102030405060708090a0b0c0d0e0f'", "NULL"]),
        ("URI", ["'https://example.org/a'", "''"]), ("Transformable", ["x'62706c69'", "NULL"]),
    ]

    private static func name(_ type: String) -> String { "a" + type.filter { $0 != " " } }

    private static let attributes =
        types.map {
            #"<attribute name="\#(name($0.type))" optional="YES" attributeType="\#($0.type)"/>"#
        }.joined()
        // A many-to-many relationship that is its own inverse.
        + #"<relationship name="similar" optional="YES" toMany="YES" deletionRule="Nullify" destinationEntity="Book" "#
        + #"inverseName="similar" inverseEntity="Book"/>"#

    private static let values = types.map { type, values in
        let cases = values.enumerated().map { "WHEN \($0) THEN \($1)" }.joined(separator: " ")
        return "Z\(name(type).uppercased()) = CASE Z_PK % \(values.count) \(cases) END"
    }

    /// Several pages of books with values of all types, links and log rows, and a cover in a file.
    private static let rows = [
        """
        WITH RECURSIVE c(n) AS (SELECT 4 UNION ALL SELECT n + 1 FROM c WHERE n < 90)
        INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZOWNER, Z3_OWNER, Z_FOK_OWNER)
        SELECT n, 1, n % 3 + 1, 'Title of book ' || n, 1 + n % 2, 3 + n % 2, 4096 + 1024 * n FROM c
        """,
        """
        WITH RECURSIVE c(n) AS (SELECT 4 UNION ALL SELECT n + 1 FROM c WHERE n < 90)
        INSERT INTO Z_1TAGS (Z_1BOOKS, Z_5TAGS, Z_FOK_5TAGS) SELECT n, 1 + n % 2, 2048 FROM c
        """,
        """
        WITH RECURSIVE c(n) AS (SELECT 4 UNION ALL SELECT n + 1 FROM c WHERE n < 60)
        INSERT INTO Z_1SIMILAR SELECT n, n + 9 FROM c UNION ALL SELECT n + 9, n FROM c
        """,
        "UPDATE Z_PRIMARYKEY SET Z_MAX = 90 WHERE Z_NAME = 'Book'",
        """
        CREATE TABLE ATRANSACTION ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZTIMESTAMP FLOAT );
        CREATE TABLE ACHANGE ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZCHANGETYPE INTEGER,
            ZENTITY INTEGER, ZENTITYPK INTEGER, ZTRANSACTIONID INTEGER, ZCOLUMNS BLOB, ZTOMBSTONE0 BLOB );
        INSERT INTO Z_PRIMARYKEY VALUES (16001, 'CHANGE', 0, 40), (16002, 'TRANSACTION', 0, 8)
        """,
        """
        WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 8)
        INSERT INTO ATRANSACTION SELECT n, 16002, NULL, n + 0.5 FROM c
        """,
        """
        WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 40)
        INSERT INTO ACHANGE SELECT n, 16001, NULL, n % 3, CASE n % 2 WHEN 0 THEN 1 ELSE 5 END, n, 1 + n % 8,
            CASE n % 3 WHEN 1 THEN x'40' END, CASE n % 3 WHEN 2 THEN x'0102' END FROM c
        """,
        "CREATE TABLE app_log (id INTEGER PRIMARY KEY, word TEXT)", "CREATE INDEX app_words ON app_log (lower(word))",
        "CREATE INDEX app_even ON app_log (word COLLATE NOCASE DESC) WHERE id % 2 = 0",
        """
        WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 60)
        INSERT INTO app_log SELECT n, 'Word ' || (n * 7 % 60) FROM c
        """,
        "UPDATE ZBOOK SET \(values.joined(separator: ", "))",
    ]

    private static let file = "0B9C3F5E-8E2D-4B6A-9C1D-2F3A4B5C6D7E"

    private func store(_ way: DamagedStore.Way) throws -> DamagedStore {
        let store = try DamagedStore(way, damage: Self.rows, attributes: Self.attributes)
        let folder = ExternalData.folder(forStore: store.store)
        try FileLayer().createDirectory(ExternalData.supportFolder(forStore: store.store))
        try FileLayer().createDirectory(folder)
        try FileLayer().replace(folder + "/" + Self.file, with: (0..<9000).map { UInt8(truncatingIfNeeded: $0 * 7) })
        let connection = try Connection(path: store.store, mode: .readWrite)
        try connection.run(
            "UPDATE ZCOVER SET ZPHOTO = ? WHERE Z_PK = 2", [.blob(ExternalData.reference(to: Self.file))])
        let version = try ModelCatalog(paths: [store.folder.file("App.xcdatamodeld")]).version(named: "App 1")
        #expect(try ModelCache.write(version.model, on: connection))
        return store
    }

    private func configuration(_ store: DamagedStore, _ output: String, jobs: Int? = nil) -> Configuration {
        var configuration = Configuration.allowingLosses {
            $0.target = "App 2"
            $0.output = URL(fileURLWithPath: output)
            $0.executor = store.way.executor
            $0.snapshots.form = .none
        }
        configuration.limits.processors = jobs
        return configuration
    }

    /// Any number of jobs must find a change.
    private func jobs(_ seed: UInt64) -> Int { 1 + Int(seed % 3) }

    @Test("Is found whenever SQLite or cmp can find it", arguments: scenes)
    func isFound(_ scene: Scene) throws {
        let store = try store(scene.way)
        let kinds = RandomChange.Kind.allCases.filter { scene.isAfterwards || $0 != .externalFile }
        var missed: [String] = []
        let finished = store.folder.file("Done/New.sqlite")
        if scene.isAfterwards {
            try FileLayer().createDirectory(store.folder.file("Done"))
            let report = try store.migrator().migrate(configuration(store, finished))
            #expect(report.outcome == .migrated)
            #expect(try differences(store, finished) == [])
        }
        for number in 0..<Self.changes / Self.scenes.count {
            let kind = kinds[number % kinds.count]
            let seed = Self.seed &* 1_000_003 &+ UInt64(number)
            if scene.isAfterwards {
                try change(kind, seed, afterwards: finished, of: store, &missed)
            } else {
                try change(kind, seed, beforeVerificationOf: store, &missed)
            }
        }
        for change in missed { Issue.record("seed \(Self.seed), \(change)") }
    }

    // MARK: Scenes

    private func change(
        _ kind: RandomChange.Kind, _ seed: UInt64, beforeVerificationOf store: DamagedStore, _ missed: inout [String]
    ) throws {
        let output = store.folder.file("New.sqlite")
        let destination = output + ".ferry/step-1/destination.sqlite"
        let made = Locked<(change: String, isTold: Bool)?>(nil)
        let failed = Locked<(any Error)?>(nil)
        var isFound = false
        do {
            _ = try store.migrator().migrate(configuration(store, output, jobs: jobs(seed))) { event in
                guard case .phase(.verify, _) = event else { return }
                do {
                    // A step in place has its own checks before COMMIT, too.
                    guard try Self.isCommitted(destination) else { return }
                    let copy = store.folder.file("changed.sqlite")
                    try FileLayer().replace(copy, with: FileLayer().read(destination))
                    let before = StoreTruth(copy, files: store.store)
                    var change = RandomChange(kind, of: copy, files: store.store, seed: seed)
                    let words = try change.make()
                    let isTold = StoreTruth(copy, files: store.store) != before
                    try Data(FileLayer().read(copy)).write(to: URL(fileURLWithPath: destination), options: [])
                    made.withLock { $0 = (words, isTold) }
                } catch {
                    failed.withLock { $0 = error }
                }
            }
        } catch {
            isFound = true
        }
        if let error = failed.withLock({ $0 }) { throw error }
        let (change, isTold) = try #require(made.withLock { $0 })
        if isTold, !isFound { missed.append("\(kind): \(change)") }
        for path in [
            output, output + ".ferry", output + ".ferry-log.json", ExternalData.supportFolder(forStore: output),
        ] {
            try FileLayer().removeTree(path)
        }
    }

    private static func isCommitted(_ store: String) throws -> Bool {
        do {
            try Connection(path: store, mode: .readWrite).execute("BEGIN IMMEDIATE; ROLLBACK")
            return true
        } catch let error where error.isBusy {
            return false
        }
    }

    private func change(
        _ kind: RandomChange.Kind, _ seed: UInt64, afterwards finished: String, of store: DamagedStore,
        _ missed: inout [String]
    ) throws {
        let folder = store.folder.file("Changed")
        try FileManager.default.copyItem(atPath: store.folder.file("Done"), toPath: folder)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let copy = folder + "/New.sqlite"
        let before = StoreTruth(copy, files: copy)
        var change = RandomChange(kind, of: copy, files: copy, seed: seed)
        let words = try change.make()
        let isTold = StoreTruth(copy, files: copy) != before
        var isFound = false
        do {
            isFound = try !differences(store, copy, jobs: jobs(seed)).isEmpty
        } catch is FerryError {
            isFound = true
        }
        if isTold, !isFound { missed.append("\(kind): \(words)") }
    }

    private func differences(_ store: DamagedStore, _ path: String, jobs: Int? = nil) throws -> [String] {
        let mapping = store.folder.file("Mappings/Map.json")
        return try Verifier(
            store: URL(fileURLWithPath: path),
            models: [.url(URL(fileURLWithPath: store.folder.file("App.xcdatamodeld")))],
            mappings: store.way.hasMapping ? [URL(fileURLWithPath: mapping)] : []
        ).verifyMigration(from: URL(fileURLWithPath: store.store), .init(jobs: jobs)).differences.map { "\($0)" }
    }
}
