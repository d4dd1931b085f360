internal import Ferry
internal import FerryEngine
internal import FerrySQLite
internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import FerryCommand

@Suite("ferry mapping")
struct MappingCommandTests {
    private struct Checked: Decodable {
        struct Problem: Decodable {
            var file, code, message, remedy: String
            var place: String?
        }
        var ferry: Int
        var problems: [Problem]
        var warnings: [String]
    }

    private struct Begun: Decodable {
        struct Open: Decodable {
            var entity, reason: String
            var property: String?
        }
        var open: [Open]
    }

    private func model(_ entities: String, in folder: TemporaryFolder, _ name: String) throws -> String {
        let path = folder.file("\(name).xcdatamodel")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?><model userDefinedModelVersionIdentifier=\"\">"
        try (xml + entities + "</model>").write(toFile: path + "/contents", atomically: true, encoding: .utf8)
        return path
    }

    /// Makes two versions with a renamed attribute, one of another type, a new mandatory one, one with a near name, and
    /// an entity with a near name.
    private func versions(in folder: TemporaryFolder) throws -> (old: String, new: String) {
        let old = try model(
            """
            <entity name="Book"><attribute name="title" optional="YES" attributeType="String"/>
            <attribute name="color" optional="YES" attributeType="String"/>
            <attribute name="price" optional="YES" attributeType="Double"/></entity><entity name="Note"/>
            """, in: folder, "Old")
        let new = try model(
            """
            <entity name="Book"><attribute name="heading" optional="YES" attributeType="String" elementID="title"/>
            <attribute name="colour" optional="YES" attributeType="String"/>
            <attribute name="price" optional="YES" attributeType="String"/>
            <attribute name="rank" attributeType="Integer 16"/></entity>
            <entity name="Notice"><attribute name="text" attributeType="String"/></entity>
            """, in: folder, "New")
        return (old, new)
    }

    @Test("Two versions with the same version hashes are refused")
    func refusesEqual() throws {
        let folder = try TemporaryFolder()
        let (old, _) = try versions(in: folder)
        let refused = Captured.run(["mapping", "init", old, old, "--output", folder.file("m.json")])
        #expect(refused.exitCode == .refused && refused.diagnostics.contains("there is nothing to map"), "\(refused)")
        #expect(!FileManager.default.fileExists(atPath: folder.file("m.json")))
    }

    @Test("A skeleton has the inferred parts, marks the missing ones, and is refused until these are written")
    func begins() throws {
        let folder = try TemporaryFolder()
        let (old, new) = try versions(in: folder)
        let begun = Captured.run(["mapping", "init", old, new])
        #expect(begun.exitCode == .success)
        for line in [
            "\"heading\": \"$source.title\"",
            "\"price\": \"? String: Source and destination attribute types are incompatible",
            "\"rank\": \"? Integer 16: It is mandatory",
            "\"destination\": \"? the entity that objects of Note become (Notice?), or null to lose them\"",
            "\"source\": \"? the entity that objects of Notice are created from (Note?); remove this entity mapping",
            "\"text\": \"? String: it is mandatory", "\"colour\": \"? String ($source.color?), or null\"",
        ] { #expect(begun.output.contains(line), "\(line)") }
        for place in ["Book.price", "Book.rank", "Note", "Notice"] {
            #expect(begun.diagnostics.contains("open: \(place): "), "\(place)")
        }
        let json = Captured.run(["mapping", "init", old, new], isJSON: true)
        let told = try JSONDecoder().decode(Begun.self, from: Data(json.output.utf8))
        #expect(Set(told.open.map(\.property)) == ["price", "rank", "colour", "text", nil] && told.open.count == 6)

        let file = folder.file("mapping.json")
        let check = ["mapping", "check", file, "--models", old, "--models", new]
        try begun.output.write(toFile: file, atomically: true, encoding: .utf8)
        let unfinished = Captured.run(check, isJSON: true)
        #expect(unfinished.exitCode == .refused)
        let problems = try JSONDecoder().decode(Checked.self, from: Data(unfinished.output.utf8)).problems
        #expect(
            problems.count == 6
                && problems.allSatisfy {
                    $0.code == "badMapping" && $0.message.contains("mapping.json:")
                        && $0.message.contains("is not filled in: ? ")
                })

        let filled = [
            "\"price\"": "\"CAST($source.price, 'NSString')\",", "\"rank\"": "1", "\"colour\"": "\"$source.color\",",
            "\"text\"": "\"''\"", "\"source\": \"? ": "\"Note\",", "\"destination\": \"? ": "null",
        ]
        let lines = begun.output.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            guard let value = filled.first(where: { line.contains($0.key) })?.value else { return String(line) }
            return String(line.prefix { $0 != ":" }) + ": " + value
        }
        try lines.joined(separator: "\n").write(toFile: file, atomically: true, encoding: .utf8)
        let finished = Captured.run(check)
        #expect(finished.exitCode == .success, "\(finished.output)\(finished.diagnostics)")
        #expect(finished.output.contains("no problems"))

        // The completed skeleton is a mapping model that migrates a store.
        let store = folder.file("Store.sqlite")
        #expect(Captured.run(["generate", old, "--rows", "20", "--output", store]).exitCode == .success)
        let migrated = Captured.run([
            "migrate", "--accept-loss", store, "--models", old, "--models", new, "--mappings", file, "--to", "New",
            "--snapshot", "none",
            "--progress", "none",
        ])
        #expect(migrated.exitCode == .success, "\(migrated.diagnostics)")
    }

    @Test("A mistake in a mapping model is reported with its place, and the exit code is 2")
    func checks() throws {
        let folder = try TemporaryFolder()
        let (old, new) = try versions(in: folder)
        let file = folder.file("mapping.json")
        let words = ["mapping", "check", file, "--models", old, "--models", new]
        for (mapping, code) in [
            ("\"attributes\": { \"price\": \"$source.cost\" }", "badExpression"),
            ("\"attributes\": { \"shade\": \"1\" }", "badMapping"),
            ("\"attribute\": {}", "badMapping"),
            ("\"attributes\": { \"price\": null, \"rank\": 1 }, \"policy\": \"BookPolicy\"", nil),
        ] as [(String, String?)] {
            try """
            { "source": "Old", "destination": "New", "entityMappings": [
              { "source": "Book", "destination": "Book", \(mapping) } ] }
            """.write(toFile: file, atomically: true, encoding: .utf8)
            let captured = Captured.run(words, isJSON: true)
            #expect(captured.exitCode == .refused, "\(mapping)")
            let told = try JSONDecoder().decode(Checked.self, from: Data(captured.output.utf8))
            #expect(!told.problems.isEmpty && told.problems.allSatisfy { !$0.message.isEmpty }, "\(mapping)")
            if let code { #expect(told.problems.contains { $0.code == code }, "\(told.problems.map(\.code))") }
        }
        // The last mapping model lacks only the class, which a program with its own policies has.
        struct BookPolicy: EntityMigrationPolicy {}
        let served = Captured.run(words, policies: ["BookPolicy": { BookPolicy() }])
        #expect(served.exitCode == .success, "\(served.output)")
        let (store, result) = (folder.file("Old.sqlite"), folder.file("New.sqlite"))
        #expect(Captured.run(["generate", old, "--rows", "20", "--output", store]).exitCode == .success)
        let sources = ["--models", old, "--models", new, "--mappings", file]
        let refused = FerryCommand.named.withValue("./mine") {
            Captured.run(
                ["migrate", store, "--to", "New", "--output", result] + sources,
                policies: ["BookPolicy": { BookPolicy() }])
        }
        #expect(refused.diagnostics.contains("\n         ./mine migrate "), "\(refused.diagnostics)")
        let migrated = Captured.run(
            ["migrate", "--accept-loss", store, "--to", "New", "--output", result, "--progress", "none"] + sources,
            policies: ["BookPolicy": { BookPolicy() }])
        #expect(migrated.exitCode == .success, "\(migrated.diagnostics)")
        let verified = Captured.run(["verify", result, "--source", store] + sources)
        #expect(verified.exitCode == .refused && verified.diagnostics.contains("without --source"))
        let missing = Captured.run(["mapping", "check", folder.file("none.json"), "--models", old])
        #expect(missing.exitCode == .refused && missing.diagnostics.contains("no mapping model"))
    }

    @Test("All errors of a file are reported at once, and several files are checked in one call")
    func allErrors() throws {
        let folder = try TemporaryFolder()
        let (old, new) = try versions(in: folder)
        let (file, good) = (folder.file("typos.json"), folder.file("good.json"))
        try """
        { "source": "Old", "destination": "New", "entityMappings": [
          { "source": "Boook", "destination": "Book", "where": "title ==== 3", "atributes": {},
            "attributes": { "heading": "uppercas:($source.title)", "colour": "$source.colr", "rnk": "1",
              "price": "CAST($source.price, 'NSString'" } } ] }
        """.write(toFile: file, atomically: true, encoding: .utf8)
        try """
        { "source": "Old", "destination": "New", "entityMappings": [
          { "source": "Note", "destination": "Notice", "attributes": { "text": "''" } } ] }
        """.write(toFile: good, atomically: true, encoding: .utf8)
        let words = ["mapping", "check", file, good, "--models", old, "--models", new]
        let captured = Captured.run(words)
        #expect(captured.exitCode == .refused)
        for text in [
            "unknown key; did you mean \"attributes\"?", "where: `title ==== 3`", "Did you mean uppercase:?",
            "price: `CAST(", "did you mean \"Book\"?", "did you mean \"rank\"?", "Did you mean color?",
            "typos.json: 7 problems.", "good.json: no problems.",
        ] { #expect(captured.output.contains(text), "\(text)") }
        let json = Captured.run(words, isJSON: true)
        let problems = try JSONDecoder().decode(Checked.self, from: Data(json.output.utf8)).problems
        #expect(problems.count == 7 && problems.allSatisfy { $0.file == file })
        #expect(Captured.run(["mapping", "check", good, "--models", old, "--models", new]).exitCode == .success)
    }

    @Test(
        "Every mapping model of the fixtures is shown as a file with the same meaning",
        .enabled(if: Fixtures.areExpected, Comment(rawValue: Fixtures.skipReason)))
    func shows() throws {
        let folder = try TemporaryFolder()
        var count = 0
        for path in Fixtures.items {
            guard path.hasSuffix(".xcmappingmodel") else { continue }
            let first = Captured.run(["mapping", "show", Fixtures.path(path)])
            #expect(first.exitCode == .success, "\(path)")
            let copy = folder.file("\(count).json")
            try first.output.write(toFile: copy, atomically: true, encoding: .utf8)
            let second = Captured.run(["mapping", "show", copy])
            #expect(second.exitCode == .success && second.output == first.output, "\(path)")
            count += 1
        }
        #expect(count > 40)
    }

    @Test(
        "A policy's work is listed with types, is refused as a whole while unwritten, and runs when written")
    func standsIn() throws {
        let folder = try TemporaryFolder()
        let old = try model(
            """
            <entity name="Book"><attribute name="title" optional="YES" attributeType="String"/>
            <attribute name="day" optional="YES" attributeType="String"/></entity>
            """, in: folder, "Old")
        let new = try model(
            """
            <entity name="Author"><attribute name="name" optional="YES" attributeType="String"/>
            <relationship name="books" optional="YES" toMany="YES" destinationEntity="Book" inverseName="author" inverseEntity="Book"/></entity>
            <entity name="Book"><attribute name="title" optional="YES" attributeType="String"/>
            <attribute name="day" optional="YES" attributeType="Date"/><attribute name="rank" attributeType="Integer 16"/>
            <relationship name="author" optional="YES" maxCount="1" destinationEntity="Author" inverseName="books" inverseEntity="Author"/></entity>
            """, in: folder, "New")
        let base = folder.file("Base.json")
        try """
        { "source": "Old", "destination": "New", "entityMappings": [
          { "name": "BookToBook", "source": "Book", "destination": "Book", "where": "title != nil", "policy": "App.BookPolicy" } ] }
        """.write(toFile: base, atomically: true, encoding: .utf8)
        let models = ["--models", old, "--models", new]
        let refused = Captured.run(["mapping", "check", base] + models)
        #expect(refused.exitCode == .refused)
        for words in [
            "policy App.BookPolicy exists only", "shows this of it: Book to Book; where title != NULL.",
            "ferry mapping init --extends \(base) --models \(old) \(new) --output stand-in-Base.json",
        ] { #expect(refused.output.contains(words), "\(words)") }

        let file = folder.file("sub/stand-in.json")
        try FileManager.default.createDirectory(atPath: folder.file("sub"), withIntermediateDirectories: true)
        let begun = Captured.run(["mapping", "init", "--extends", base, "--output", file] + models)
        #expect(begun.exitCode == .success, "\(begun.diagnostics)")
        #expect(begun.output.contains("6 places are open"), "\(begun.output)")
        #expect(begun.diagnostics.contains("policy App.BookPolicy"))
        let text = try String(contentsOfFile: file, encoding: .utf8)
        for line in [
            "\"extends\": \"../Base.json\"", "\"title\": \"$source.title\"", "\"where\": \"title != NULL\"",
            "\"day\": \"? Date, of $source.day, which is String\"", "\"rank\": \"? Integer 16\"",
            "\"from\": \"? an object of Author, or null\"", "\"policy\": \"? App.BookPolicy: ", "\"rank: Integer 16\"",
            "\"author: to one Author\"", "\"name\": \"? String, or null\"", "\"source\": \"? the entity that objects",
        ] { #expect(text.contains(line), "\(line)") }

        let check = ["mapping", "check", file] + models
        let open = Captured.run(check, isJSON: true)
        let problems = try JSONDecoder().decode(Checked.self, from: Data(open.output.utf8)).problems
        #expect(open.exitCode == .refused && problems.filter { $0.message.contains("is not filled in") }.count == 6)
        #expect(
            problems.contains {
                $0.place == "BookToBook: Book.rank" && $0.message.contains("\"rank\", Integer 16, is not filled in")
            })

        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        for (index, line) in lines.enumerated() {
            if line.contains("\"day\"") { lines[index] = "\"day\": \"date:format:($source.day, 'dd.MM.yyyy')\"," }
            if line.contains("\"rank\"") { lines[index] = "\"rank\": 1," }
            if line.contains("\"mapping\": null") { lines[index] = "\"mapping\": \"Author\"," }
            if line.contains("? an object") { lines[index] = "\"from\": \"$source\"" }
            if line.contains("\"source\": \"?") { lines[index] = "\"source\": \"Book\"," }
            if line.contains("\"name\": \"?") { lines[index] = "\"name\": \"$source.title\"" }
            if line.contains("\"policy\"") { lines[index] = "" }
        }
        try lines.joined(separator: "\n").write(toFile: file, atomically: true, encoding: .utf8)
        let done = Captured.run(check)
        #expect(done.exitCode == .success, "\(done.output)")
    }

    @Test("A registered policy may create objects of the subentities of an abstract destination entity")
    func abstractDestination() throws {
        struct PartPolicy: EntityMigrationPolicy {
            func createDestinationInstances(
                forSource source: SourceObject, in mapping: PolicyEntityMapping, manager: MigrationManager
            ) throws {
                let rest = try manager.insert("Rest")
                try rest.setValue(.string(try source.string(forKey: "name") ?? ""), forKey: "title")
                try manager.associate(sourceInstance: source, withDestinationInstance: rest, for: mapping)
            }
        }
        let folder = try TemporaryFolder()
        let title = "<attribute name=\"title\" optional=\"YES\" attributeType=\"String\"/>"
        let old = try model(
            "<entity name=\"Exercise\">\(title.replacing("title", with: "name"))</entity>", in: folder, "Old")
        let new = try model(
            "<entity name=\"Part\" isAbstract=\"YES\">\(title)</entity><entity name=\"Rest\" parentEntity=\"Part\"/>",
            in: folder, "New")
        let (file, store) = (folder.file("mapping.json"), folder.file("Old.sqlite"))
        try """
        { "source": "Old", "destination": "New", "entityMappings": [
          { "source": "Exercise", "destination": "Part", "policy": "PartPolicy" } ] }
        """.write(toFile: file, atomically: true, encoding: .utf8)
        let check = ["mapping", "check", file, "--models", old, new]
        #expect(Captured.run(check).output.contains("is abstract and has no objects"))
        #expect(Captured.run(check, policies: ["PartPolicy": { PartPolicy() }]).exitCode == .success)
        #expect(Captured.run(["generate", old, "--rows", "6", "--output", store]).exitCode == .success)
        let migrated = Captured.run(
            [
                "migrate", "--accept-loss", store, "--to", "New", "--models", old, new, "--mappings", file,
                "--snapshot", "none", "--progress", "none",
            ], policies: ["PartPolicy": { PartPolicy() }])
        #expect(migrated.exitCode == .success, "\(migrated.diagnostics)")
        let connection = try Connection(path: store, mode: .readOnly)
        #expect(try connection.integer("SELECT count(*) FROM ZPART WHERE Z_ENT = 2 AND ZTITLE IS NOT NULL") == 6)
    }

    @Test(
        "The two forms of mapping init are not mixed",
        arguments: [["A", "--extends", "B"], ["--extends", "B"], ["A"], ["A", "B", "--models", "C"]])
    func isNotMixed(_ words: [String]) {
        #expect(Captured.run(["mapping", "init"] + words).exitCode == .usage)
    }
}
