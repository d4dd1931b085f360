import FerryBase
import FerryGenerate
import FerryModel
import FerrySQLite
import FerryStore
import Foundation
import TestSupport
import Testing

struct StoreGeneratorTests {
    /// Every kind of attribute and relationship, with and without constraints.
    static let model: ManagedObjectModel = {
        let all: [AttributeType] = [
            .integer16, .integer32, .integer64, .boolean, .decimal, .double, .float, .string, .date, .binary, .uuid,
            .uri,
            .transformable,
        ]
        let everything = all.map { Attribute(name: "a\($0.rawValue)", type: $0, isOptional: $0 != .string) }
        return ManagedObjectModel(
            versionIdentifiers: ["1"],
            entities: [
                Entity(
                    name: "Author", isAbstract: true, attributes: [Attribute(name: "name", type: .string)],
                    relationships: [
                        Relationship(
                            name: "books", destinationEntity: "Book", inverseName: "authors", isOptional: true,
                            maxCount: 0)
                    ]),
                Entity(name: "Poet", superentity: "Author", uniquenessConstraints: [["name"]]),
                Entity(name: "Writer", superentity: "Author"),
                Entity(
                    name: "Book", attributes: everything,
                    relationships: [
                        Relationship(
                            name: "authors", destinationEntity: "Author", inverseName: "books", isOptional: true,
                            isOrdered: true, maxCount: 0),
                        Relationship(
                            name: "cover", destinationEntity: "Cover", inverseName: "book", isOptional: true),
                        Relationship(
                            name: "next", destinationEntity: "Book", inverseName: "previous", isOptional: true),
                        Relationship(
                            name: "previous", destinationEntity: "Book", inverseName: "next", isOptional: true),
                        Relationship(name: "twin", destinationEntity: "Book", inverseName: "twin", isOptional: true),
                        Relationship(name: "shelf", destinationEntity: "Shelf", inverseName: "books"),
                        Relationship(
                            name: "similar", destinationEntity: "Book", inverseName: "similar", isOptional: true,
                            maxCount: 0),
                        Relationship(name: "editor", destinationEntity: "Author", isOptional: true),
                    ], uniquenessConstraints: [["a1100"], ["a100", "a700"], ["shelf", "a300"]]),
                Entity(
                    name: "Cover", attributes: [Attribute(name: "image", type: .binary, allowsExternalStorage: true)],
                    relationships: [
                        Relationship(name: "book", destinationEntity: "Book", inverseName: "cover", isOptional: true)
                    ]),
                Entity(
                    name: "Shelf",
                    relationships: [
                        Relationship(
                            name: "books", destinationEntity: "Book", inverseName: "shelf", isOptional: true,
                            isOrdered: true, maxCount: 0),
                        Relationship(name: "labels", destinationEntity: "Label", isOptional: true, maxCount: 0),
                    ]), Entity(name: "Label"),
            ])
    }()

    static func version(_ model: ManagedObjectModel = model) -> ModelVersion { ModelVersion(of: model) }

    static let options = GenerationOptions(
        rows: 300, rowsOfEntity: ["Shelf": 20, "Label": 7, "Poet": 31], seed: 42, externalFiles: 5,
        externalFileBytes: 1_000...20_000)

    private func generate(_ options: GenerationOptions, in folder: TemporaryFolder, _ name: String) throws -> String {
        let path = folder.file(name)
        try StoreGenerator(Self.version(), options: options).generate(at: path, files: FileLayer())
        return path
    }

    @Test("A generated store is valid: layout, numbers, references, inverses, constraints, mandatory values")
    func whole() throws {
        let folder = try TemporaryFolder()
        let path = try generate(Self.options, in: folder, "Store.sqlite")
        let connection = try Connection(path: path, mode: .readOnly)
        #expect(try connection.value("PRAGMA integrity_check")?.text == "ok")
        #expect(try connection.value("PRAGMA journal_mode")?.text == "wal")
        let metadata = try StoreMetadata.read(from: connection)
        #expect(metadata.hashes == Self.version().hashes)
        let layout = try StoreLayout.actual(for: Self.model, on: connection)
        #expect(try layout.indexes == StoreLayout.canonical(for: Self.model).indexes)
        #expect(try StoreDamage.scan(layout, on: connection) == [])
        let rows = try StoreInspection(of: layout, on: connection).entities.map { ($0.name, $0.rows ?? 0) }
        #expect(
            Dictionary(uniqueKeysWithValues: rows) == [
                "Author": 0, "Poet": 31, "Writer": 300, "Book": 300, "Cover": 300, "Shelf": 20, "Label": 7,
            ])
        #expect(try connection.integer("SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_NAME = 'Author'") == 331)
        // A Z_ENT column is beside every foreign key to an entity with subentities.
        let wrong = try connection.integer(
            "SELECT count(*) FROM ZBOOK b JOIN ZAUTHOR a ON a.Z_PK = b.ZEDITOR WHERE b.Z1_EDITOR IS NOT a.Z_ENT")
        #expect(wrong == 0)
        for column in ["ZEDITOR", "ZCOVER", "ZNEXT", "ZTWIN", "ZA600", "ZA1800"] {
            let empty = try connection.integer("SELECT sum(\(column) IS NULL) FROM ZBOOK") ?? 0
            #expect((1...100).contains(empty), "\(column)")
        }
        // Each element of an ordered relationship has its own position, the first one 2048.
        #expect(
            try connection.integer(
                "SELECT count(*) FROM (SELECT min(Z_FOK_SHELF) = 2048 AND count(DISTINCT Z_FOK_SHELF) = count(*) AS ok "
                    + "FROM ZBOOK GROUP BY ZSHELF) WHERE NOT ok") == 0)
        #expect(try (connection.integer("SELECT count(*) FROM Z_1BOOKS") ?? 0) > 100)
        #expect(
            try connection.integer(
                "SELECT count(*) FROM Z_4SIMILAR a WHERE NOT EXISTS (SELECT 1 FROM Z_4SIMILAR b "
                    + "WHERE b.Z_4SIMILAR = a.REFLEXIVE AND b.REFLEXIVE = a.Z_4SIMILAR)") == 0)
    }

    @Test("Every value has the storage class of its type")
    func storageClasses() throws {
        let folder = try TemporaryFolder()
        let connection = try Connection(path: generate(Self.options, in: folder, "S.sqlite"), mode: .readOnly)
        let classes: [(AttributeType, Set<String>)] = [
            (.integer16, ["integer"]), (.boolean, ["integer"]), (.decimal, ["real", "integer"]), (.double, ["real"]),
            (.float, ["real"]), (.string, ["text"]), (.date, ["real", "integer"]), (.binary, ["blob"]),
            (.uuid, ["blob"]),
            (.uri, ["text"]), (.transformable, ["blob"]),
        ]
        for (type, expected) in classes {
            let column = "ZA\(type.rawValue)"
            let found = try connection.rows("SELECT DISTINCT typeof(\(column)) FROM ZBOOK WHERE \(column) IS NOT NULL")
            #expect(Set(found.compactMap(\.[0].text)).isSubset(of: expected), "\(type)")
            #expect(!found.isEmpty, "\(type)")
        }
        #expect(try connection.integer("SELECT count(*) FROM ZBOOK WHERE length(ZA1100) <> 16") == 0)
        let archive = try #require(try connection.value("SELECT ZA1800 FROM ZBOOK WHERE ZA1800 IS NOT NULL LIMIT 1"))
        guard case .blob(let bytes) = archive else { return #expect(Bool(false), "a transformable is a BLOB") }
        #expect(try KeyedArchive(bytes).root.text?.hasPrefix("Value ") == true)
    }

    @Test("External values have their first byte, few of them a file, and each file its reference")
    func externalFiles() throws {
        let folder = try TemporaryFolder()
        let path = try generate(Self.options, in: folder, "Photos.sqlite")
        let connection = try Connection(path: path, mode: .readOnly)
        let layout = try StoreLayout.actual(for: Self.model, on: connection)
        var references: [String] = []
        for (key, _) in ExternalData.attributes(of: layout) {
            try ExternalData.forEachReference(of: key, in: layout, on: connection) { references.append($0) }
        }
        let files = try ExternalData.fileNames(ofStore: path)
        #expect(files.count == 5)
        #expect(Set(files) == Set(references))
        #expect(
            try connection.integer(
                "SELECT count(*) FROM ZCOVER WHERE ZIMAGE IS NOT NULL AND hex(substr(ZIMAGE, 1, 1)) NOT IN ('01', '02')"
            )
                == 0)
        for file in files {
            let size = try FileLayer().read(ExternalData.folder(forStore: path) + "/" + file).count
            #expect(Self.options.externalFileBytes.contains(size))
        }
    }

    @Test("Equal seeds give equal stores and files, another seed gives another store")
    func seeds() throws {
        let folder = try TemporaryFolder()
        let first = try generate(Self.options, in: folder, "1.sqlite")
        let second = try generate(Self.options, in: folder, "2.sqlite")
        var other = Self.options
        other.seed = 43
        let third = try generate(other, in: folder, "3.sqlite")
        #expect(try DatabaseDump.digest(first) == DatabaseDump.digest(second))
        #expect(try DatabaseDump.digest(first) != DatabaseDump.digest(third))
        #expect(try externalDigests(of: first) == externalDigests(of: second))
        #expect(try externalDigests(of: first) != externalDigests(of: third))
    }

    @Test("A generated store has its cached model, and its derived counts are correct")
    func derivedCounts() throws {
        let model = ManagedObjectModel(
            versionIdentifiers: [],
            entities: [
                Entity(
                    name: "Shelf",
                    attributes: [
                        Attribute(
                            name: "count", type: .integer64, isOptional: true, derivationExpression: "books.@count")
                    ],
                    relationships: [
                        Relationship(
                            name: "books", destinationEntity: "Book", inverseName: "shelf", isOptional: true,
                            maxCount: 0)
                    ]),
                Entity(
                    name: "Book",
                    relationships: [
                        Relationship(name: "shelf", destinationEntity: "Shelf", inverseName: "books", isOptional: true)
                    ]),
            ])
        let folder = try TemporaryFolder()
        let path = folder.file("Counted.sqlite")
        try StoreGenerator(Self.version(model), options: GenerationOptions(rows: 200, seed: 1))
            .generate(at: path, files: FileLayer())
        let store = try Connection(path: path, mode: .readOnly)
        let wrong = try store.integer(
            "SELECT count(*) FROM ZSHELF s WHERE ZCOUNT IS NOT (SELECT count(*) FROM ZBOOK WHERE ZSHELF = s.Z_PK)")
        #expect(wrong == 0)
        #expect(try store.integer("SELECT sum(ZCOUNT) FROM ZSHELF") ?? 0 > 0)
        #expect(try store.integer("SELECT count(*) FROM sqlite_master WHERE type = 'trigger'") == 5)
        #expect(try ModelCache.version(in: store)?.hashes == VersionHash.hashes(of: model))
    }

    private func externalDigests(of path: String) throws -> [String: [UInt8]] {
        var digests: [String: [UInt8]] = [:]
        for name in try ExternalData.fileNames(ofStore: path) {
            digests[name] = SHA256.hash(try FileLayer().read(ExternalData.folder(forStore: path) + "/" + name))
        }
        return digests
    }

    @Test("An option sets the values of an attribute")
    func customValues() throws {
        let model = ManagedObjectModel(
            versionIdentifiers: [],
            entities: [
                Entity(
                    name: "Book",
                    attributes: [
                        Attribute(name: "title", type: .string), Attribute(name: "author", type: .string),
                        Attribute(name: "genre", type: .string), Attribute(name: "year", type: .integer16),
                        Attribute(name: "json", type: .string), Attribute(name: "stars", type: .integer16),
                    ])
            ])
        let values: [PropertyKey: ValueMaker] = [
            PropertyKey("Book", "title"): { key, _ in .text("Title \(key)") },
            PropertyKey("Book", "author"): { _, random in .text("Author \(random.below(10) + 1)") },
            PropertyKey("Book", "genre"): { _, random in .text(["Crime", "Poetry"][Int(random.below(2))]) },
            PropertyKey("Book", "year"): { _, random in .integer(1900 + random.below(10)) },
            PropertyKey("Book", "stars"): { _, _ in .integer(5) },
            PropertyKey("Book", "json"): { key, random in .text("{\"id\":\(key),\"n\":\(random.below(3))}") },
        ]
        let folder = try TemporaryFolder()
        let path = folder.file("Library.sqlite")
        try StoreGenerator(Self.version(model), options: GenerationOptions(rows: 2_000, values: values))
            .generate(at: path, files: FileLayer())
        let connection = try Connection(path: path, mode: .readOnly)
        #expect(try connection.integer("SELECT count(*) FROM ZBOOK WHERE ZTITLE <> 'Title ' || Z_PK") == 0)
        #expect(try connection.integer("SELECT count(DISTINCT ZAUTHOR) FROM ZBOOK") == 10)
        #expect(try connection.value("SELECT max(ZAUTHOR) FROM ZBOOK")?.text == "Author 9")
        #expect(try connection.integer("SELECT count(DISTINCT ZGENRE) FROM ZBOOK") == 2)
        #expect(try connection.rows("SELECT min(ZYEAR), max(ZYEAR) FROM ZBOOK") == [[.integer(1900), .integer(1909)]])
        #expect(try connection.integer("SELECT count(*) FROM ZBOOK WHERE ZSTARS <> 5") == 0)
        #expect(try connection.integer("SELECT count(*) FROM ZBOOK WHERE json_extract(ZJSON, '$.id') <> Z_PK") == 0)
    }

    @Test("No file is overwritten, and an unfinished store leaves no files")
    func refusals() throws {
        let folder = try TemporaryFolder()
        let path = try generate(Self.options, in: folder, "Store.sqlite")
        let before = try DatabaseDump.digest(path)
        var error = #expect(throws: FerryError.self) { _ = try generate(Self.options, in: folder, "Store.sqlite") }
        #expect(error?.code == .outputExists)
        #expect(try DatabaseDump.digest(path) == before)

        var small = Self.options
        small.rowsOfEntity["Flag"] = 3
        let flags = ManagedObjectModel(
            versionIdentifiers: [],
            entities: [
                Entity(
                    name: "Flag", attributes: [Attribute(name: "on", type: .boolean)], uniquenessConstraints: [["on"]])
            ])
        let other = folder.file("Flags.sqlite")
        error = #expect(throws: FerryError.self) {
            try StoreGenerator(Self.version(flags), options: small).generate(at: other, files: FileLayer())
        }
        #expect(error?.code == .unsupported)
        #expect(try !FileLayer().exists(other))
    }

    @Test("Progress counts every row of every entity")
    func progress() throws {
        let folder = try TemporaryFolder()
        let counter = Counter()
        try StoreGenerator(Self.version(), options: Self.options)
            .generate(at: folder.file("S.sqlite"), files: FileLayer()) { counter.note($0) }
        let rows = try #require(counter.last { $0.total != nil })
        #expect(rows.done >= 958)
        #expect(rows.total == rows.done)
        // The number of links depends on the objects.
        let links = try #require(counter.last { $0.total == nil })
        #expect(links.subject?.hasPrefix("links of ") == true && links.done > 0)
    }

    private final class Counter: @unchecked Sendable {
        // Only the generating thread calls the hook, and the test reads the updates after the call.
        private var updates: [ProgressUpdate] = []
        func note(_ update: ProgressUpdate) { updates.append(update) }
        func last(where isWanted: (ProgressUpdate) -> Bool) -> ProgressUpdate? { updates.last(where: isWanted) }
    }
}
