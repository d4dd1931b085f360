import Foundation
import TestSupport
import Testing

@testable import FerryCommand

@Suite("ferry.json")
struct ConfigTests {
    private let app: RouteFolder

    init() throws {
        app = try RouteFolder()
        try app.model("App", "App", RouteFolder.entity("Book", "title"))
        try app.model("App", "App 2", RouteFolder.entity("Book", "title", "year"))
        try app.model("App", "App 3", RouteFolder.entity("Book", "title", "year", "pages"))
        try app.current("App", "App 3")
        try app.generate("App", "App", rows: 10)
    }

    private func write(_ text: String, to name: String = "ferry.json") throws {
        try text.write(toFile: app.folder.file(name), atomically: true, encoding: .utf8)
    }

    private func run(_ words: [String], in folder: String? = nil) throws -> FerryBinary.Outcome {
        try FerryBinary.run(words, in: folder ?? app.folder.path)
    }

    @Test("Settings of the file are the defaults of the command line, whose options take precedence")
    func standsIn() throws {
        try write(#"{ "ferry": 1, "models": ["App.xcdatamodeld"], "to": "App 2", "limits": { "memory": "48MiB" } }"#)
        let plan = try run(["plan", "App.sqlite"])
        #expect(plan.exitCode == 0, "\(plan.diagnostics)")
        #expect(plan.output.contains("Chain    App → App 2\n") && plan.output.contains("Config   ferry.json\n"))
        #expect(try run(["plan", "App.sqlite", "--to", "App 3"]).output.contains("Chain    App → App 3\n"))
        #expect(try run(["plan", "App.sqlite", "--config", "none"]).exitCode == 64)
        // This command has no such option and ignores the setting.
        #expect(try run(["inspect", "App.sqlite"]).output.contains("App"))
    }

    @Test("config init leaves out mapping models of other versions, by file and by folder, and says so")
    func leavesOutOthers() throws {
        let mapping = { (from: String, to: String) in
            "{ \"source\": \"\(from)\", \"destination\": \"\(to)\", \"entityMappings\": [] }"
        }
        for folder in ["Own", "Foreign"] {
            try FileManager.default.createDirectory(
                atPath: app.folder.file(folder), withIntermediateDirectories: true)
        }
        try write(mapping("App", "App 2"), to: "Own/1.json")
        try write(mapping("Notes", "Notes 2"), to: "Foreign/1.json")
        let made = try run(["config", "init"])
        #expect(made.exitCode == 0, "\(made)")
        #expect(made.diagnostics.contains("Foreign is left out: ") && !made.diagnostics.contains("Own is left out"))
        let text = try String(contentsOfFile: app.folder.file("ferry.json"), encoding: .utf8)
        #expect(text.contains("\"Own\"") && !text.contains("Foreign"), "\(text)")
    }

    @Test("diff from the newer version to the older one says so; inspect says that no given model matches")
    func hintsAtMistakes() throws {
        let words = ["diff", "App.xcdatamodeld:App 2", "App.xcdatamodeld:App"]
        #expect(try run(words).output.contains("App 2 is newer than App."))
        #expect(try !run([words[0], words[2], words[1]]).output.contains("newer"))
        try app.model("Notes", "Notes", RouteFolder.entity("Note", "title"))
        let foreign = try run(["inspect", "App.sqlite", "--models", "Notes.xcdatamodeld"])
        #expect(foreign.output.contains("none of the given models: no version of them has an entity in common"))
    }

    @Test("status says after a rollback what the store is again")
    func tellsRollback() throws {
        try app.done("migrate", "App.sqlite", "--models", "App.xcdatamodeld", "--to", "App 2")
        #expect(try run(["status", "App.sqlite"]).output.contains(" with version App 2; none is running."))
        try app.done("rollback", "App.sqlite")
        let status = try run(["status", "App.sqlite"]).output
        #expect(status.contains("App.sqlite was rolled back at ") && status.contains(" and has version App again."))
        #expect(status.contains("Restored from ") && status.contains(".snapshots/"), "\(status)")
    }

    @Test("A plan shows a long chain in short")
    func foldsChain() throws {
        for number in 4...12 {
            try app.model("App", "App \(number)", RouteFolder.entity("Book", "title", "year", "pages", "a\(number)"))
        }
        try app.current("App", "App 12")
        let chain = ["plan", "App.sqlite", "--models", "App.xcdatamodeld", "--chain", "chain.txt"]
        try write((["App"] + (2...12).map { "App \($0)" }).joined(separator: "\n"), to: "chain.txt")
        #expect(try run(chain).output.contains("Chain    App → … → App 12 (12 versions)\n"))
    }

    @Test(
        "The file beside the models has precedence over the current folder's, and its paths are relative to its folder")
    func liesBesideModels() throws {
        let elsewhere = try TemporaryFolder()
        try #"{ "to": "nowhere" }"#.write(toFile: elsewhere.file("ferry.json"), atomically: true, encoding: .utf8)
        try write(#"{ "to": "App 2" }"#)
        let words = ["plan", app.folder.file("App.sqlite"), "--models", app.folder.file("App.xcdatamodeld")]
        let plan = try run(words, in: elsewhere.path)
        #expect(plan.output.contains("Chain    App → App 2\n"), "\(plan.diagnostics)")
        try write(#"{ "mappings": ["Gone"] }"#)
        #expect(try run(words, in: elsewhere.path).diagnostics.contains(app.folder.file("Gone")))
        #expect(try run(words + ["--config", "ferry.json"], in: elsewhere.path).exitCode == 2)
        #expect(try run(words + ["--config", "gone.json"], in: elsewhere.path).exitCode == 2)
    }

    @Test("A list of versions is the chain")
    func readsChain() throws {
        try write(#"{ "models": "App.xcdatamodeld", "chain": ["App", "App 2", "App 3"] }"#)
        #expect(try run(["plan", "App.sqlite"]).output.contains("Chain    App → App 2 → App 3\n"))
    }

    @Test(
        "An unknown key is refused by its name",
        arguments: [
            (#"{ "model": [] }"#, #"ferry.json:1: model: unknown key; did you mean "models"?"#),
            (
                "{\n\"limits\": {\n\"memroy\": 1 } }",
                #"ferry.json:3: limits.memroy: unknown key; did you mean "memory"?"#
            ),
            ("{ \"to\": \"A\",\n\"to\": \"B\" }", "ferry.json:2: to: duplicate key (first on line 1)."),
            (#"{ "models": [1] }"#, "ferry.json:1: models[0]: expected a string, found a number."),
            (#"{ "acceptLosses": "yes" }"#, "ferry.json:1: acceptLosses: expected true or false, found a string."),
            (#"{ "limits": { "chunkRows": 1.5 } }"#, "limits.chunkRows: expected a whole number"),
            (#"{ "limits": 5 }"#, "ferry.json:1: limits: expected an object, found a number."),
            ("[]", "ferry.json:1: expected an object, found an array."), ("{", "ferry.json:1: this is not JSON: "),
            (#"{ "verify": "half" }"#, "--verify cannot be"),
        ])
    func refusesUnknown(_ text: String, message: String) throws {
        try write(text)
        let outcome = try run(["migrate", "App.sqlite", "--models", "App.xcdatamodeld"])
        #expect(outcome.exitCode == 64)
        #expect(outcome.diagnostics.contains(message), "\(outcome.diagnostics)")
    }

    @Test("Options that a file has for another command are no contradiction")
    func keepsToTheCommand() throws {
        try write(
            #"{ "models": "App.xcdatamodeld", "allowedLosses": ["Book.title"], "mappings": [], "snapshots": { "keep": 3 } }"#
        )
        #expect(try run(["verify", "App.sqlite"]).exitCode == 0)
        #expect(try run(["migrate", "App.sqlite", "--output", "New.sqlite"]).exitCode == 0)
    }

    @Test("ferry config init writes a file that plan reads, and overwrites none")
    func writes() throws {
        #expect(try run(["config", "init", "--to", "App 2"]).exitCode == 0)
        let text = try String(contentsOfFile: app.folder.file("ferry.json"), encoding: .utf8)
        #expect(try JSONSchema("config").differences(in: text).isEmpty, "\(text)")
        #expect(try run(["plan", "App.sqlite"]).output.contains("Chain    App → App 2\n"))
        let again = try run(["config", "init"])
        #expect(again.exitCode == 2 && again.diagnostics.contains("already"))
        let empty = try TemporaryFolder()
        #expect(try run(["config", "init"], in: empty.path).exitCode == 2)
    }

    @Test("ferry config init names the folders with mapping models, so that plan finds them")
    func findsMappings() throws {
        let mapping = """
            { "source": "App", "destination": "App 3", "entityMappings": [
                { "name": "BookToBook", "source": "Book", "destination": "Book" } ] }
            """
        for folder in ["Mappings", "Other"] {
            try FileManager.default.createDirectory(atPath: app.folder.file(folder), withIntermediateDirectories: false)
        }
        try write(mapping, to: "Mappings/1.json")
        try write("{}", to: "Other/package.json")
        let made = try run(["config", "init", "--json"])
        #expect(made.exitCode == 0, "\(made.diagnostics)")
        let text = try String(contentsOfFile: app.folder.file("ferry.json"), encoding: .utf8)
        #expect(text.contains(#""Mappings""#) && !text.contains("Other"), "\(text)")
        let plan = try run(["plan", "App.sqlite"])
        #expect(plan.exitCode == 0 && plan.output.contains("mapping model 1"), "\(plan.output)\(plan.diagnostics)")
    }

    @Test("Each key of the schema is read, and each key of an option is in the schema")
    func knowsItsSchema() throws {
        let path = Fixtures.packageRoot + "/docs/schemas/config.schema.json"
        let schema = try JSONSerialization.jsonObject(with: Data(contentsOf: URL(fileURLWithPath: path)))
        let properties = try #require((schema as? [String: Any])?["properties"] as? [String: Any])
        let keys = properties.flatMap { name, rule in
            (((rule as? [String: Any])?["properties"] as? [String: Any])?.keys.map { "\(name).\($0)" } ?? []) + [name]
        }
        let options = Set(Syntax.table.flatMap(\.options).compactMap(\.key))
        #expect(options.subtracting(keys).isEmpty && !options.isEmpty)
        // No key accepts this value: the message shows that the key is known, and which values it accepts.
        for (name, rule) in properties where name != "ferry" {
            let members = (rule as? [String: Any])?["properties"] as? [String: Any]
            for member in members.map({ $0.keys.sorted() }) ?? [""] {
                try write(member.isEmpty ? #"{ "\#(name)": {} }"# : #"{ "\#(name)": { "\#(member)": {} } }"#)
                let outcome = Captured.run(["plan", "App.sqlite", "--config", app.folder.file("ferry.json")])
                #expect(!outcome.diagnostics.contains("unknown key"), "\(name) \(member): \(outcome.diagnostics)")
                #expect(outcome.exitCode == .usage)
            }
        }
    }
}
