import FerryBase
import FerryExpression
import FerryMapping
import Foundation
import Testing

@Suite("Xcode's mapping models")
struct XcodeMappingFileTests {
    private func load(_ xml: MappingXML) throws -> MappingModel {
        let folder = try MappingFolder()
        try folder.write(xml.text, to: "One to Two.xcmappingmodel/xcmapping.xml")
        return try folder.load("One to Two.xcmappingmodel")
    }

    private func error(_ text: String) throws -> FerryError? {
        let folder = try MappingFolder()
        try folder.write(text, to: "M.xcmappingmodel/xcmapping.xml")
        return folder.error(of: "M.xcmappingmodel")
    }

    @Test("The folder and its XML file are the same mapping model")
    func folderAndFile() throws {
        var xml = MappingXML()
        xml.entityMapping("z2", number: 1, source: "Book", destination: "Book")
        let folder = try MappingFolder()
        try folder.write(xml.text, to: "One to Two.xcmappingmodel/xcmapping.xml")
        let byFolder = try folder.load("One to Two.xcmappingmodel")
        let byFile = try folder.load("One to Two.xcmappingmodel/xcmapping.xml")
        #expect(byFolder.name == "One to Two")
        #expect(byFile.name == "One to Two")
        #expect(byFolder.sourceVersion == "App/Model.xcdatamodeld/Model1.xcdatamodel")
        #expect(byFolder.destinationVersion == "App/Model.xcdatamodeld/Model2.xcdatamodel")
        #expect(byFolder.fingerprint == byFile.fingerprint)
        #expect(byFolder.fingerprint == SHA256.hash(Array(xml.text.utf8)))
        #expect(byFolder.entityMappings == byFile.entityMappings)
    }

    @Test("Entity mappings are sorted by their numbers, for any order in the file")
    func order() throws {
        var xml = MappingXML()
        for (identifier, number, name) in [("z2", 10, "C"), ("z3", 2, "B"), ("z4", 0, "A"), ("z5", 11, "D")] {
            xml.entityMapping(identifier, number: number, source: name, destination: name)
        }
        #expect(try load(xml).entityMappings.map(\.name) == ["AToA", "BToB", "CToC", "DToD"])
    }

    @Test("Orphans, also of property mappings, are ignored")
    func orphans() throws {
        var xml = MappingXML()
        xml.entityMapping("z2", number: 1, source: "Book", destination: "Book", attributeMappings: ["z4"])
        xml.entityMapping(
            "z3", number: 0, source: "Gone", destination: "Gone", isLive: false,
            attributes: [("migrationpolicyclassname", "GonePolicy")])
        xml.attributeMapping("z4", [("name", "title")])
        xml.attributeMapping("z5", [("name", "orphan")])
        let model = try load(xml)
        #expect(model.entityMappings.map(\.name) == ["BookToBook"])
        #expect(model.entityMappings[0].attributes == ["title": .automatic])
    }

    @Test("A property with two different mappings is refused: the order in the file has no meaning")
    func mappedTwice() throws {
        var same = MappingXML()
        same.entityMapping("z2", number: 1, source: "Book", destination: "Book", attributeMappings: ["z3", "z4"])
        for identifier in ["z3", "z4"] { same.attributeMapping(identifier, [("name", "title")]) }
        #expect(try load(same).entityMappings[0].attributes == ["title": .automatic])
        var other = MappingXML()
        other.entityMapping("z2", number: 1, source: "Book", destination: "Book", relationshipMappings: ["z3", "z4"])
        other.relationshipMapping("z3", [("name", "owner")])
        other.relationshipMapping(
            "z4", [("name", "owner"), ("sourcekeypath", "$source.writer"), ("sourcemappingname", "P")])
        let refusal = try error(other.text)
        #expect(refusal?.code == .badMapping)
        #expect(
            refusal?.message.contains("entity mapping \"BookToBook\" maps the relationship \"owner\" twice") == true)
    }

    @Test("Missing names are derived")
    func names() throws {
        var xml = MappingXML()
        xml.entityMapping("z2", number: 1, source: "Car", destination: "Auto")
        xml.entityMapping("z3", number: 2, source: nil, destination: "Maker")
        xml.entityMapping("z4", number: 3, source: "Old", destination: nil)
        xml.entityMapping("z5", number: 4, source: "Book", destination: "Book", attributes: [("name", "Mine")])
        xml.entityMapping("z6", number: 5, source: "Page", destination: "Page", attributes: [("name", "")])
        #expect(try load(xml).entityMappings.map(\.name) == ["CarToAuto", "Maker", "Old", "Mine", "PageToPage"])
    }

    @Test("Leftovers of the editor are skipped with a warning")
    func junk() throws {
        var xml = MappingXML()
        xml.entityMapping("z2", number: 1, source: nil, destination: nil, attributes: [("name", "Mapping")])
        xml.entityMapping("z3", number: 2, source: "Book", destination: "Book", attributeMappings: ["z4", "z5"])
        xml.attributeMapping("z4", [])
        xml.attributeMapping("z5", [("name", "title")])
        let model = try load(xml)
        #expect(model.entityMappings.map(\.name) == ["BookToBook"])
        #expect(model.entityMappings[0].attributes == ["title": .automatic])
        #expect(model.warnings.count == 1)
        #expect(model.warnings[0].message.contains("\"Mapping\" names no entity"))
    }

    @Test("An empty policy class name means no policy")
    func policies() throws {
        var xml = MappingXML()
        xml.entityMapping(
            "z2", number: 1, source: "A", destination: "A", attributes: [("migrationpolicyclassname", "")])
        xml.entityMapping(
            "z3", number: 2, source: "B", destination: "B", attributes: [("migrationpolicyclassname", "App.Policy")])
        #expect(try load(xml).entityMappings.map(\.policyClassName) == [nil, "App.Policy"])
    }

    @Test("A key path and a mapping name give a lookup")
    func helperFields() throws {
        var xml = MappingXML()
        xml.entityMapping(
            "z2", number: 1, source: "Note", destination: "Attachment",
            relationshipMappings: ["z4", "z5", "z6", "z7", "z9"])
        xml.entityMapping("z3", number: 2, source: nil, destination: "Added", relationshipMappings: ["z8"])
        xml.relationshipMapping(
            "z4", [("name", "note"), ("sourcekeypath", "$source"), ("sourcemappingname", "NoteToNote")])
        xml.relationshipMapping(
            "z5",
            [
                ("name", "moods"), ("sourcekeypath", "$source.countries.@distinctUnionOfSets.moods"),
                ("sourcemappingname", "MoodToMood"),
            ])
        xml.relationshipMapping(
            "z6", [("name", "owner"), ("sourcekeypath", ""), ("sourcemappingname", "OwnerToOwner")])
        xml.relationshipMapping("z7", [("name", "plain"), ("sourcekeypath", ""), ("sourcemappingname", "")])
        xml.relationshipMapping("z8", [("name", "self"), ("sourcekeypath", "$source"), ("sourcemappingname", "Added")])
        xml.relationshipMapping("z9", [("name", "own"), ("sourcemappingname", "NoteToAttachment")])
        let model = try load(xml)
        #expect(
            model.entityMappings[0].relationships == [
                "note": .destinations(ofMapping: "NoteToNote", from: .variable("source")),
                "moods": .destinations(
                    ofMapping: "MoodToMood",
                    from: .keyPath(
                        .variable("source"),
                        [.key("countries"), .collectionOperator("distinctUnionOfSets"), .key("moods")])),
                "owner": .destinations(ofMapping: "OwnerToOwner", from: .keyPath(.variable("source"), [.key("owner")])),
                "plain": .automatic, "own": .automatic,
            ])
        #expect(model.entityMappings[1].relationships == ["self": .automatic])
        #expect(model.warnings.count == 3)
    }

    @Test("Characters that the XML store escaped with swapped bytes are decoded")
    func swappedEscapes() throws {
        var xml = MappingXML()
        xml.entityMapping(
            "z2", number: 1, source: "Book", destination: "Book",
            attributes: [
                ("sourcefilterpredicatestring", "price \\u3c00 10000"), ("name", "\\u3dd8\\u00de \\uzz \\u3c0"),
            ])
        let mapping = try #require(try load(xml).entityMappings.first)
        #expect(mapping.filter == (try Predicate.parse("price < 10000")))
        #expect(mapping.name == "😀 \\uzz \\u3c0")
    }

    @Test("An unreadable filter is kept, so that a stand-in can replace it")
    func unreadableFilter() throws {
        var xml = MappingXML()
        xml.entityMapping(
            "z2", number: 1, source: "Book", destination: "Book",
            attributes: [("sourcefilterpredicatestring", "price == == 1")])
        xml.entityMapping(
            "z3", number: 2, source: "Page", destination: "Page", attributeMappings: ["z4"])
        xml.attributeMapping("z4", [("name", "text"), ("valueexpressiondata", "AAAA")])
        let model = try load(xml)
        #expect(model.entityMappings[0].unreadable.map(\.part) == ["the filter predicate"])
        #expect(model.entityMappings[1].unreadable.map(\.part) == ["the expression of attribute \"text\""])
    }

    @Test("The embedded models are skipped, and not kept in memory")
    func embeddedModels() throws {
        var xml = MappingXML()
        xml.embedded = String(repeating: String(repeating: "A", count: 76) + "\n", count: 100_000)
        xml.entityMapping("z2", number: 1, source: "Book", destination: "Book")
        #expect(try load(xml).entityMappings.map(\.name) == ["BookToBook"])
    }

    @Test("A file that is no mapping model is refused, with the place")
    func damaged() throws {
        var xml = MappingXML()
        xml.entityMapping("z2", number: 1, source: "Book", destination: "Book")
        let whole = xml.text
        let cut = String(whole.prefix(whole.utf8.count * 2 / 3))
        xml.live.append("z99")
        let cases = [
            (cut, "M.xcmappingmodel"), ("<plist></plist>", "its root element is <plist>"),
            ("<database></database>", "it contains 0 mapping models"), (xml.text, "refers to z99, which is missing"),
            (whole.replacingOccurrences(of: "id=\"z2\"", with: "id=\"z1\""), "a second object has the id z1"),
            (String(repeating: "<database>", count: 5_000), "nested too deep"),
        ]
        for (text, message) in cases {
            let error = try #require(try error(text))
            #expect(error.code == .badMapping)
            #expect(error.message.contains(message), "\(error.message)")
        }
    }

    @Test("XML entities are not expanded, whatever their size")
    func entities() throws {
        var xml = MappingXML()
        xml.entityMapping("z2", number: 1, source: "Book&j;", destination: "Book")
        var declarations = "<!ENTITY a \"aaaaaaaaaa\">"
        for (outer, inner) in zip("bcdefghij", "abcdefghi") {
            declarations += "<!ENTITY \(outer) \"\(String(repeating: "&\(inner);", count: 10))\">"
        }
        let text = xml.text.replacingOccurrences(
            of: "SYSTEM \"file:///System/Library/DTDs/CoreData.dtd\"", with: "[\(declarations)]")
        let folder = try MappingFolder()
        try folder.write(text, to: "M.xcmappingmodel/xcmapping.xml")
        // The parser's version decides between these two errors.
        let error = folder.error(of: "M.xcmappingmodel")
        #expect(error == nil || error?.code == .badMapping)
    }
}
