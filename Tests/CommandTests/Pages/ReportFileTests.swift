import Foundation
import TestSupport
import Testing

@testable import FerryCommand

/// `--report` of `plan`, `migrate`, `verify` and `tune`.
@Suite("Report files")
struct ReportFileTests {
    private let app: RouteFolder
    private let models = ["--models", "App.xcdatamodeld"]

    init() throws {
        app = try RouteFolder()
        try app.model(
            "App", "App", RouteFolder.entity("Book", "title", "shelf") + RouteFolder.entity("Reader", "name"))
        try app.model(
            "App", "App 2", RouteFolder.entity("Book", "title", "year") + RouteFolder.entity("Reader", "name"))
        try app.current("App", "App 2")
        try app.generate("App", "App", rows: 30)
    }

    private func page(_ name: String) throws -> String {
        let text = try String(contentsOfFile: app.folder.file(name), encoding: .utf8)
        #expect(text.hasPrefix("<!DOCTYPE html>"))
        for word in ["<script", "http://", "https://", "src=", "@import", "url("] {
            #expect(!text.contains(word), "\(word)")
        }
        for (begin, end) in [("<table>", "</table>"), ("<svg", "</svg>"), ("<tr", "</tr>"), ("<section", "</section>")]
        {
            #expect(
                text.components(separatedBy: begin).count == text.components(separatedBy: end).count, "\(begin)")
        }
        return text
    }

    @Test("A plan's page has the verdict, the losses, the chain, the steps and the flow from entity to entity")
    func plans() throws {
        #expect(try app.run(["plan", "App.sqlite", "--report", "plan.html"] + models).exitCode == 0)
        let text = try page("plan.html")
        for word in [
            "! <bdi>Runs. Loses: ", ">Lost</h2>", "<bdi>shelf</bdi>", "<dt>Chain</dt><dd><bdi>App → App 2",
            "Step 1   App → App 2", "<details>", "ALTER TABLE",
            ">Where each property goes</h2>", "<bdi>Book.shelf</bdi>", "<bdi>lost (App 2)</bdi>",
        ] {
            #expect(text.contains(word), "\(word)")
        }
        // The table already lists the losses.
        #expect(!text.contains(">Warnings</h2>"))
        // Objects that go one to one need no drawing beside their table.
        #expect(!text.contains("<svg"))
    }

    @Test("Objects are drawn where they split, merge or are left out")
    func drawsFlows() throws {
        try app.write(
            #"{ "source": "App", "destination": "App 2", "entityMappings": [ "#
                + #"{ "name": "Some", "source": "Book", "destination": "Book", "where": "title != nil" }, "#
                + #"{ "name": "New", "source": "Reader", "destination": "Reader" } ] }"#, to: "App.json")
        let words = ["migrate", "App.sqlite", "--mappings", "App.json", "--accept-loss", "--report", "m.html"] + models
        #expect(try app.run(words).exitCode == 0)
        let plan = try app.run(["plan", "App.sqlite", "--report", "p.html"] + models)
        #expect(plan.exitCode == 0, "\(plan)")
        try app.execute("UPDATE ZBOOK SET ZTITLE = NULL WHERE Z_PK < 4")
        try app.generate("App", "App", rows: 30, as: "B.sqlite")
        try app.execute("UPDATE ZBOOK SET ZTITLE = NULL WHERE Z_PK < 4", on: "B.sqlite")
        let other = ["migrate", "B.sqlite", "--mappings", "App.json", "--accept-loss", "--report", "b.html"] + models
        #expect(try app.run(other).exitCode == 0)
        let text = try page("b.html")
        #expect(text.contains("Objects of step 1, from entity to entity") && text.contains("→ left out: "))
    }

    @Test("A long page has contents whose links lead to its parts; each cell of a table has its title for a card")
    func listsContents() throws {
        #expect(try app.run(["migrate", "App.sqlite", "--accept-loss", "--report", "m.html"] + models).exitCode == 0)
        let text = try page("m.html")
        let parts = text.matches(of: /<li><a href="#(part-[0-9]+)">([^<]+)<\/a>/)
        #expect(parts.count >= 4)
        for part in parts { #expect(text.contains("<h2 id=\"\(part.1)\">\(part.2)</h2>")) }
        let cells = text.matches(of: /<td( [^>]*)?>/)
        #expect(!cells.isEmpty && cells.allSatisfy { $0.output.0.contains("data-title=") })
        #expect(text.contains("Memory, and the phases of each step") && text.contains("limit 32.0 MiB"))
    }

    @Test("A failed verification says what to do, with a command that no line break spoils")
    func tellsRemedies() throws {
        try app.execute("UPDATE ZBOOK SET Z_ENT = 99 WHERE Z_PK < 4")
        #expect(try app.run(["verify", "App.sqlite", "--report", "v.html"] + models).exitCode == 3)
        let text = try page("v.html")
        #expect(text.contains(">What to do</h2>") && text.contains("<pre>ferry rollback "))
        let refused = try app.run(["migrate", "App.sqlite", "--lose", "Book.title", "--report", "r.html"] + models)
        #expect(refused.exitCode == 2)
        for command in try page("r.html").matches(of: /<pre>([^<]*)<\/pre>/) {
            #expect(command.1.hasPrefix("ferry ") && !command.1.contains("-\n"), "\(command.1)")
        }
    }

    @Test("A refusal gives a page, too, with the reason and the remedy, and replaces the page of an earlier call")
    func refuses() throws {
        try app.model(
            "App", "App 3", RouteFolder.entity("Book", "title:Integer 64") + RouteFolder.entity("Reader", "name"))
        #expect(try app.run(["plan", "App.sqlite", "--report", "p.html"] + models).exitCode == 0)
        #expect(try app.run(["plan", "App.sqlite", "--to", "App 3", "--report", "p.html"] + models).exitCode == 2)
        let refused = try page("p.html")
        #expect(refused.contains("✗ <bdi>Refused, for 1 reason."))
        // One below the other, which fits a narrow page.
        #expect(refused.contains("<p>Add a mapping model from App 2 to App 3"), "\(refused)")
        #expect(try app.run(["plan", "App.sqlite", "--to", "None", "--report", "p.html"] + models).exitCode == 2)
        #expect(try page("p.html").contains("noSuchVersion"))
        #expect(try app.run(["migrate", "App.sqlite", "--to", "App 3", "--report", "m.html"] + models).exitCode == 2)
        #expect(try page("m.html").contains("✗ <bdi>Refused before anything changed."))
    }

    @Test("A migration's page has counts, phases and a chart over time; its JSON extends the output of --json")
    func migrates() throws {
        let words = ["migrate", "App.sqlite", "--rehearse", "--chunk-size", "5"] + models
        #expect(try app.run(words + ["--report", "m.html"]).exitCode == 0)
        let text = try page("m.html")
        for word in [
            "; nothing was changed", "<dt>Peak memory</dt>", ">Over time</h2>", ">Statements</h2>",
            "<pre>", ">Where each property goes</h2>",
        ] {
            #expect(text.contains(word), "\(word)")
        }
        let printed = try app.run(words + ["--json", "--report", "m.json"])
        #expect(printed.exitCode == 0)
        let report = try String(contentsOfFile: app.folder.file("m.json"), encoding: .utf8)
        #expect(try JSONSchema("migrate").differences(in: report).isEmpty)
        for key in ["\"samples\"", "\"intervalSeconds\"", "\"steps\"", "\"memoryLimit\"", "\"sql\"", "\"lineage\""] {
            #expect(report.contains(key) && !printed.output.contains(key), "\(key)")
        }
    }

    @Test("Verification and tune write pages, with a place as a difference's example")
    func verifies() throws {
        #expect(try app.run(["verify", "App.sqlite", "--report", "v.html"] + models).exitCode == 0)
        #expect(try page("v.html").contains("60 rows, no differences."))
        try app.execute("UPDATE ZBOOK SET Z_ENT = 99 WHERE Z_PK < 4")
        #expect(try app.run(["verify", "App.sqlite", "--report", "v.html"] + models).exitCode == 3)
        let text = try page("v.html")
        #expect(text.contains("class=\"verdict bad\"") && text.contains("ZBOOK"))
    }

    @Test("A file that Ferry did not write is refused before the command begins, and stays")
    func keepsOtherFiles() throws {
        try app.write("<!DOCTYPE html><p>mine</p>", to: "mine.html")
        try app.write("{ \"mine\": 1 }", to: "mine.json")
        for name in ["mine.html", "mine.json"] {
            let before = try String(contentsOfFile: app.folder.file(name), encoding: .utf8)
            for command in ["plan", "verify"] {
                let outcome = try app.run([command, "App.sqlite", "--report", name] + models)
                #expect(outcome.exitCode == 2 && outcome.diagnostics.contains("already exists"), "\(outcome)")
            }
            try app.refused("migrate", "App.sqlite", "--models", "App.xcdatamodeld", "--report", name)
            #expect(try String(contentsOfFile: app.folder.file(name), encoding: .utf8) == before)
        }
        try app.refused("migrate", "App.sqlite", "--models", "App.xcdatamodeld", "--report", "none/r.html")
        #expect(try app.run(["plan", "App.sqlite", "--report", "App.sqlite"] + models).exitCode == 64)
        for command in ["verify", "migrate"] {
            #expect(try app.run([command, "App.sqlite", "--report", "r.pdf"] + models).exitCode == 64)
        }
        #expect(!FileManager.default.fileExists(atPath: app.folder.file("r.pdf")))
    }
}
