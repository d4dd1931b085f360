import Ferry
import FerryBase
import FerryModel
import FerrySQLite
import FerryStore
import Foundation
import TestSupport
import Testing

/// Preflight checks rows against the requirements of intermediate versions before the run writes.
@Suite("Preflight of a composed chain")
struct ComposedPreflightTests {
    /// Migrates over three versions of one entity; only the second has the given definition.
    private func refusal(second: String, rows: String, composes: Bool = true, steps: Int? = nil) throws -> FerryError? {
        let folder = try TemporaryFolder()
        let bundle = folder.file("Model.xcdatamodeld")
        let title = #"<attribute name="title" optional="YES" attributeType="String"/>"#
        let entities = [
            "<entity name=\"Book\">\(title)</entity>", second,
            "<entity name=\"Book\">\(title)<attribute name=\"last\" optional=\"YES\" attributeType=\"String\"/></entity>",
        ]
        for (index, entity) in entities.enumerated() {
            let version = "\(bundle)/Model \(index + 1).xcdatamodel"
            try FileManager.default.createDirectory(atPath: version, withIntermediateDirectories: true)
            let text = """
                <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
                <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">\(entity)</model>
                """
            try Data(text.utf8).write(to: URL(fileURLWithPath: version + "/contents"))
        }
        let catalog = try ModelCatalog(paths: [bundle])
        let store = try StoreBuilder(catalog.version(named: "Model 1").model)
        try store.execute(rows)
        let migrator = try Migrator(
            store: URL(fileURLWithPath: store.path), models: [.url(URL(fileURLWithPath: bundle))])
        var configuration = Configuration.allowingLosses {
            $0.target = "Model 3"
            $0.composition = composes
        }
        // A direct step would not check the requirements of the version in between.
        configuration.chain = .versions(["Model 1", "Model 2", "Model 3"])
        let plan = try migrator.plan(configuration, checksRows: true)
        #expect(plan.steps.count == steps ?? (composes ? 1 : 2))
        return plan.refusals.first
    }

    @Test("refuses duplicates under a uniqueness constraint that only an intermediate version has")
    func unique() throws {
        let second = """
            <entity name="Book"><attribute name="title" optional="YES" attributeType="String"/>
            <uniquenessConstraints><uniquenessConstraint><constraint value="title"/></uniquenessConstraint>
            </uniquenessConstraints></entity>
            """
        let rows = "INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE) VALUES (1, 1, 1, 'a'), (2, 1, 1, '%')"
        for composes in [true, false] {
            let same = rows.replacingOccurrences(of: "%", with: "a")
            #expect(try refusal(second: second, rows: same, composes: composes)?.code == .notUnique)
            let other = rows.replacingOccurrences(of: "%", with: "b")
            #expect(try refusal(second: second, rows: other, composes: composes) == nil)
        }
    }

    @Test("refuses rows without a value that only an intermediate version requires, in a step of its own")
    func mandatory() throws {
        let second = #"<entity name="Book"><attribute name="title" attributeType="String"/></entity>"#
        for composes in [true, false] {
            let error = try refusal(
                second: second, rows: "INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE) VALUES (1, 1, 1, NULL)",
                composes: composes, steps: 2)
            #expect(error?.code == .mandatoryValue && error?.place.property == "title")
        }
    }

    @Test("refuses rows of an entity that gains a mandatory attribute and loses it again")
    func withoutSource() throws {
        let second = """
            <entity name="Book"><attribute name="title" optional="YES" attributeType="String"/>
            <attribute name="code" attributeType="String"/></entity>
            """
        for composes in [true, false] {
            let error = try refusal(
                second: second, rows: "INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT) VALUES (1, 1, 1)", composes: composes)
            #expect(error?.code == .mandatoryValue && error?.place.property == "code")
        }
    }
}
