import FerryBase
import FerryExpression
import FerryMapping
import FerryModel
import FerrySQLite
import FerryStore
import FerryVerify
import TestSupport
import Testing

/// A small library: its models, a source store, and the destination of a correct migration, all written by hand.
struct Library {
    let folder: TemporaryFolder
    var step: ResolvedStep
    var counts: [EntityMappingCounts]

    var source: String { folder.path + "/source.sqlite" }
    var destination: String { folder.path + "/destination.sqlite" }

    init() throws {
        folder = try TemporaryFolder()
        step = try Library.step()
        counts = Library.counts
        let first = try StoreLayout.canonical(for: step.source.model)
        let second = try StoreLayout.canonical(for: step.destination.model)
        let keys: [String: PropertyTree] = ["app.key": .string("kept")]
        var metadata = StoreMetadata.new(for: step.source, uuid: "0B9C3F5E-8E2D-4B6A-9C1D-2F3A4B5C6D7E")
        metadata.properties.merge(keys) { $1 }
        try Library.create(source, first, ["Book": 9, "User": 2], metadata, Library.sourceRows)
        try Library.create(
            destination, second,
            ["Artist": 2, "Author": 2, "Book": 9, "File": 4, "Profile": 1, "Tag": 3, "User": 2, "Vehicle": 11],
            metadata.restamped(for: step.destination), Library.destinationRows)
    }

    static func create(
        _ path: String, _ layout: StoreLayout, _ maximumKeys: [String: Int64], _ metadata: StoreMetadata, _ rows: String
    ) throws {
        let connection = try Connection(path: path, mode: .create)
        try StoreCreation.prepare(connection)
        try StoreCreation.createTables(of: layout, on: connection, hasModelCache: false)
        try StoreCreation.writeEntityNumbers(of: layout, maximumKeys: maximumKeys, on: connection)
        try connection.execute(rows)
        for index in layout.indexes { try connection.execute(index.sql) }
        try metadata.write(to: connection)
        try connection.execute("CREATE TABLE ferry_progress (unit INTEGER)")
    }

    /// Damages a store.
    func change(_ path: String, _ sql: String) throws {
        let connection = try Connection(path: path, mode: .readWrite)
        connection.allowSchemaWrites()
        try connection.execute(sql)
    }

    func verify(
        _ mode: VerifyMode = .full, fileCheck: FileCheck = .quick, jobs: Int? = nil, stop: StopRequest = StopRequest(),
        trace: TraceHook? = nil, progress: ProgressHook? = nil
    ) throws -> VerificationSummary {
        var verification = Verification(
            mode: mode, step: step, sourcePath: source, isSourcePrivate: false, destinationPath: destination,
            workFolder: folder.path, counts: counts, now: 700_000_000.5, trace: trace, progress: progress, stop: stop)
        (verification.jobs, verification.fileCheck) = (jobs, fileCheck)
        return try verification.run()
    }

    /// Returns a library with additional books, each with a tag, so many that a stopped verification stops among them.
    ///
    /// Distant keys spread the books over many parts, a few in each.
    static func withMoreBooks(_ count: Int64 = 3000, spacing: Int64 = 1) throws -> Library {
        var library = try Library()
        let last = 100 + (count - 1) * spacing
        let keys = "WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + \(spacing) FROM n WHERE i < \(last))"
        try library.change(
            library.source,
            """
            \(keys) INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZPRICE) SELECT i, 1, 1, 'Book ' || i, 1.0 FROM n;
            \(keys) INSERT INTO Z_1TAGS (Z_1TAGGED, Z_3TAGS, Z_FOK_3TAGS) SELECT i, 1 + i % 3, 2048 FROM n;
            UPDATE Z_PRIMARYKEY SET Z_MAX = \(last) WHERE Z_NAME = 'Book'
            """)
        try library.change(
            library.destination,
            """
            \(keys)
            INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZHEADING, ZPRICE, ZSTATE) SELECT i, 3, 1, 'Book ' || i, 1.2, 1 FROM n;
            \(keys) INSERT INTO Z_3TAGS (Z_3TAGGED, Z_6TAGS, Z_FOK_6TAGS) SELECT i, 1 + i % 3, 2048 FROM n;
            UPDATE Z_PRIMARYKEY SET Z_MAX = \(last) WHERE Z_NAME = 'Book'
            """)
        for index in library.counts.indices where library.counts[index].source == "Book" {
            switch library.counts[index].name {
            case "BookToBook":
                library.counts[index].read += count
                library.counts[index].written += count
            case "BookAuthor":
                library.counts[index].read += count
                library.counts[index].dropped += count
            default: break
            }
        }
        return library
    }

    /// Returns a library with additional users, each with a book of the same key, and with files of these books, which
    /// get new keys.
    static func withMoreUsers(_ count: Int64, spacing: Int64) throws -> Library {
        var library = try Library()
        let last = 100 + (count - 1) * spacing
        let keys = "WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + \(spacing) FROM n WHERE i < \(last))"
        let users = "\(keys) INSERT INTO ZUSER (Z_PK, Z_ENT, Z_OPT, ZNAME) SELECT i,"
        let books = "\(keys) INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZUSER, Z_FOK_USER, ZPRICE,"
        let highest = "UPDATE Z_PRIMARYKEY SET Z_MAX = \(last) WHERE Z_NAME IN ('Book', 'User');"
        try library.change(
            library.source,
            """
            \(users) 4, 1, 'User ' || i FROM n;
            \(books) ZTITLE) SELECT i, 1, 1, i, 2048, 1.0, 'Book ' || i FROM n; \(highest)
            """)
        try library.change(
            library.destination,
            """
            \(users) 7, 1, 'User ' || i FROM n;
            \(books) ZHEADING, ZSTATE) SELECT i, 3, 1, i, 2048, 1.2, 'Book ' || i, 1 FROM n; \(highest)
            \(keys) INSERT INTO ZFILE (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZOWNER, ZBOOK, Z_FOK_BOOK, ZUSER)
            SELECT 5 + (i - 100) / \(spacing), 4, 1, 'Book ' || i, 'User ' || i, i, 2048, i FROM n;
            UPDATE Z_PRIMARYKEY SET Z_MAX = 4 + \(count) WHERE Z_NAME = 'File'
            """)
        for index in library.counts.indices {
            switch library.counts[index].name {
            case "BookToBook", "UserToUser", "BookFile":
                library.counts[index].read += count
                library.counts[index].written += count
            case "BookAuthor":
                library.counts[index].read += count
                library.counts[index].dropped += count
            default: break
            }
        }
        return library
    }

    // MARK: Rows

    private static let sourceRows = """
        INSERT INTO ZUSER (Z_PK, Z_ENT, Z_OPT, ZNAME, ZPROFILE) VALUES (1, 4, 3, 'Ada', 1), (2, 4, 1, 'Ben', NULL);
        INSERT INTO ZPROFILE (Z_PK, Z_ENT, Z_OPT, ZBIO, ZUSER) VALUES (1, 2, 1, 'writes', 1);
        INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZPRICE, ZPAGES, ZAUTHORNAME, ZJSON, ZPUBLISHED, ZUSER, Z_FOK_USER)
        VALUES
            (1, 1, 4, 'The Trial', 10.0, 255, 'Franz Kafka', '{"artists": [{"name": "Ann", "plays": 7}, {"name": "Bo"}]}',
                100, 1, 3072),
            (2, 1, 1, 'Cosmos', 2.5, 9, 'Witold Gombrowicz', NULL, 100.25, 1, 2048),
            (3, 1, 1, 'Draft', 1.0, 1, 'Franz Kafka', '{"artists": [{"name": "Cy"}]}', NULL, 2, 2048),
            (5, 1, 2, 'Amerika', NULL, NULL, 'Franz Kafka', '{"artists": [{"name": "Ann", "plays": 9}]}', -5.5, 2, 4096),
            (7, 1, 1, 'Untold', 0.0, 7, NULL, '{"artists": null}', 0, NULL, NULL);
        INSERT INTO ZTAG (Z_PK, Z_ENT, Z_OPT, ZLABEL) VALUES (1, 3, 1, 'a'), (2, 3, 1, 'b'), (3, 3, 1, 'c');
        INSERT INTO Z_1TAGS (Z_1TAGGED, Z_3TAGS, Z_FOK_3TAGS) VALUES
            (1, 3, 2048), (1, 1, 3072), (2, 1, 2048), (3, 2, 2048), (5, 2, 2048);
        INSERT INTO ZVEHICLE (Z_PK, Z_ENT, Z_OPT, ZWHEELS, ZPAYLOAD) VALUES
            (4, 5, 1, 4, NULL), (6, 6, 2, 6, 12.5), (11, 6, 1, 8, 3.0);
        """

    private static let destinationRows = """
        INSERT INTO ZUSER (Z_PK, Z_ENT, Z_OPT, ZNAME, ZPROFILE) VALUES (1, 7, 3, 'Ada', 1), (2, 7, 1, 'Ben', NULL);
        INSERT INTO ZPROFILE (Z_PK, Z_ENT, Z_OPT, ZBIO, ZUSER) VALUES (1, 5, 1, 'writes', 1);
        INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZHEADING, ZPRICE, ZPAGES, ZPUBLISHED, ZSTATE, ZUSER, Z_FOK_USER) VALUES
            (1, 3, 4, 'The Trial', 12.0, '255', 100, 1, 1, 3072),
            (2, 3, 1, 'Cosmos', 3.0, '9', 100.25, 1, 1, 2048),
            (5, 3, 2, 'Amerika', NULL, NULL, -5.5, 1, 2, 4096),
            (7, 3, 1, 'Untold', 0.0, '7', 0, 1, NULL, NULL);
        INSERT INTO ZTAG (Z_PK, Z_ENT, Z_OPT, ZLABEL) VALUES (1, 6, 1, 'a'), (2, 6, 1, 'b'), (3, 6, 1, 'c');
        INSERT INTO Z_3TAGS (Z_3TAGGED, Z_6TAGS, Z_FOK_6TAGS) VALUES
            (1, 3, 2048), (1, 1, 3072), (2, 1, 2048), (5, 2, 2048);
        INSERT INTO ZAUTHOR (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (1, 2, 1, 'Franz Kafka'), (2, 2, 1, 'Witold Gombrowicz');
        INSERT INTO Z_2BOOKS (Z_2AUTHORS, Z_3BOOKS) VALUES (1, 1), (2, 2), (1, 5);
        INSERT INTO ZFILE (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZOWNER, ZBOOK, Z_FOK_BOOK, ZUSER) VALUES
            (1, 4, 1, 'Cosmos', 'Ada', 2, 2048, 1), (2, 4, 1, 'The Trial', 'Ada', 1, 2048, 1),
            (3, 4, 1, 'Draft', 'Ben', NULL, NULL, 2), (4, 4, 1, 'Amerika', 'Ben', 5, 2048, 2);
        INSERT INTO ZARTIST (Z_PK, Z_ENT, Z_OPT, ZNAME, ZPLAYS) VALUES (1, 1, 1, 'Ann', 7.0), (2, 1, 1, 'Bo', NULL);
        INSERT INTO ZVEHICLE (Z_PK, Z_ENT, Z_OPT, ZWHEELS, ZPAYLOAD) VALUES
            (4, 8, 1, 4, NULL), (6, 9, 2, 6, 12.5), (11, 9, 1, 8, 3.0);
        """

    private static let counts: [EntityMappingCounts] = [
        count("BookToBook", "Book", "Book", read: 5, written: 4, dropped: 1),
        count("UserToUser", "User", "User", read: 2, written: 2),
        count("ProfileToProfile", "Profile", "Profile", read: 1, written: 1),
        count("TagToTag", "Tag", "Tag", read: 3, written: 3),
        count("BookAuthor", "Book", "Author", read: 5, written: 2, dropped: 1, merged: 2),
        count("BookFile", "User", "File", read: 4, written: 4),
        count("BookArtist", "Book", "Artist", read: 4, written: 2, dropped: 1, merged: 1),
        count("VehicleToVehicle", "Vehicle", "Vehicle", read: 1, written: 1),
        count("TruckToTruck", "Truck", "Truck", read: 2, written: 2),
    ]

    private static func count(
        _ name: String, _ source: String, _ destination: String, read: Int64, written: Int64, dropped: Int64 = 0,
        merged: Int64 = 0
    ) -> EntityMappingCounts {
        var counts = EntityMappingCounts(name: name, source: source, destination: destination)
        counts.read = read
        counts.written = written
        counts.dropped = dropped
        counts.merged = merged
        return counts
    }
}
