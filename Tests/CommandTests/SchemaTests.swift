import Foundation
import TestSupport
import Testing

/// The output of commands, against the schemas of `docs/schemas`.
@Suite("Schemas")
struct SchemaTests {
    private let app: RouteFolder

    init() throws {
        app = try RouteFolder()
        try app.model("App", "App", RouteFolder.entity("Book", "title", "shelf"))
        try app.model("App", "App 2", RouteFolder.entity("Book", "title", "year"))
        try app.current("App", "App 2")
        try app.generate("App", "App", rows: 30)
    }

    @Test("The output of each command matches its schema")
    func describesOutput() throws {
        let models = ["--models", "App.xcdatamodeld"]
        let commands: [(schema: String, words: [String], exitCode: Int32)] = [
            ("inspect", ["inspect", "App.sqlite"] + models, 0), ("inspect", ["inspect", "App.sqlite"], 0),
            ("diff", ["diff", "App.xcdatamodeld:App", "App.xcdatamodeld"], 0),
            ("diff", ["diff", "--check", "App.xcdatamodeld:App", "App.xcdatamodeld"], 1),
            ("hashes", ["inspect", "App.xcdatamodeld", "--hashes"], 0),
            ("graph", ["graph", "App.xcdatamodeld"], 0), ("graph", ["graph", "App.xcdatamodeld", "--to", "App 2"], 0),
            ("graph", ["graph", "App.xcdatamodeld", "--from", "App", "--to", "App 2", "--output", "d.dot"], 0),
            ("plan", ["plan", "App.sqlite"] + models, 0),
            ("plan", ["plan", "App.sqlite", "--check"] + models, 2),
            ("status", ["status", "App.sqlite"], 0), ("history", ["status", "App.sqlite", "--history"], 0),
            ("error", ["control", "App.sqlite", "pause"], 2),
            ("tune", ["tune", "App.sqlite", "--sizes", "10,20"] + models, 0),
            ("migrate", ["migrate", "App.sqlite"] + models, 2),
            ("migrate", ["migrate", "App.sqlite", "--rehearse"] + models, 0),
            (
                "migrate",
                ["migrate", "--accept-loss", "App.sqlite", "--output", "New.sqlite", "--hold-swap"] + models, 75
            ),
            ("status", ["status", "New.sqlite"], 0),
            ("migrate", ["migrate", "--accept-loss", "App.sqlite", "--output", "New.sqlite"] + models, 0),
            ("migrate", ["migrate", "--accept-loss", "App.sqlite"] + models, 0),
            ("migrate", ["migrate", "--accept-loss", "App.sqlite"] + models, 0),
            (
                "migrate-several",
                ["migrate", "--accept-loss", "App.sqlite", "None.sqlite", "--report", "reports"] + models, 2
            ),
            ("report", ["report", "reports"], 2),
            ("status", ["status", "App.sqlite"], 0), ("history", ["status", "App.sqlite", "--history"], 0),
            ("status-several", ["status", "App.sqlite", "New.sqlite"], 0),
            ("verify", ["verify", "App.sqlite"] + models, 0),
            ("repair", ["repair", "App.sqlite", "--recover"], 0),
            ("migrate", ["repair", "App.sqlite", "--missing"], 0),
            ("migrate", ["repair", "App.sqlite", "--drop-unknown", "none"] + models, 2),
            ("snapshot", ["snapshot", "list", "App.sqlite"], 0),
            ("snapshot", ["snapshot", "create", "App.sqlite"], 0),
            ("snapshot", ["rollback", "--check", "App.sqlite"], 0),
            ("snapshot", ["rollback", "App.sqlite", "--output", "Old.sqlite"], 0),
            ("snapshot-prune", ["snapshot", "prune", "App.sqlite", "--keep", "1"], 0),
            ("snapshot-prune", ["snapshot", "prune", "App.sqlite", "--keep-daily", "1", "--dry-run"], 0),
            ("verify", ["verify", "New.sqlite", "--source", "Old.sqlite"] + models, 2),
            ("rollback", ["rollback", "App.sqlite"], 0), ("history", ["status", "App.sqlite", "--history"], 0),
            ("mapping-init", ["mapping", "init", "App.xcdatamodeld:App", "App.xcdatamodeld"], 0),
            ("mapping-show", ["mapping", "show", "App.json"], 0),
            ("mapping-check", ["mapping", "check", "App.json"] + models, 2),
            ("model-export", ["model", "export", "App.sqlite", "--output", "Made.xcdatamodeld"], 0),
            ("generate", ["generate", "App.xcdatamodeld", "--rows", "5", "--output", "G.sqlite"], 0),
            ("help", ["help"], 0), ("help", ["help", "plan"], 0), ("version", ["--version"], 0),
            ("completions", ["completions", "fish"], 0), ("manual", ["manual", "plan"], 0),
            ("manual", ["manual", "--output", "man1"], 0),
            ("config-init", ["config", "init"], 0), ("error", ["inspect", "none.sqlite"], 2),
            ("error", ["plan", "App.sqlite", "--to"], 64),
        ]
        var seen: Set<String> = []
        for command in commands {
            // The mapping model is written only now: beside the models, the commands before would require it.
            if command.schema == "mapping-show" {
                try app.write(
                    #"{ "source": "App", "destination": "App 2", "entityMappings": [ { "name": "B", "source": "Book", "#
                        + #""destination": "Book", "attributes": { "none": "1" } } ] }"#, to: "App.json")
            }
            let outcome = try FerryBinary.run(command.words + ["--json"], in: app.folder.path)
            #expect(
                outcome.exitCode == command.exitCode || command.schema == "verify",
                "\(command.words): \(outcome.output)")
            // A refusal is the error alone, except that of plan and migrate.
            let tellsMore = ["plan", "migrate", "migrate-several", "diff"].contains(command.schema)
            let isError = outcome.output.contains("\"error\"") && !tellsMore
            let name = isError ? "error" : command.schema
            let differences = try JSONSchema(name).differences(in: outcome.output)
            #expect(differences.isEmpty, "\(command.words) and \(name): \(differences)")
            seen.insert(name)
        }
        let written = try FileManager.default.contentsOfDirectory(atPath: Fixtures.packageRoot + "/docs/schemas")
        let names = written.filter { $0.hasSuffix(".schema.json") }.map { String($0.dropLast(12)) }
        // An order needs a running migration: see `OperatorTests`.
        #expect(Set(names).subtracting(seen) == ["config", "control", "progress"], "each schema is tried by a command")
    }

    @Test("Each line of --progress json matches the schema")
    func describesProgress() throws {
        let outcome = try FerryBinary.run(
            ["migrate", "--accept-loss", "App.sqlite", "--models", "App.xcdatamodeld", "--json", "--progress", "json"],
            in: app.folder.path)
        let schema = try JSONSchema("progress")
        let lines = outcome.diagnostics.split(separator: "\n").map(String.init)
        #expect(lines.contains { $0.contains("\"warning\"") } && lines.count > 5)
        for line in lines { #expect(try schema.differences(in: line).isEmpty, "\(line)") }
    }

    @Test("Each difference from a schema is reported with its key")
    func findsDifferences() throws {
        let schema = try JSONSchema("config")
        #expect(try schema.differences(in: #"{ "ferry": 1, "models": ["A"], "limits": { "chunkRows": 2 } }"#).isEmpty)
        for text in [
            #"{ "ferry": 2 }"#, #"{ "models": [1] }"#, #"{ "model": [] }"#, #"{ "limits": { "chunkRows": true } }"#,
            "[]",
            #"{ "verify": "half" }"#,
        ] {
            #expect(try schema.differences(in: text).count == 1, "\(text)")
        }
        #expect(try !JSONSchema("version").differences(in: #"{ "ferry": 1 }"#).isEmpty)
    }
}
