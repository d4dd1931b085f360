import Ferry
import FerryBase
import FerrySQLite
import Foundation
import TestSupport
import Testing

/// A many-to-many relationship of an entity with itself: no rule gives the join table's name.
@Suite("The choice of a join table's name")
struct JoinTableChoiceTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        let title = #"<attribute name="title" optional="YES" attributeType="String"/>"#
        let links = [("near", "nearBy"), ("nearBy", "near")].map { name, inverse in
            #"<relationship name="\#(name)" optional="YES" toMany="YES" destinationEntity="Book" "#
                + #"inverseName="\#(inverse)" inverseEntity="Book"/>"#
        }
        try folder.writeVersion("App 1", #"<entity name="Book">\#(title)</entity>"#)
        try folder.writeVersion("App 2", #"<entity name="Book">\#(title)\#(links.joined())</entity>"#)
        let text = """
            { "source": "App 1", "destination": "App 2", "entityMappings": [
              { "name": "BookToBook", "source": "Book", "destination": "Book",
                "relationships": { "near": { "mapping": "BookToBook", "from": "$source" } } } ] }
            """
        try FileLayer().replace(folder.file("Map.json"), with: Array(text.utf8))
        try folder.makeBooks(
            rows: 12, form: .plain, uuid: "6C1D3E0A-0000-4000-8000-000000000018", hasModelCache: true,
            columns: ["ZTITLE"]
        ) { [.text("Book \($0)")] }
    }

    private func migrate(
        _ side: String, to output: String? = nil, stop: StopRequest = StopRequest()
    ) throws -> MigrationReport {
        try Migrator(
            store: URL(fileURLWithPath: folder.file("App.sqlite")),
            models: [.url(URL(fileURLWithPath: folder.file("App.xcdatamodeld")))],
            mappings: [URL(fileURLWithPath: folder.file("Map.json"))]
        ).migrate(
            Configuration.allowingLosses {
                $0.target = "App 2"
                $0.joinTables = ["Book.\(side)"]
                $0.output = output.map { URL(fileURLWithPath: folder.file($0)) }
                $0.snapshots.form = .none
            },
            stop: stop
        ) {
            if side == "near", output == nil, case .phase(.relationships, _) = $0 {
                stop.request(FerryError(.interrupted, "Enough."))
            }
        }
    }

    @Test("A run cannot be resumed with another name")
    func resumes() throws {
        #expect(throws: FerryError.self) { try migrate("near") }
        let error = #expect(throws: FerryError.self) { try migrate("nearBy") }
        #expect(error?.code == .runDiffers && error?.message.contains("join tables") == true)
        #expect(try StoreFiles(URL(fileURLWithPath: folder.file("App.sqlite"))).status().state == .interrupted)
    }

    @Test("An output with another name is refused")
    func output() throws {
        #expect(try migrate("near", to: "New.sqlite").outcome == .migrated)
        #expect(try migrate("near", to: "New.sqlite").outcome != .migrated)
        let error = #expect(throws: FerryError.self) { try migrate("nearBy", to: "New.sqlite") }
        #expect(error?.code == .outputExists)
    }
}
