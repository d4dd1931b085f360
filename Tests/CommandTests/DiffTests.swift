internal import FerryBase
internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import FerryCommand

/// `ferry diff` on pairs of models, one pair for each kind of change, inferable or not.
@Suite("ferry diff")
struct DiffTests {
    /// A change of a model of two entities, its name in `diff`, and whether a mapping can be inferred.
    struct Row: Sendable, CustomTestStringConvertible {
        var what: String
        var from: String
        var to: String
        var kinds: Set<String>
        var inferable = true
        var reason: String?

        var testDescription: String { what }
    }

    private static func entity(_ name: String, _ content: String, _ attributes: String = "") -> String {
        "<entity name=\"\(name)\" \(attributes)>\(content)</entity>"
    }

    private static func attribute(_ name: String, _ type: String = "String", _ more: String = "optional=\"YES\"")
        -> String
    { "<attribute name=\"\(name)\" attributeType=\"\(type)\" \(more)/>" }

    /// Returns a relationship of Book to Author, and its inverse.
    private static func library(_ toAuthor: String, _ toBook: String) -> String {
        entity(
            "Author",
            "<relationship name=\"books\" optional=\"YES\" destinationEntity=\"Book\" inverseName=\"author\" "
                + "inverseEntity=\"Book\" \(toBook)/>")
            + entity(
                "Book",
                "<relationship name=\"author\" optional=\"YES\" destinationEntity=\"Author\" inverseName=\"books\" "
                    + "inverseEntity=\"Author\" \(toAuthor)/>")
    }

    static let rows: [Row] = [
        Row(
            what: "add optional attribute", from: entity("A", attribute("x")),
            to: entity("A", attribute("x") + attribute("y")), kinds: ["attributeAdded"]),
        Row(
            what: "add mandatory attribute with default", from: entity("A", attribute("x")),
            to: entity("A", attribute("x") + attribute("y", "Integer 16", "defaultValueString=\"3\"")),
            kinds: ["attributeAdded"]),
        Row(
            what: "add mandatory attribute without default", from: entity("A", attribute("x")),
            to: entity("A", attribute("x") + attribute("y", "Integer 16", "")), kinds: ["attributeAdded"],
            reason: "no default value"),
        Row(
            what: "remove attribute", from: entity("A", attribute("x") + attribute("y")),
            to: entity("A", attribute("x")), kinds: ["attributeRemoved"]),
        Row(
            what: "mandatory to optional", from: entity("A", attribute("x", "String", "")),
            to: entity("A", attribute("x")), kinds: ["attributeMadeOptional"]),
        Row(
            what: "optional to mandatory with default", from: entity("A", attribute("x")),
            to: entity("A", attribute("x", "String", "defaultValueString=\"a\"")),
            kinds: ["attributeMadeMandatory", "defaultValueChanged"]),
        Row(
            what: "optional to mandatory without default", from: entity("A", attribute("x")),
            to: entity("A", attribute("x", "String", "")), kinds: ["attributeMadeMandatory"],
            reason: "no default value"),
        Row(
            what: "rename attribute", from: entity("A", attribute("x")),
            to: entity("A", attribute("y", "String", "optional=\"YES\" elementID=\"x\"")), kinds: ["attributeRenamed"]),
        Row(
            what: "rename entity", from: entity("A", attribute("x")),
            to: entity("B", attribute("x"), "elementID=\"A\""), kinds: ["entityRenamed"]),
        Row(
            what: "number to number", from: entity("A", attribute("x", "Integer 16")),
            to: entity("A", attribute("x", "Double")), kinds: ["attributeTypeChanged"]),
        Row(
            what: "number to text", from: entity("A", attribute("x", "Integer 16")),
            to: entity("A", attribute("x", "String")), kinds: ["attributeTypeChanged"], inferable: false,
            reason: "incompatible"),
        Row(
            what: "stored to transient", from: entity("A", attribute("x")),
            to: entity("A", attribute("x", "String", "optional=\"YES\" transient=\"YES\"")),
            kinds: ["attributeMadeTransient"]),
        Row(
            what: "add relationship", from: entity("A", "") + entity("B", ""),
            to: entity("A", "<relationship name=\"b\" optional=\"YES\" maxCount=\"1\" destinationEntity=\"B\"/>")
                + entity("B", ""), kinds: ["relationshipAdded"]),
        Row(
            what: "to-one to to-many", from: library("maxCount=\"1\"", "maxCount=\"1\""),
            to: library("maxCount=\"1\"", "toMany=\"YES\""), kinds: ["relationshipMadeToMany"]),
        Row(
            what: "to-many to to-one", from: library("maxCount=\"1\"", "toMany=\"YES\""),
            to: library("maxCount=\"1\"", "maxCount=\"1\""), kinds: ["relationshipMadeToOne"], inferable: false,
            reason: "cannot become to-one"),
        Row(
            what: "unordered to ordered", from: library("maxCount=\"1\"", "toMany=\"YES\""),
            to: library("maxCount=\"1\"", "toMany=\"YES\" ordered=\"YES\""), kinds: ["relationshipMadeOrdered"]),
        Row(
            what: "other destination entity",
            from: entity("A", "<relationship name=\"r\" optional=\"YES\" maxCount=\"1\" destinationEntity=\"B\"/>")
                + entity("B", "") + entity("C", ""),
            to: entity("A", "<relationship name=\"r\" optional=\"YES\" maxCount=\"1\" destinationEntity=\"C\"/>")
                + entity("B", "") + entity("C", ""), kinds: ["destinationEntityChanged"], inferable: false,
            reason: "not objects of its new destination C"),
        Row(what: "add entity", from: entity("A", ""), to: entity("A", "") + entity("B", ""), kinds: ["entityAdded"]),
        Row(
            what: "remove entity", from: entity("A", "") + entity("B", ""), to: entity("A", ""),
            kinds: ["entityRemoved"]),
        Row(
            what: "new parent entity", from: entity("A", attribute("x")),
            to: entity("P", attribute("x")) + entity("A", "", "parentEntity=\"P\""),
            kinds: ["entityAdded", "entityMoved", "attributeMoved"]),
        Row(
            what: "merge hierarchies", from: entity("A", "") + entity("B", ""),
            to: entity("P", "", "isAbstract=\"YES\"") + entity("A", "", "parentEntity=\"P\"")
                + entity("B", "", "parentEntity=\"P\""), kinds: ["entityAdded", "entityMoved"], inferable: false,
            reason: "merged"),
        Row(
            what: "new uniqueness constraint", from: entity("A", attribute("x")),
            to: entity(
                "A",
                attribute("x") + "<uniquenessConstraints><uniquenessConstraint><constraint value=\"x\"/>"
                    + "</uniquenessConstraint></uniquenessConstraints>"), kinds: ["uniquenessConstraintsChanged"],
            reason: "uniqueness"),
        Row(
            what: "new index", from: entity("A", attribute("x")),
            to: entity(
                "A", attribute("x") + "<fetchIndex name=\"byX\"><fetchIndexElement property=\"x\"/></fetchIndex>"),
            kinds: ["indexesChanged"]),
        Row(
            what: "delete rule", from: library("maxCount=\"1\"", "toMany=\"YES\" deletionRule=\"Nullify\""),
            to: library("maxCount=\"1\"", "toMany=\"YES\" deletionRule=\"Cascade\""), kinds: ["deleteRuleChanged"]),
        Row(
            what: "class name and user info", from: entity("A", attribute("x")),
            to: entity("A", attribute("x") + "<userInfo><entry key=\"k\" value=\"v\"/></userInfo>"), kinds: []),
    ]

    private static func model(_ entities: String, in folder: TemporaryFolder, _ name: String) throws -> String {
        let path = folder.file("\(name).xcdatamodel")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?><model userDefinedModelVersionIdentifier=\"\">"
        try (xml + entities + "</model>").write(toFile: path + "/contents", atomically: true, encoding: .utf8)
        return path
    }

    @Test("Each kind of change is named, with whether a mapping can be inferred", arguments: rows)
    func tells(_ row: Row) throws {
        let folder = try TemporaryFolder()
        let words = [
            "diff", try Self.model(row.from, in: folder, "Old"), try Self.model(row.to, in: folder, "New"),
        ]
        let captured = Captured.run(words, isJSON: true)
        #expect(captured.exitCode == .success, "\(captured.output)")
        let difference = try JSONDecoder().decode(Difference.self, from: Data(captured.output.utf8))
        #expect(Set(difference.changes.map(\.kind)) == row.kinds)
        #expect(difference.changes.allSatisfy(\.inferable) == row.inferable)
        if let reason = row.reason {
            #expect(difference.changes.contains { $0.reason?.contains(reason) == true })
        } else {
            #expect(difference.changes.allSatisfy { $0.reason == nil })
        }
        let text = Captured.run(words).output
        #expect(difference.changes.allSatisfy { text.contains($0.entity) })
        #expect(
            row.inferable
                ? text.contains("no mapping model is needed") || text.contains("same version hashes")
                : text.contains("a mapping model; the others can be inferred"))
    }

    @Test("Versions without a common entity cannot be inferred, as plan says")
    func nothingInCommon() throws {
        let folder = try TemporaryFolder()
        let old = try Self.model(Self.entity("A", Self.attribute("x")), in: folder, "Old")
        let new = try Self.model(Self.entity("B", Self.attribute("x")), in: folder, "New")
        let told = Captured.run(["diff", old, new])
        #expect(told.output.contains("They have no entity in common."), "\(told.output)")
        let json = Captured.run(["diff", old, new], isJSON: true)
        #expect(json.output.contains("\"inferable\": false,\n  \"changes\""), "\(json.output)")
    }

    @Test("A bundle's current version is not older than its other versions, whatever their names")
    func currentVersion() throws {
        let app = try RouteFolder()
        try app.model("App", "App 9", RouteFolder.entity("A", "x"))
        try app.model("App", "App Final", RouteFolder.entity("A", "x", "y"))
        for (current, isTold) in [("App 9", false), ("App Final", true)] {
            try app.current("App", current)
            let told = try app.run("diff", "App.xcdatamodeld:App Final", "App.xcdatamodeld:App 9")
            #expect(told.output.contains("App Final is newer than App 9.") == isTold, "\(told.output)")
        }
    }

    @Test("A generated store is accepted instead of its cached model; a store without a model is refused")
    func takesStores() throws {
        let folder = try TemporaryFolder()
        let rows = Self.rows[0]
        let (old, new) = (try Self.model(rows.from, in: folder, "Old"), try Self.model(rows.to, in: folder, "New"))
        let store = folder.file("Old.sqlite")
        #expect(Captured.run(["generate", old, "--rows", "1", "--output", store]).exitCode == .success)
        let captured = Captured.run(["diff", store, new], isJSON: true)
        #expect(captured.exitCode == .success, "\(captured.output)")
        let difference = try JSONDecoder().decode(Difference.self, from: Data(captured.output.utf8))
        #expect(difference.from == "Old.sqlite" && difference.to == "New")
        #expect(difference.changes.map(\.kind) == ["attributeAdded"])
        let same = Captured.run(["diff", old, store])
        #expect(same.output.contains("same version hashes"))
    }

    private struct Difference: Decodable {
        struct Change: Decodable {
            var entity: String
            var kind: String
            var inferable: Bool
            var reason: String?
        }
        var from, to: String
        var changes: [Change]
    }
}
