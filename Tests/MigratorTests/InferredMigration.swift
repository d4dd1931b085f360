import Ferry
import FerryBase
import FerryModel
import FerrySQLite
import FerryStore
import Foundation
import TestSupport

/// A store with three versions of its model; each step can be inferred, or is that of a mapping model that keeps every
/// object's row.
struct InferredMigration {
    let folder: TemporaryFolder
    var store: String { folder.file("App.sqlite") }
    private let isMapped: Bool

    init(rows: Int64 = 30, form: TinyStore.Form = .plain, isMapped: Bool = false) throws {
        folder = try TemporaryFolder()
        self.isMapped = isMapped
        try writeMappings()
        let title = "<attribute name=\"title\" optional=\"YES\" attributeType=\"String\"/>"
        let heading = "<attribute name=\"heading\" elementID=\"title\" optional=\"YES\" attributeType=\"String\"/>"
        let copies =
            "<attribute name=\"copies\" optional=\"YES\" attributeType=\"Integer 32\" defaultValueString=\"2\"/>"
        try folder.writeVersion("App 1", "<entity name=\"Book\">\(title)</entity>")
        // A new entity gives the old one another entity number.
        try folder.writeVersion(
            "App 2", "<entity name=\"Author\"></entity><entity name=\"Book\">\(title)\(copies)</entity>")
        try folder.writeVersion(
            "App 3", "<entity name=\"Author\"></entity><entity name=\"Book\">\(heading)\(copies)</entity>")
        try FileLayer().replace(
            folder.file("App.xcdatamodeld/.xccurrentversion"),
            with: Array(
                """
                <?xml version="1.0" encoding="UTF-8"?>
                <plist version="1.0"><dict><key>_XCCurrentVersionName</key><string>App 3.xcdatamodel</string></dict></plist>
                """.utf8))
        try makeStore(rows: rows, form: form)
    }

    func migrator(files: FileLayer = FileLayer()) throws -> Migrator {
        try Migrator(
            store: URL(fileURLWithPath: store),
            models: [.url(URL(fileURLWithPath: folder.file("App.xcdatamodeld")))],
            mappings: isMapped
                ? ["One", "Two"].map { URL(fileURLWithPath: folder.file("Mappings.apart/\($0).json")) } : [],
            files: files)
    }

    /// Writes the mapping files into a folder that the migrator does not search.
    private func writeMappings() throws {
        try FileLayer().createDirectory(folder.file("Mappings.apart"))
        let book = #""entityMappings": [ { "name": "Books", "source": "Book", "destination": "Book", "attributes""#
        for (name, text) in [
            (
                "One",
                #"{ "source": "App 1", "destination": "App 2", \#(book): { "title": "uppercase:($source.title)" } } ] }"#
            ),
            ("Two", #"{ "source": "App 2", "destination": "App 3", \#(book): { "heading": "$source.title" } } ] }"#),
        ] {
            try FileLayer().replace(folder.file("Mappings.apart/\(name).json"), with: Array(text.utf8))
        }
    }

    private func makeStore(rows: Int64, form: TinyStore.Form) throws {
        try folder.makeBooks(
            rows: rows, form: form, uuid: "6C1D3E0A-0000-4000-8000-000000000003", hasModelCache: true,
            columns: ["ZTITLE"]
        ) { [.text("Book \($0)")] }
        if form == .closedLog { try FileLayer().removeIfPresent(store + "-wal") }
        try FileLayer().removeIfPresent(store + "-shm")
    }
}
