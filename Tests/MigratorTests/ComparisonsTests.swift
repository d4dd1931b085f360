import Ferry
import FerryBase
import FerryModel
import FerrySQLite
import FerryStore
import Foundation
import TestSupport
import Testing

/// Mappings that compare all objects of one entity with all of another one: told by the plan, and refused for many.
@Suite("Comparisons")
struct ComparisonsTests {
    private static let entities = """
        <entity name="Kind"><attribute name="id" optional="YES" attributeType="Integer 64"/></entity>\
        <entity name="Post"><attribute name="typeid" optional="YES" attributeType="Integer 64"/>%</entity>
        """

    private static let kinds =
        "FETCH(FUNCTION($manager, 'fetchRequestForSourceEntityNamed:predicateString:', 'Kind', 'TRUEPREDICATE'), "
        + "$manager.sourceContext, NO)"

    /// Returns the plan for a store with a number of rows in both entities.
    private func plan(_ value: String, rows: Int64, allows: Bool = false) throws -> PlanReport {
        let folder = try TemporaryFolder()
        let more = "<attribute name=\"found\" optional=\"YES\" attributeType=\"Integer 32\"/>"
        try folder.writeVersion("App 1", Self.entities.replacingOccurrences(of: "%", with: ""))
        try folder.writeVersion("App 2", Self.entities.replacingOccurrences(of: "%", with: more))
        try FileLayer().replace(
            folder.file("Map.json"),
            with: Array(
                """
                { "source": "App 1", "destination": "App 2", "entityMappings": [
                    { "name": "KindToKind", "source": "Kind", "destination": "Kind" },
                    { "name": "PostToPost", "source": "Post", "destination": "Post",
                      "attributes": { "found": "\(value)" } } ] }
                """.utf8))
        let store = try StoreBuilder(try folder.appVersion("App 1").model, maximumKeys: ["Kind": rows, "Post": rows])
        for (number, table) in ["ZKIND", "ZPOST"].enumerated() {
            try store.execute(
                """
                WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < \(rows))
                INSERT INTO \(table) (Z_PK, Z_ENT, Z_OPT) SELECT k, \(number + 1), 1 FROM n
                """)
        }
        let migrator = try Migrator(
            store: URL(fileURLWithPath: store.path),
            models: [.url(URL(fileURLWithPath: folder.file("App.xcdatamodeld")))],
            mappings: [URL(fileURLWithPath: folder.file("Map.json"))])
        return try migrator.plan(
            Configuration.allowingLosses {
                $0.target = "App 2"
                $0.allowsQuadratic = allows
            }, checksRows: true)
    }

    @Test(
        "An equality, or a fetch without the source object, compares nothing",
        arguments: [
            "SUBQUERY(%, $t, $t.id == $source.typeid).@count", "SUBQUERY(%, $t, $t.id > 3).@count", "%.@count",
            "TERNARY($source.typeid IN %.id, 1, 0)", "TERNARY(ANY %.id == $source.typeid, 1, 0)",
        ])
    func fast(_ value: String) throws {
        let plan = try plan(value.replacingOccurrences(of: "%", with: Self.kinds), rows: 40_000)
        #expect(plan.refusals.isEmpty && !plan.warnings.contains { $0.code == .quadratic }, "\(plan.warnings)")
    }

    @Test(
        "Other conditions are told with their number and time, and refused above a billion",
        arguments: [
            "SUBQUERY(%, $t, $t.id > $source.typeid).@count",
            "SUBQUERY(%, $t, $t.id == $source.typeid OR $t.id == 1).@count",
            "TERNARY(ANY %.id > $source.typeid, 1, 0)", "TERNARY(ALL %.id == $source.typeid, 1, 0)",
        ])
    func slow(_ value: String) throws {
        let value = value.replacingOccurrences(of: "%", with: Self.kinds)
        let few = try plan(value, rows: 100)
        #expect(few.refusals.isEmpty && !few.warnings.contains { $0.code == .quadratic })
        let some = try plan(value, rows: 2_000)
        let warning = try #require(some.warnings.first { $0.code == .quadratic })
        #expect(some.refusals.isEmpty && warning.message.contains("4,000,000 comparisons, about"), "\(warning)")
        #expect(warning.subject.entityMapping == "PostToPost")
        let many = try plan(value, rows: 40_000)
        let refusal = try #require(many.refusals.first)
        #expect(many.refusals.count == 1 && refusal.code == .quadratic)
        #expect(refusal.message.contains("1,600,000,000 comparisons"), "\(refusal)")
        #expect(refusal.remedy.settings.map(\.name) == [.allowsQuadratic])
        let allowed = try plan(value, rows: 40_000, allows: true)
        #expect(allowed.refusals.isEmpty && allowed.warnings.contains { $0.code == .quadratic })
    }
}
