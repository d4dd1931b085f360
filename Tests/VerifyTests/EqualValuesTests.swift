import FerryBase
import FerryExpression
import FerryMapping
import FerryModel
import FerrySQLite
import FerryStore
import FerryVerify
import TestSupport
import Testing

/// Items that count, and find, the kinds of the same value: verification looks the values up, and misses none.
@Suite("Look-ups of equal values")
struct EqualValuesTests {
    private struct Rule: Sendable {
        var name: String
        var expression: String
        /// The expected value of an item, by literal comparison with each kind.
        var expected: @Sendable (Row, [Row]) -> Int64
    }

    /// An item or a kind: a double or an integer, and a code.
    private struct Row: Sendable {
        var number: String
        var code: String?
        var parent: Int64?

        /// The number as the evaluator compares it: exactly; nil for NULL.
        func isSameNumber(_ other: Row) -> Bool {
            if number == "NULL" || other.number == "NULL" { return number == other.number }
            if let one = Int64(number), let two = Int64(other.number) { return one == two }
            // All integers of this test that meet a fraction or an exponent are doubles without rounding.
            return Double(number) == Double(other.number)
        }
    }

    private static let kinds: [Row] = [
        Row(number: "1", code: "abc", parent: 1), Row(number: "0", code: "", parent: nil),
        Row(number: "NULL", code: nil, parent: 77), Row(number: "-5", code: "ABC", parent: 2),
        Row(number: "9007199254740992", code: "1", parent: 1), Row(number: "1", code: "ÄB", parent: 3),
        Row(number: "NULL", code: "ab", parent: nil), Row(number: "9223372036854775807", code: "abc", parent: 2),
    ]

    private static let items: [Row] = [
        Row(number: "1.0", code: "abc"), Row(number: "1.5", code: "Abc"), Row(number: "NULL", code: nil),
        Row(number: "-0.0", code: ""), Row(number: "9007199254740992.0", code: "1"), Row(number: "-5.0", code: "äb"),
        Row(number: "1e300", code: "x"), Row(number: "1.0", code: "ab"),
    ]

    private static let all =
        "FETCH(FUNCTION($manager, 'fetchRequestForSourceEntityNamed:predicateString:', 'Kind', 'TRUEPREDICATE'), "
        + "$manager.sourceContext, NO)"

    private static func fetch(_ predicate: String) -> String { all.replacing("TRUEPREDICATE", with: predicate) }

    private static let rules: [Rule] = [
        Rule(
            name: "sameNumber", expression: "SUBQUERY(\(all), $k, $k.number == $source.number).@count",
            expected: { item, kinds in Int64(kinds.count { $0.isSameNumber(item) }) }),
        Rule(
            name: "sameCode",
            expression: "SUBQUERY(\(all), $k, $source.code == $k.code AND $k.number != -5).@count",
            expected: { item, kinds in Int64(kinds.count { $0.code == item.code && $0.number != "-5" }) }),
        Rule(
            name: "foldedCode", expression: "SUBQUERY(\(all), $k, $k.code ==[c] $source.code).@count",
            expected: { item, kinds in Int64(kinds.count { $0.code?.lowercased() == item.code?.lowercased() }) }),
        Rule(
            name: "fetched", expression: fetch("code == $source.code") + ".@count",
            expected: { item, kinds in Int64(kinds.count { $0.code == item.code }) }),
        Rule(
            name: "anyNumber", expression: "TERNARY(ANY \(all).number == $source.number, 1, 0)",
            expected: { item, kinds in kinds.contains { $0.isSameNumber(item) } ? 1 : 0 }),
        Rule(
            name: "noCode", expression: "TERNARY(NONE \(all).code == $source.code, 1, 0)",
            expected: { item, kinds in kinds.contains { $0.code == item.code } ? 0 : 1 }),
        Rule(
            name: "inCodes", expression: "TERNARY($source.code IN \(all).code, 1, 0)",
            expected: { item, kinds in kinds.contains { $0.code == item.code } ? 1 : 0 }),
        Rule(
            name: "siblings", expression: "SUBQUERY(\(all), $k, $k.parent == $source.parent).@count",
            expected: { item, kinds in
                // A key without object is nil.
                func parent(_ row: Row) -> Int64? { row.parent.flatMap { $0 <= kinds.count ? $0 : nil } }
                return Int64(kinds.count { parent($0) == parent(item) })
            }),
    ]

    private let folder: TemporaryFolder
    private let step: ResolvedStep
    private let items: [Row]

    private static func version(_ name: String, _ entities: [Entity]) -> ModelVersion {
        let model = ManagedObjectModel(versionIdentifiers: [name], entities: entities)
        return ModelVersion(
            name: name, bundle: nil, path: "/\(name)", isCurrent: false, model: model,
            hashes: VersionHash.hashes(of: model))
    }

    private static func attribute(_ name: String, _ type: AttributeType) -> Attribute {
        Attribute(name: name, type: type, isOptional: true)
    }

    init() throws {
        folder = try TemporaryFolder()
        func toOne(_ name: String, _ inverse: String, toMany: Bool = false) -> Relationship {
            Relationship(
                name: name, destinationEntity: "Kind", inverseName: inverse, inverseEntity: "Kind", isOptional: true,
                maxCount: toMany ? 0 : 1)
        }
        let kind = Entity(
            name: "Kind", attributes: [Self.attribute("number", .integer64), Self.attribute("code", .string)],
            relationships: [
                toOne("parent", "children"), toOne("children", "parent", toMany: true),
                Relationship(
                    name: "items", destinationEntity: "Item", inverseName: "parent", inverseEntity: "Item",
                    isOptional: true, maxCount: 0),
            ])
        let item = Entity(
            name: "Item", attributes: [Self.attribute("number", .double), Self.attribute("code", .string)],
            relationships: [toOne("parent", "items")])
        let first = Self.version("1", [item, kind])
        let second = Self.version(
            "2", [Entity(name: "Item", attributes: Self.rules.map { Self.attribute($0.name, .integer64) })])
        let mapping = ResolvedEntityMapping(
            position: 0, mappingModel: 0, name: "Items", source: "Item", destination: "Item", filter: nil,
            iteration: nil, unique: [],
            attributes: try Self.rules.map {
                ResolvedAttribute(name: $0.name, expression: try Expression.parse($0.expression))
            }, relationships: [], keepsPrimaryKey: true)
        step = ResolvedStep(source: first, destination: second, mappingModels: [], entityMappings: [mapping])
        items = Self.items.enumerated().map { number, item in
            var item = item
            item.parent = number == 0 ? nil : number == 1 ? 78 : Int64(1 + number % 3)
            return item
        }
        func text(_ value: String?) -> String { value.map { "'\($0)'" } ?? "NULL" }
        func key(_ value: Int64?) -> String { value.map { String($0) } ?? "NULL" }
        func rows(_ table: String, _ number: Int, _ rows: [Row]) -> String {
            rows.enumerated().map { index, row in
                "INSERT INTO \(table) (Z_PK, Z_ENT, Z_OPT, ZNUMBER, ZCODE, ZPARENT) VALUES "
                    + "(\(index + 1), \(number), 1, \(row.number), \(text(row.code)), \(key(row.parent)));"
            }.joined()
        }
        let metadata = StoreMetadata.new(for: first, uuid: "0B9C3F5E-8E2D-4B6A-9C1D-2F3A4B5C6D7E")
        try Library.create(
            folder.path + "/source.sqlite", try StoreLayout.canonical(for: first.model), ["Item": 8, "Kind": 8],
            metadata, rows("ZITEM", 1, items) + rows("ZKIND", 2, Self.kinds))
        let columns = Self.rules.map { "Z" + $0.name.uppercased() }.joined(separator: ", ")
        let values = items.enumerated().map { index, item in
            let found = Self.rules.map { String($0.expected(item, Self.kinds)) }.joined(separator: ", ")
            return "INSERT INTO ZITEM (Z_PK, Z_ENT, Z_OPT, \(columns)) VALUES (\(index + 1), 1, 1, \(found));"
        }
        try Library.create(
            folder.path + "/destination.sqlite", try StoreLayout.canonical(for: second.model), ["Item": 8],
            metadata.restamped(for: second), values.joined())
    }

    private func verify(_ trace: TraceHook? = nil) throws -> VerificationSummary {
        var verification = Verification(
            mode: .full, step: step, sourcePath: folder.path + "/source.sqlite", isSourcePrivate: false,
            destinationPath: folder.path + "/destination.sqlite", workFolder: folder.path, counts: nil, now: 0,
            trace: trace)
        verification.jobs = 1
        return try verification.run()
    }

    @Test("Values are looked up instead of compared with each object, and none is missed")
    func findsEqualValues() throws {
        let statements = SharedList<String>()
        let report = try verify { event in statements.append(event.text) }
        #expect(report.differences == [])
        #expect(statements.all.filter { $0.contains("CREATE TABLE temp.equal_values_") }.count == 4)
    }

    @Test("A wrong value is found by each rule", arguments: 0..<8)
    func findsWrongValues(_ rule: Int) throws {
        let column = "Z" + Self.rules[rule].name.uppercased()
        try Connection(path: folder.path + "/destination.sqlite", mode: .readWrite).execute(
            "UPDATE ZITEM SET \(column) = \(column) + 1 WHERE Z_PK IN (1, 2, 5, 8)")
        let found = try verify().differences
        #expect(found.map(\.count) == [4] && found.map(\.check) == [.rows], "\(found)")
    }
}
