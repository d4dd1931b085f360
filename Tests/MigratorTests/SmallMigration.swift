import Ferry
import FerryBase
import FerryEngine
import FerryModel
import FerrySQLite
import FerryStore
import Foundation
import TestSupport

/// A store of two entities, three model versions and mapping files, small enough to be migrated hundreds of times.
struct SmallMigration {
    let folder: TemporaryFolder
    /// Whether the second step's books are made by ``HeadingPolicy``, or by ``NotingPolicy`` if their writer is kept.
    let hasPolicy: Bool
    /// Whether the books of the second version still have their writer, and there are more notes than books, so that
    /// both tables stay in the first step.
    let keepsWriter: Bool
    var store: String { folder.file("App.sqlite") }

    /// Writes models, mapping files and a store with the given number of books, of which every fifth has no author.
    init(rows: Int64 = 12, form: TinyStore.Form = .plain, hasPolicy: Bool = false, keepsWriter: Bool = false) throws {
        (self.hasPolicy, self.keepsWriter) = (hasPolicy, keepsWriter)
        folder = try TemporaryFolder()
        try writeModels()
        try writeMappings()
        try makeStore(rows: rows, form: form)
    }

    func migrator(files: FileLayer = FileLayer()) throws -> Migrator {
        try Migrator(
            store: URL(fileURLWithPath: store),
            models: [.url(URL(fileURLWithPath: folder.file("App.xcdatamodeld")))],
            mappings: ["One.json", "Two.json"].map { URL(fileURLWithPath: folder.file($0)) },
            policies: hasPolicy
                ? ["HeadingPolicy": { HeadingPolicy() }, "NotingPolicy": { NotingPolicy() }] : [:], files: files)
    }

    func model(_ name: String) throws -> ModelVersion {
        try ModelCatalog(paths: [folder.file("App.xcdatamodeld")]).version(named: name)
    }

    func write(_ text: String, to file: String) throws {
        try FileLayer().replace(folder.file(file), with: Array(text.utf8))
    }

    // MARK: Models

    private func writeModels() throws {
        let title = "<attribute name=\"title\" optional=\"YES\" attributeType=\"String\"/>"
        let writer = "<attribute name=\"writer\" optional=\"YES\" attributeType=\"String\"/>"
        let note = keepsWriter ? "<entity name=\"Note\">\(title)</entity>" : ""
        try folder.writeVersion("App 1", "<entity name=\"Book\">\(title)\(writer)</entity>\(note)")
        let author = """
            <entity name="Author"><attribute name="name" optional="YES" attributeType="String"/>\
            <relationship name="books" optional="YES" toMany="YES" deletionRule="Nullify" destinationEntity="Book" \
            inverseName="author" inverseEntity="Book"/></entity>
            """
        let link = """
            <relationship name="author" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Author" \
            inverseName="books" inverseEntity="Author"/>
            """
        try folder.writeVersion(
            "App 2", "\(author)<entity name=\"Book\">\(title)\(keepsWriter ? writer : "")\(link)</entity>\(note)")
        let heading = "<attribute name=\"heading\" attributeType=\"String\"/>"
        try folder.writeVersion("App 3", "\(author)<entity name=\"Book\">\(heading)\(link)</entity>\(note)")
        try write(
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
            <plist version="1.0"><dict><key>_XCCurrentVersionName</key><string>App 3.xcdatamodel</string></dict></plist>
            """, to: "App.xcdatamodeld/.xccurrentversion")
    }

    private func writeMappings() throws {
        let notes = keepsWriter ? "{ \"name\": \"Notes\", \"source\": \"Note\", \"destination\": \"Note\" }," : ""
        try write(
            """
            { "source": "App 1", "destination": "App 2", "entityMappings": [\(notes)
              { "name": "BookToBook", "source": "Book", "destination": "Book",
                "relationships": { "author": { "mapping": "BookAuthor", "from": "$source" } } },
              { "name": "BookAuthor", "source": "Book", "destination": "Author", "where": "writer != nil",
                "unique": ["name"], "attributes": { "name": "$source.writer" } } ] }
            """, to: "One.json")
        try write(
            """
            { "source": "App 2", "destination": "App 3", "entityMappings": [\(notes)
              { "name": "AuthorToAuthor", "source": "Author", "destination": "Author" },
              { "name": "BookToBook", "source": "Book", "destination": "Book",
                \(hasPolicy ? "\"policy\": \"\(keepsWriter ? "Noting" : "Heading")Policy\"," : "")
                "attributes": { "heading": "$source.title" } } ] }
            """, to: "Two.json")
    }

    private func notes(_ count: Int64) -> [String] {
        [
            "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < \(count)) "
                + "INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZTITLE) SELECT n, 2, 1, 'note ' || n FROM c",
            "UPDATE Z_PRIMARYKEY SET Z_MAX = \(count) WHERE Z_NAME = 'Note'",
        ]
    }

    private func makeStore(rows: Int64, form: TinyStore.Form) throws {
        try folder.makeBooks(
            rows: rows, form: form, uuid: "6C1D3E0A-0000-4000-8000-000000000002", hasModelCache: false,
            more: keepsWriter ? notes(2 * rows) : [],
            columns: ["ZTITLE", "ZWRITER"]
        ) { [.text("Book \($0)"), $0 % 5 == 0 ? .null : .text("Writer \($0 % 3)")] }
    }
}

/// Does the mapping's work, and numbers the books across all calls of a run.
struct HeadingPolicy: EntityMigrationPolicy {
    func createDestinationInstances(
        forSource source: SourceObject, in mapping: PolicyEntityMapping, manager: MigrationManager
    ) throws {
        try defaultPolicy.createDestinationInstances(forSource: source, in: mapping, manager: manager)
        let number = try (manager.userInfo(Int.self, forKey: "books") ?? 0) + 1
        try manager.setUserInfo(number, forKey: "books")
        let book = try manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [source])[0]
        try book.setValue(.string("Book number \(number)"), forKey: "heading")
    }
}

/// Does the mapping's work, and inserts a note for every third book, beside the notes that stay.
struct NotingPolicy: EntityMigrationPolicy {
    func createDestinationInstances(
        forSource source: SourceObject, in mapping: PolicyEntityMapping, manager: MigrationManager
    ) throws {
        try defaultPolicy.createDestinationInstances(forSource: source, in: mapping, manager: manager)
        guard source.primaryKey % 3 == 0 else { return }
        try manager.insert("Note").setValue(.string("of book \(source.primaryKey)"), forKey: "title")
    }
}
