import FerryBase
import FerryModel
import Foundation
import TestSupport
import Testing

@Suite("The XML of a model")
struct SourceModelWriterTests {
    private static func model(_ attributes: [Attribute], _ relationships: [Relationship] = []) -> ManagedObjectModel {
        ManagedObjectModel(
            versionIdentifiers: ["1 & 2"],
            entities: [Entity(name: "Book", attributes: attributes, relationships: relationships)])
    }

    private func written(_ model: ManagedObjectModel) throws -> SourceModelWriter {
        try SourceModelWriter(model, hashes: VersionHash.hashes(of: model))
    }

    @Test("An attribute with every setting comes back, in Xcode's order")
    func wholeAttribute() throws {
        var attribute = Attribute(
            name: "title", type: .string, isOptional: true, defaultValue: .text("\"a\" <b>\n& c\t"),
            preservesValueAfterDeletion: true, isIndexed: true, renamingIdentifier: "old", userInfo: ["k": "v'"])
        attribute.versionHashModifier = "m"
        attribute.validation = AttributeValidation(minimum: 1, maximum: 2.5, pattern: "[a-z]*")
        let text = try #require(String(bytes: written(Self.model([attribute])).bytes, encoding: .utf8))
        let line = try #require(text.split(separator: "\n").first { $0.contains("<attribute") })
        #expect(
            line == """
                        <attribute name="title" optional="YES" attributeType="String" minValueString="1" \
                maxValueString="2.5" defaultValueString="&quot;a&quot; &lt;b&gt;&#10;&amp; c&#9;" \
                regularExpressionString="[a-z]*" indexed="YES" elementID="old" preserveAfterDeletion="YES" \
                versionHashModifier="m" syncable="YES">
                """)
        let again = try SourceModel.read(Array(text.utf8), path: "x")
        #expect(again.entities["Book"]?.attributes == [attribute] && again.versionIdentifiers == ["1 & 2"])
    }

    @Test(
        "Default values of all types come back",
        arguments: [
            (AttributeType.integer64, DefaultValue.integer(.min)), (.boolean, .integer(1)), (.boolean, .integer(0)),
            (.double, .real(1e-7)), (.double, .real(-0.1)), (.float, .real(Double(Float(0.3)))),
            (.decimal, .real(12.5)),
            (.date, .real(-978_307_200.25)), (.string, .text("")), (.uri, .text("ferry://x?a=1&b=2")),
            (.uuid, .blob(Array(0..<16))),
        ])
    func defaults(_ type: AttributeType, _ value: DefaultValue) throws {
        let model = Self.model([Attribute(name: "a", type: type, defaultValue: value)])
        let writer = try written(model)
        #expect(writer.notes.isEmpty)
        #expect(try SourceModel.read(writer.bytes, path: "x").entities["Book"]?.attributes[0].defaultValue == value)
    }

    @Test("What XML cannot hold is told")
    func notes() throws {
        let bound = Relationship(name: "all", destinationEntity: "Book", isOptional: true, maxCount: -1)
        var model = Self.model([Attribute(name: "a", type: .binary, defaultValue: .blob([1]))], [bound])
        model.versionIdentifiers = ["1", "2"]
        model.unheld = [.init(kind: .fetchRequest, place: "All")]
        let notes = try written(model).notes
        #expect(notes.count == 4)
        #expect(notes.contains { $0.contains("default value of: Book.a") })
        #expect(notes.contains { $0.contains("Fetch request templates are omitted: All") })
        #expect(notes.contains { $0.contains("Book.all") && $0.contains("no maximum") })
        #expect(notes.contains { $0.contains("only the first is kept: 1") })
    }

    @Test("A character that XML cannot hold, and hashes that XML cannot give, are refused")
    func refusals() throws {
        let model = Self.model([Attribute(name: "a", type: .string, defaultValue: .text("\u{1}"))])
        let character = #expect(throws: FerryError.self) { try written(model) }
        #expect(character?.code == .unsupported && character?.message.contains("Book.a") == true)
        let other = #expect(throws: FerryError.self) {
            try SourceModelWriter(Self.model([]), hashes: ["Book": [1], "Page": [2]])
        }
        #expect(other?.code == .unsupported && other?.message.contains("Book, Page") == true)
    }

    // MARK: Bundles

    @Test("Versions are added under the next free name, and the last one is current")
    func bundles() throws {
        let folder = try TemporaryFolder()
        func add(_ name: String, as given: String? = nil) throws -> SourceBundle.Added {
            let model = Self.model([Attribute(name: name, type: .string)])
            let writer = try written(model)
            return try SourceBundle(folder.file("App.xcdatamodeld"))
                .add(writer.bytes, hashes: VersionHash.hashes(of: model), named: given)
        }
        #expect(try add("a").name == "App")
        #expect(try add("b").name == "App 2")
        #expect(try add("c", as: "Draft").name == "Draft")
        #expect(try add("d").name == "App 4")
        let known = try add("b")
        #expect(known.name == "App 2" && !known.isNew)
        let catalog = try ModelCatalog(paths: [folder.file("App.xcdatamodeld")])
        #expect(catalog.versions.count == 4 && catalog.currentVersion()?.name == "App 4")
        let taken = #expect(throws: FerryError.self) { try add("e", as: "Draft") }
        #expect(taken?.code == .outputExists)
        for path in ["App.xcdatamodel", "App"] {
            let error = #expect(throws: FerryError.self) { try SourceBundle(folder.file(path)) }
            #expect(error?.code == .usage)
        }
    }
}
