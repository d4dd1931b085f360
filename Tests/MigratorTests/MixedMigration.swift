import Ferry
import FerryBase
import FerryModel
import FerrySQLite
import FerryStore
import Foundation
import TestSupport

/// A store whose chain to `App 5` has steps of both modes: 1 → 2 is inferred, 2 → 3 needs a mapping file, 3 → 4 and
/// 4 → 5 are inferred.
struct MixedMigration {
    let folder: TemporaryFolder
    var store: String { folder.file("App.sqlite") }
    /// Mapping files for all steps, so that the set executor makes every one of them a copy.
    let isAllCopies: Bool

    init(rows: Int64 = 12, form: TinyStore.Form = .plain, isAllCopies: Bool = false) throws {
        folder = try TemporaryFolder()
        self.isAllCopies = isAllCopies
        try writeModels()
        try writeMappings()
        try makeStore(rows: rows, form: form)
    }

    func migrator(files: FileLayer = FileLayer()) throws -> Migrator {
        let mappings = ["Two.json"] + (isAllCopies ? ["One.json", "Three.json", "Four.json"] : [])
        return try Migrator(
            store: URL(fileURLWithPath: store),
            models: [.url(URL(fileURLWithPath: folder.file("App.xcdatamodeld")))],
            mappings: mappings.map { URL(fileURLWithPath: folder.file("Mappings.apart/\($0)")) }, files: files)
    }

    // MARK: Files

    private func write(_ text: String, to file: String) throws {
        try FileLayer().replace(folder.file(file), with: Array(text.utf8))
    }

    private func writeModels() throws {
        let title = #"<attribute name="title" optional="YES" attributeType="String"/>"#
        let writer = #"<attribute name="writer" optional="YES" attributeType="String"/>"#
        let copies = #"<attribute name="copies" optional="YES" attributeType="Integer 32" defaultValueString="2"/>"#
        try folder.writeVersion("App 1", #"<entity name="Book">\#(title)\#(writer)</entity>"#)
        // A new entity gives the old one another entity number.
        let archive = #"<entity name="Archive"/>"#
        try folder.writeVersion("App 2", #"\#(archive)<entity name="Book">\#(title)\#(writer)\#(copies)</entity>"#)
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
            "App 3", #"\#(archive)\#(author)<entity name="Book">\#(title)\#(copies)\#(link)</entity>"#)
        let heading = #"<attribute name="heading" elementID="title" optional="YES" attributeType="String"/>"#
        try folder.writeVersion("App 4", #"\#(author)<entity name="Book">\#(heading)\#(copies)\#(link)</entity>"#)
        let pages =
            #"<attribute name="pages" optional="YES" attributeType="Integer 32" defaultValueString="100"/>"#
        let indexed =
            #"<fetchIndex name="byHeading"><fetchIndexElement property="heading" type="Binary" order="ascending"/></fetchIndex>"#
        try folder.writeVersion(
            "App 5",
            #"\#(author)<entity name="Book">\#(heading.replacing(" elementID=\"title\"", with: ""))\#(copies)\#(pages)\#(link)\#(indexed)</entity>"#
        )
        try write(
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <plist version="1.0"><dict><key>_XCCurrentVersionName</key><string>App 5.xcdatamodel</string></dict></plist>
            """, to: "App.xcdatamodeld/.xccurrentversion")
    }

    /// Writes the mapping files into a folder that the migrator does not search, so that the test passes each file.
    private func writeMappings() throws {
        try FileLayer().createDirectory(folder.file("Mappings.apart"))
        let book = #"{ "name": "BookToBook", "source": "Book", "destination": "Book""#
        let author = #"{ "name": "AuthorToAuthor", "source": "Author", "destination": "Author" }"#
        try write(
            #"{ "source": "App 1", "destination": "App 2", "entityMappings": [ \#(book) } ] }"#,
            to: "Mappings.apart/One.json"
        )
        try write(
            """
            { "source": "App 2", "destination": "App 3", "entityMappings": [
              \(book), "relationships": { "author": { "mapping": "BookAuthor", "from": "$source" } } },
              { "name": "BookAuthor", "source": "Book", "destination": "Author", "where": "writer != nil",
                "unique": ["name"], "attributes": { "name": "$source.writer" } } ] }
            """, to: "Mappings.apart/Two.json")
        let heading = #""attributes": { "heading": "$source.title" }"#
        try write(
            #"{ "source": "App 3", "destination": "App 4", "entityMappings": [ \#(author), \#(book), \#(heading) } ] }"#,
            to: "Mappings.apart/Three.json")
        try write(
            #"{ "source": "App 4", "destination": "App 5", "entityMappings": [ \#(author), \#(book) } ] }"#,
            to: "Mappings.apart/Four.json")
    }

    private func makeStore(rows: Int64, form: TinyStore.Form) throws {
        try folder.makeBooks(
            rows: rows, form: form, uuid: "6C1D3E0A-0000-4000-8000-000000000004", hasModelCache: true,
            columns: ["ZTITLE", "ZWRITER"]
        ) { [.text("Book \($0)"), $0 % 5 == 0 ? .null : .text("Writer \($0 % 3)")] }
    }
}
