import Ferry
import FerryBase
import FerryEngine
import FerryModel
import FerrySQLite
import FerryStore
import Foundation
import TestSupport

/// A store with every kind of relationship, migrated by each way to a version in which every entity number and one
/// table differs.
struct DamagedStore {
    enum Way: CaseIterable {
        /// In place on the store itself, or on a copy at an output, which is verified against the store.
        case inPlace, inPlaceOutput
        /// By a mapping model.
        case copy
        /// By the inferred mapping that could run in place.
        case inferredCopy
        /// By a mapping model with a policy that does the default work.
        case policy

        /// The ways with equal treatment of damage; only a policy's own code decides about its objects.
        static let allCases: [Way] = [.inPlace, .inPlaceOutput, .copy, .inferredCopy]

        var isCopy: Bool { self != .inPlace && self != .inPlaceOutput }
        var hasMapping: Bool { isCopy && self != .inferredCopy }
        var executor: ExecutorChoice {
            if self == .inferredCopy { return .row }
            return self == .copy ? .set : .automatic
        }
    }

    struct Policy: EntityMigrationPolicy {}

    let folder: TemporaryFolder
    let way: Way
    var store: String { folder.file("App.sqlite") }

    /// Makes the store and runs statements that damage it.
    ///
    /// A book has further attributes in both versions, as in the model.
    init(
        _ way: Way, damage: [String] = [], attributes: String = "", later: String? = nil,
        hasExternalStorage: Bool = true
    ) throws {
        self.way = way
        folder = try TemporaryFolder()
        let later = later ?? Self.later(attributes)
        try write("App 1", Self.entities(book: attributes, external: hasExternalStorage))
        try write("App 2", later)
        if way.hasMapping {
            let policy = way == .policy ? #", "policy": "Policy""# : ""
            let names = ["Author", "Book", "Cover", "Person", "Tag"].filter { later.contains("name=\"\($0)\"") }
            let mappings = names.map {
                #"{ "name": "\#($0)", "source": "\#($0)", "destination": "\#($0)"\#(policy) }"#
            }
            try FileLayer().createDirectory(folder.file("Mappings"))
            try FileLayer().replace(
                folder.file("Mappings/Map.json"),
                with: Array(
                    #"{ "source": "App 1", "destination": "App 2", "entityMappings": [\#(mappings.joined(separator: ", "))] }"#
                        .utf8))
        }
        try make()
        let connection = try Connection(path: store, mode: .readWrite)
        connection.allowSchemaWrites()
        try connection.execute("PRAGMA synchronous = OFF")
        for sql in damage { try connection.execute(sql) }
    }

    static let later = later("")

    private static func later(_ attributes: String) -> String {
        #"<entity name="Atlas"></entity>"#
            + entities(book: attributes + #"<attribute name="note" optional="YES" attributeType="String"/>"#)
    }

    static func entities(
        book: String, title: String = #"<attribute name="title" attributeType="String"/>"#, external: Bool = true
    ) -> String {
        """
        <entity name="Book">\(title)\(book)
            <relationship name="owner" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Person" \
        inverseName="books" inverseEntity="Person"/>
            <relationship name="cover" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Cover" \
        inverseName="book" inverseEntity="Cover"/>
            <relationship name="tags" optional="YES" toMany="YES" ordered="YES" deletionRule="Nullify" \
        destinationEntity="Tag" inverseName="books" inverseEntity="Tag"/></entity>
        <entity name="Cover"><attribute name="photo" optional="YES" attributeType="Binary"\
        \(external ? " allowsExternalBinaryDataStorage=\"YES\"" : "")/>
            <relationship name="book" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Book" \
        inverseName="cover" inverseEntity="Book"/></entity>
        <entity name="Person"><attribute name="name" optional="YES" attributeType="String"/>
            <relationship name="books" optional="YES" toMany="YES" ordered="YES" deletionRule="Nullify" \
        destinationEntity="Book" inverseName="owner" inverseEntity="Book"/></entity>
        <entity name="Author" parentEntity="Person"></entity>
        <entity name="Tag"><attribute name="name" optional="YES" attributeType="String"/>
            <relationship name="books" optional="YES" toMany="YES" deletionRule="Nullify" destinationEntity="Book" \
        inverseName="tags" inverseEntity="Book"/></entity>
        """
    }

    func write(_ name: String, _ entities: String) throws {
        let version = folder.file("App.xcdatamodeld/\(name).xcdatamodel")
        try FileLayer().createDirectory(version)
        try FileLayer().replace(
            version + "/contents",
            with: Array(
                """
                <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
                <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" \
                userDefinedModelVersionIdentifier="">\(entities)</model>
                """.utf8))
    }

    /// Makes books 1 and 3 of a person, book 2 of an author; books 1 and 2 with covers; links of books 1 and 2 to tags.
    private func make() throws {
        let version = try ModelCatalog(paths: [folder.file("App.xcdatamodeld")]).version(named: "App 1")
        let connection = try Connection(path: store, mode: .create)
        connection.allowSchemaWrites()
        try connection.execute("PRAGMA synchronous = OFF")
        try StoreCreation.prepare(connection)
        let layout = try StoreLayout.canonical(for: version.model)
        try connection.transaction {
            try StoreCreation.createTables(of: layout, on: connection, hasModelCache: true)
            try StoreCreation.writeEntityNumbers(
                of: layout, maximumKeys: ["Book": 3, "Cover": 3, "Person": 2, "Tag": 2], on: connection)
            try StoreMetadata.new(for: version, uuid: "6C1D3E0A-0000-4000-8000-000000000004").write(to: connection)
            for index in layout.indexes { try connection.execute(index.sql) }
            try connection.execute(
                """
                INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (1, 3, 1, 'p'), (2, 4, 1, 'q');
                INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZOWNER, Z3_OWNER, Z_FOK_OWNER, ZCOVER) VALUES
                    (1, 1, 1, 'a', 1, 3, 2048, 1), (2, 1, 1, 'b', 2, 4, 2048, 2), (3, 1, 1, 'c', 1, 3, 3072, NULL);
                INSERT INTO ZCOVER (Z_PK, Z_ENT, Z_OPT, ZBOOK, ZPHOTO) VALUES
                    (1, 2, 1, 1, x'0107'), (2, 2, 1, 2, NULL), (3, 2, 1, NULL, NULL);
                INSERT INTO ZTAG (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (1, 5, 1, 'x'), (2, 5, 1, 'y');
                INSERT INTO Z_1TAGS (Z_1BOOKS, Z_5TAGS, Z_FOK_5TAGS) VALUES (1, 1, 2048), (1, 2, 3072), (2, 1, 2048);
                """)
        }
    }

    func migrator(files: FileLayer = FileLayer()) throws -> Migrator {
        try Migrator(
            store: URL(fileURLWithPath: store), models: [.url(URL(fileURLWithPath: folder.file("App.xcdatamodeld")))],
            mappings: way.hasMapping ? [URL(fileURLWithPath: folder.file("Mappings/Map.json"))] : [],
            policies: ["Policy": { Policy() }], files: files)
    }

    /// Migrates, fully verified, without a snapshot.
    @discardableResult
    func migrate(_ damaged: DamagedRows = .refuse, dropping: [String] = []) throws -> MigrationReport {
        let report = try migrator().migrate(
            Configuration.allowingLosses {
                $0.target = "App 2"
                $0.output = way == .inPlaceOutput ? URL(fileURLWithPath: result) : nil
                $0.executor = way.executor
                $0.snapshots.form = .none
                $0.damaged = damaged
                $0.repairs.removals = dropping
            })
        guard report.mode == (way.isCopy || damaged == .drop ? .copy : .inPlace) else {
            throw FerryError(.internalError, "migrated the other way: \(report.mode)")
        }
        return report
    }

    /// The path of the migrated store.
    var result: String { way == .inPlaceOutput ? folder.file("New.sqlite") : store }

    func open() throws -> Connection { try Connection(path: result, mode: .readWrite) }

    /// Returns the rows of a query as values.
    func rows(_ sql: String) throws -> [[Value]] { try open().rows(sql) }
}
