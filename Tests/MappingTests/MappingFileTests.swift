import FerryBase
import FerryMapping
import Testing

@Suite("Mapping files")
struct MappingFileTests {
    private func json(_ source: String, _ rest: String = "") -> String {
        "{ \"source\": \"\(source)\", \"destination\": \"Z\", \"entityMappings\": []\(rest) }"
    }

    @Test("A path without a file is not found")
    func missing() throws {
        let folder = try MappingFolder()
        for name in ["Gone.json", "Gone.xcmappingmodel", "Gone.cdm"] {
            #expect(folder.error(of: name)?.code == .notFound)
        }
        #expect(throws: FerryError.self) { try MappingFile.loadAll(path: folder.path("Gone")) }
    }

    @Test("A file of no known format is refused")
    func unknownFormat() throws {
        let folder = try MappingFolder()
        try folder.write("hello", to: "a.txt")
        try folder.write("{ }", to: "Empty.xcmappingmodel/other.xml")
        #expect(folder.error(of: "a.txt")?.code == .badMapping)
        #expect(folder.error(of: "Empty.xcmappingmodel")?.code == .badMapping)
        #expect(folder.error(of: ".")?.code == .badMapping)
    }

    @Test("All mapping files of a folder are read, in natural order, extended ones only as part of others")
    func folder() throws {
        var xml = MappingXML()
        xml.entityMapping("z2", number: 1, source: "Book", destination: "Book")
        let folder = try MappingFolder()
        try folder.write(json("A"), to: "maps/Step 10.json")
        try folder.write(json("B"), to: "maps/Step 9.json")
        try folder.write(#"{ "extends": "Base.xcmappingmodel" }"#, to: "maps/Step 1.json")
        try folder.write(xml.text, to: "maps/Base.xcmappingmodel/xcmapping.xml")
        try folder.write(xml.text, to: "maps/Step 2.xcmappingmodel/xcmapping.xml")
        try folder.write("text", to: "maps/origin.md")
        let models = try MappingFile.loadAll(path: folder.path("maps"))
        #expect(models.map(\.name) == ["Step 1", "Step 2", "Step 9", "Step 10"])
        #expect(models[0].entityMappings.map(\.name) == ["BookToBook"])
        #expect(try MappingFile.loadAll(path: folder.path("maps/Step 9.json")).map(\.name) == ["Step 9"])
    }

    @Test("A folder without mapping files is not found")
    func emptyFolder() throws {
        let folder = try MappingFolder()
        try folder.write("text", to: "maps/origin.md")
        do {
            _ = try MappingFile.loadAll(path: folder.path("maps"))
            Issue.record("the folder was accepted")
        } catch {
            #expect(error.code == .notFound)
        }
    }

    @Test("The fingerprint covers every byte read, those of the extended file too")
    func fingerprint() throws {
        let folder = try MappingFolder()
        let (base, step) = (json("A"), #"{ "extends": "Base.json" }"#)
        try folder.write(base, to: "Base.json")
        try folder.write(step, to: "Step.json")
        let before = try folder.load("Step.json").fingerprint
        #expect(before == SHA256.hash(Array((step + base).utf8)))
        try folder.write(base + " ", to: "Base.json")
        #expect(try folder.load("Step.json").fingerprint != before)
    }

    @Test("An unreadable file is a failure, not an empty mapping model")
    func unreadable() throws {
        var xml = MappingXML()
        xml.entityMapping("z2", number: 1, source: "Book", destination: "Book")
        let folder = try MappingFolder()
        let path = try folder.write(xml.text, to: "M.xcmappingmodel/xcmapping.xml")
        let operations = FaultPlan()
        _ = try MappingFile.load(path: path, files: FileLayer(faults: operations))
        for trigger in 1...operations.count {
            #expect(throws: FerryError.self) {
                try MappingFile.load(path: path, files: FileLayer(faults: FaultPlan(trigger: trigger)))
            }
        }
    }
}
