internal import Foundation
internal import TestSupport
internal import Testing

/// Mapping models that are given twice, that conflict, or that are forgotten.
@Suite("Given mapping models")
struct GivenMappingsTests {
    private let app: RouteFolder

    init() throws {
        app = try RouteFolder()
        try app.model("App", "App", RouteFolder.entity("Book", "title", "writer"))
        try app.model("App", "App 2", RouteFolder.entity("Book", "heading"))
        try app.current("App", "App 2")
        try app.write(Self.mapping(), to: "Maps/One.json")
        try app.generate("App", "App")
    }

    private static func mapping(_ rest: String = "", more: String = "") -> String {
        """
        { "source": "App", "destination": "App 2", "entityMappings": [
          { "name": "BookToBook", "source": "Book", "destination": "Book",
            "attributes": { "heading": "$source.title" }\(rest) } ]\(more) }
        """
    }

    private func migrate(_ rest: String...) -> [String] {
        ["migrate", "--accept-loss", "App.sqlite", "--models", "App.xcdatamodeld"] + rest
    }

    @Test("A mapping model that is given twice, by one path, by two, or as a copy, makes each object once")
    func twice() throws {
        try app.write(Self.mapping(), to: "Copies/Copy.json")
        let outcome = try app.run(
            migrate(
                "--mappings", "Maps/One.json", "--mappings", "Maps/../Maps/One.json", "--mappings", "Copies/Copy.json"))
        #expect(outcome.exitCode == 0, "\(outcome.diagnostics)")
        #expect(try app.count("SELECT count(*) FROM ZBOOK") == 4)
    }

    @Test("A mapping model between versions with equal hashes never runs: check, plan and migration report it")
    func equalVersions() throws {
        // A change of defaults alone changes no hash.
        try app.model(
            "App", "App 1",
            "<entity name=\"Book\"><attribute name=\"title\" optional=\"YES\" attributeType=\"String\" "
                + "defaultValueString=\"Untitled\"/>"
                + "<attribute name=\"writer\" optional=\"YES\" attributeType=\"String\"/></entity>")
        try app.write(
            Self.mapping().replacingOccurrences(of: "App 2", with: "App 1")
                .replacingOccurrences(of: "\"heading\"", with: "\"title\""), to: "Maps/Zero.json")
        let words = "The mapping model Zero leads from App to App 1, and both have the same version hashes"
        let given = ["App.sqlite", "--models", "App.xcdatamodeld", "--mappings", "Maps"]
        let check = try app.run("mapping", "check", "Maps/Zero.json", "--models", "App.xcdatamodeld")
        #expect(check.exitCode == 0 && check.output.contains(words), "\(check)")
        let plan = try app.run(["plan"] + given)
        #expect(plan.exitCode == 0 && plan.output.contains("Zero leads from App to App 1"), "\(plan)")
        let done = try app.run(["migrate", "--accept-loss"] + given)
        #expect(done.exitCode == 0 && done.diagnostics.contains(words), "\(done)")
    }

    @Test("Two mapping models with the same objects and destination are refused with both files and entity mappings")
    func conflicting() throws {
        try app.write(Self.mapping(", \"where\": \"title != nil\""), to: "Maps/Two.json")
        let outcome = try app.refused("migrate", "App.sqlite", "--models", "App.xcdatamodeld", "--mappings", "Maps")
        for word in ["One.json", "Two.json", "\"BookToBook\"", "Leave one"] {
            #expect(outcome.diagnostics.contains(word), "\(word)")
        }
    }

    @Test(
        "Two mapping models whose filters exclude each other run",
        arguments: [
            ("title == nil", "title != nil"), ("title == 'a' OR title == 'b'", "title == 'c' AND writer != nil"),
            ("NOT (title BEGINSWITH 'x')", "title BEGINSWITH 'x'"),
        ])
    func exclusive(one: String, other: String) throws {
        try app.write(Self.mapping(", \"where\": \"\(one)\""), to: "Maps/One.json")
        try app.write(Self.mapping(", \"where\": \"\(other)\""), to: "Maps/Two.json")
        try app.execute(
            "UPDATE ZBOOK SET ZTITLE = CASE Z_PK WHEN 1 THEN NULL WHEN 2 THEN 'a' WHEN 3 THEN 'c' ELSE 'xy' END")
        let outcome = try app.run(migrate("--mappings", "Maps"))
        #expect(outcome.exitCode == 0, "\(outcome.diagnostics)")
        #expect(try app.count("SELECT count(*) - count(DISTINCT ZHEADING) FROM ZBOOK") <= 1)
    }

    @Test("Two mapping models with two entity mappings each run if both files name the entity mapping in partitions")
    func wanted() throws {
        for file in ["One", "Two"] {
            try app.write(
                Self.mapping(
                    ", \"where\": \"title != '\(file)'\"", more: ", \"partitions\": [[\"BookToBook\"]]"),
                to: "Maps/\(file).json")
        }
        let outcome = try app.run(migrate("--mappings", "Maps"))
        #expect(outcome.exitCode == 0, "\(outcome.diagnostics)")
        #expect(try app.count("SELECT count(*) FROM ZBOOK") == 8)
    }

    @Test(
        "A mapping model beside the models, in a folder there or in the bundle, must be given, or is refused",
        arguments: ["", "App.xcdatamodeld/", "Mappings/", "Sources/Data/Mappings/"])
    func forgotten(place: String) throws {
        try FileManager.default.removeItem(atPath: app.folder.file("Maps"))
        try app.write(Self.mapping(), to: "\(place)One.json")
        let outcome = try app.refused("migrate", "App.sqlite", "--models", "App.xcdatamodeld")
        #expect(outcome.diagnostics.contains("Give it with --mappings "))
        #expect(outcome.diagnostics.contains("--mappings \(place)One.json, or say with --no-mappings"))
        let plan = try app.refused("plan", "App.sqlite", "--models", "App.xcdatamodeld", "--json")
        #expect(plan.output.contains("\"mappingsNotGiven\""))
        // The remedies in the message work.
        try app.done(
            "migrate", "--accept-loss", "App.sqlite", "--models", "App.xcdatamodeld", "--mappings", "\(place)One.json",
            "--output",
            "New.sqlite")
        #expect(try app.count("SELECT count(ZHEADING) FROM ZBOOK", in: "New.sqlite") == 4)
        try app.done("migrate", "--accept-loss", "App.sqlite", "--models", "App.xcdatamodeld", "--no-mappings")
        #expect(try app.count("SELECT count(ZHEADING) FROM ZBOOK") == 0)
    }

    @Test("A mapping model beside the models for other versions, or that a given one replaces, is accepted")
    func beside() throws {
        try app.write(Self.mapping().replacingOccurrences(of: "App 2", with: "App 7"), to: "Other.json")
        try app.write(Self.mapping(), to: "Old.json")
        try app.write(#"{ "runs": [], "ferry": 1, "destination": 1 }"#, to: "App.sqlite.ferry-log.json")
        try app.done(
            "migrate", "--accept-loss", "App.sqlite", "--models", "App.xcdatamodeld", "--mappings", "Maps/One.json")
    }

    @Test("Mapping models in a hidden folder, in a bundle, too deep, or after too many folders are ignored")
    func outOfReach() throws {
        try FileManager.default.removeItem(atPath: app.folder.file("Maps"))
        for place in [".build/", "Old.app/", "a/b/c/d/"] { try app.write(Self.mapping(), to: "\(place)One.json") }
        let plan = try app.done("plan", "App.sqlite", "--models", "App.xcdatamodeld")
        #expect(!plan.output.contains("were searched"))
        for number in 0..<250 { try app.write("{}", to: "z\(number)/none.json") }
        let many = try app.done("plan", "App.sqlite", "--models", "App.xcdatamodeld")
        #expect(many.output.contains("Not all folders next to the models were searched"))
    }

    @Test("JSON files of another kind are ignored, a mapping file with a mistake is not")
    func otherFiles() throws {
        try app.write(#"{ "ferry": 1, "runs": [] }"#, to: "Maps/App.sqlite.ferry-log.json")
        try app.write(#"{ "name": "app", "extends": "./base.json", "private": true }"#, to: "Maps/package.json")
        try app.write(
            #"{ "ferry": 1, "outcome": "migrated", "entityMappings": [ { "name": "A" } ] }"#, to: "Maps/out.json")
        try app.write("not JSON at all", to: "Maps/notes.json")
        try app.write("[1, 2]", to: "Maps/list.json")
        try app.done("plan", "App.sqlite", "--models", "App.xcdatamodeld", "--mappings", "Maps")
        try app.write(#"{ "entityMappings": [ "#, to: "Maps/broken.json")
        let broken = try app.refused("plan", "App.sqlite", "--models", "App.xcdatamodeld", "--mappings", "Maps")
        #expect(broken.diagnostics.contains("broken.json"))
    }

    @Test("A model in Xcode 3's binary form is skipped with a warning while others are readable")
    func oldModel() throws {
        try app.write("bplist", to: "Old.xcdatamodel/elements")
        let plan = try app.done("plan", "App.sqlite", "--models", ".", "--mappings", "Maps")
        #expect(plan.output.contains("Xcode 3"))
        try app.write("bplist", to: "Lone/Old.xcdatamodel/elements")
        let alone = try app.refused("plan", "App.sqlite", "--models", "Lone")
        #expect(alone.diagnostics.contains("Xcode 3"))
    }
}
