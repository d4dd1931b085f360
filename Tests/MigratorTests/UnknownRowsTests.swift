import Ferry
import FerryBase
import FerrySQLite
import Foundation
import TestSupport
import Testing

/// A step in place without row changes, after a step whose number of objects is unknown in advance.
@Suite("Rows whose number only an earlier step's run gives")
struct UnknownRowsTests {
    private static let rows: Int64 = 12

    /// The first step keeps one book of each writer, the second adds an empty attribute.
    private func write(to folder: borrowing TemporaryFolder) throws {
        let title = #"<attribute name="title" optional="YES" attributeType="String"/>"#
        let writer = #"<attribute name="writer" optional="YES" attributeType="String"/>"#
        let note = #"<attribute name="note" optional="YES" attributeType="String"/>"#
        let pages = #"<attribute name="pages" optional="YES" attributeType="Integer 32"/>"#
        try folder.writeVersion("App 1", #"<entity name="Book">\#(title)\#(writer)</entity>"#)
        try folder.writeVersion("App 2", #"<entity name="Book">\#(title)\#(writer)\#(note)</entity>"#)
        try folder.writeVersion("App 3", #"<entity name="Book">\#(title)\#(writer)\#(note)\#(pages)</entity>"#)
        let text = """
            { "source": "App 1", "destination": "App 2", "entityMappings": [
              { "source": "Book", "destination": "Book", "unique": ["writer"] } ] }
            """
        try FileLayer().replace(folder.file("Two.json"), with: Array(text.utf8))
        try folder.makeBooks(
            rows: Self.rows, form: .plain, uuid: "6C1D3E0A-0000-4000-8000-000000000017", hasModelCache: true,
            columns: ["ZTITLE", "ZWRITER"]
        ) { [.text("Book \($0)"), .text("Writer \($0 % 3)")] }
    }

    @Test(
        "are counted by the verification, and the migration ends",
        arguments: [VerifyMode.full, .quick, .none])
    func counted(verify: VerifyMode) throws {
        let folder = try TemporaryFolder()
        try write(to: folder)
        let configuration = Configuration.allowingLosses {
            $0.target = "App 3"
            $0.verification = verify
        }
        let migrator = try Migrator(
            store: URL(fileURLWithPath: folder.file("App.sqlite")),
            models: [.url(URL(fileURLWithPath: folder.file("App.xcdatamodeld")))],
            mappings: [URL(fileURLWithPath: folder.file("Two.json"))])
        #expect(try migrator.plan(configuration).steps.map(\.mode) == [.copy, .inPlace])
        let report = try migrator.migrate(configuration)
        let last = try #require(report.entityMappings.last)
        #expect(last.read == 3 && last.written == 3 && last.isEstimated != true)
        let store = try Connection(path: folder.file("App.sqlite"), mode: .readOnly)
        #expect(try store.integer("SELECT count(*) FROM ZBOOK WHERE ZPAGES IS NULL") == 3)
    }
}
