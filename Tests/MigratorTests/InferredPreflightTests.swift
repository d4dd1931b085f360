import Ferry
import FerryBase
import FerryModel
import FerrySQLite
import FerryStore
import Foundation
import TestSupport
import Testing

/// Preflight counts the rows that break an inferred step's requirements before the run writes.
@Suite("Preflight of inferred steps")
struct InferredPreflightTests {
    private static func contents(_ entities: String) -> String {
        """
        <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
        <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
        \(entities)
        </model>
        """
    }

    /// Migrates three books: two with one title, one without a title and without a year.
    private func migrate(to entities: [String]) throws -> (
        outcome: Result<MigrationReport, any Error>, store: String, folder: TemporaryFolder
    ) {
        let folder = try TemporaryFolder()
        let first = """
            <entity name="Book"><attribute name="title" optional="YES" attributeType="String"/>
            <attribute name="year" optional="YES" attributeType="Integer 16"/></entity>
            """
        let bundle = folder.file("Model.xcdatamodeld")
        for (index, entities) in ([first] + entities).enumerated() {
            let version = "\(bundle)/V\(index + 1).xcdatamodel"
            try FileManager.default.createDirectory(atPath: version, withIntermediateDirectories: true)
            try Self.contents(entities).write(toFile: "\(version)/contents", atomically: true, encoding: .utf8)
        }
        let catalog = try ModelCatalog(paths: [bundle])
        let store = folder.file("Store.sqlite")
        try makeStore(store, of: try catalog.version(named: "V1"))
        let before = try Data(contentsOf: URL(fileURLWithPath: store))
        let migrator = try Migrator(
            store: URL(fileURLWithPath: store), models: [.url(URL(fileURLWithPath: bundle))], mappings: [])
        let outcome = Result { try migrator.migrate(.allowingLosses { $0.target = "V\(entities.count + 1)" }) }
        if case .failure = outcome { #expect(try Data(contentsOf: URL(fileURLWithPath: store)) == before) }
        return (outcome, store, folder)
    }

    private func makeStore(_ path: String, of version: ModelVersion) throws {
        let connection = try Connection(path: path, mode: .create)
        let layout = try StoreLayout.canonical(for: version.model)
        try StoreCreation.prepare(connection)
        try StoreCreation.createTables(of: layout, on: connection, hasModelCache: false)
        try StoreCreation.writeEntityNumbers(of: layout, maximumKeys: ["Book": 3], on: connection)
        try StoreMetadata.new(for: version, uuid: "6C1D3E0A-0000-4000-8000-000000000001").write(to: connection)
        try connection.execute(
            """
            INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZYEAR) VALUES (1, 1, 1, 'A', 1), (2, 1, 1, 'A', 2),
                (3, 1, 1, NULL, NULL)
            """)
    }

    private static let title = #"<attribute name="title" optional="YES" attributeType="String"/>"#
    private static let year = #"<attribute name="year" optional="YES" attributeType="Integer 16"/>"#

    @Test(
        "Rows that break the new model's requirements are refused with their counts",
        arguments: [
            (
                [
                    "\(title)\(year)<uniquenessConstraints><uniquenessConstraint><constraint value=\"title\"/></uniquenessConstraint></uniquenessConstraints>"
                ],
                FerryError.Code.notUnique, "2 rows share 1 value"
            ),
            (
                [#"\#(title)<attribute name="year" attributeType="Integer 16"/>"#], .mandatoryValue,
                "has no value in 1 row"
            ),
            (
                [#"\#(title)\#(year)<attribute name="isbn" attributeType="String"/>"#], .mandatoryValue, "Book.isbn"
            ),
            // The rows of the first step give this result before the step runs.
            (
                [title, #"\#(title)<attribute name="isbn" attributeType="String"/>"#], .mandatoryValue, "Book.isbn"
            ),
        ])
    func refuses(properties: [String], code: FerryError.Code, words: String) throws {
        let (outcome, _, _) = try migrate(to: properties.map { "<entity name=\"Book\">\($0)</entity>" })
        let error = #expect(throws: FerryError.self) { try outcome.get() }
        #expect(error?.code == code)
        #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
        #expect(error?.remedy.isEmpty == false)
    }

    @Test("Rows of an entity that becomes abstract are refused")
    func refusesAbstract() throws {
        let (outcome, _, _) = try migrate(to: ["<entity name=\"Book\" isAbstract=\"YES\">\(Self.title)</entity>"])
        let error = #expect(throws: FerryError.self) { try outcome.get() }
        #expect(error?.message.contains("Book has 3 rows") == true)
    }

    @Test("Valid rows pass: a constraint over distinct values and nil, and a default instead of nil")
    func passes() throws {
        let (outcome, store, folder) = try migrate(to: [
            """
            <entity name="Book">\(Self.title)
            <attribute name="year" attributeType="Integer 16" defaultValueString="9"/>
            <uniquenessConstraints><uniquenessConstraint><constraint value="year"/></uniquenessConstraint>
            <uniquenessConstraint><constraint value="title"/><constraint value="year"/></uniquenessConstraint>
            </uniquenessConstraints></entity>
            """
        ])
        let report = try outcome.get()
        #expect(report.outcome == .migrated && report.verification.differences.isEmpty)
        let years = try Connection(path: store, mode: .readWrite).rows("SELECT ZYEAR FROM ZBOOK ORDER BY Z_PK")
        #expect(years == [[.integer(1)], [.integer(2)], [.integer(9)]])
        // The folder is removed with its last reference.
        withExtendedLifetime(folder) {}
    }
}
