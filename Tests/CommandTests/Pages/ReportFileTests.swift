import FerryCommand
import Foundation
import TestSupport
import Testing

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
            "! Runs. What is lost is listed below.", "<h2>Lost</h2>", "<bdi>shelf</bdi>", "<h2>Chain</h2>",
            "class=\"version\"", "Step 1: App → App 2", "Objects of step 1, from entity to entity", "Book → Book: 30",
        ] {
            #expect(text.contains(word), "\(word)")
        }
        // The table already lists the losses.
        #expect(!text.contains("<h2>Warnings</h2>"))
    }

    @Test("A refusal gives a page, too, with the reason and the remedy, and replaces the page of an earlier call")
    func refuses() throws {
        #expect(try app.run(["plan", "App.sqlite", "--report", "p.html"] + models).exitCode == 0)
        #expect(try app.run(["plan", "App.sqlite", "--no-infer", "--report", "p.html"] + models).exitCode == 2)
        let refused = try page("p.html")
        #expect(refused.contains("✗ Refused, for 1 reason."))
        // One below the other, which fits a narrow page.
        #expect(refused.contains("<p>Add a mapping model from App to App 2"), "\(refused)")
        #expect(try app.run(["plan", "App.sqlite", "--to", "None", "--report", "p.html"] + models).exitCode == 2)
        #expect(try page("p.html").contains("noSuchVersion"))
        #expect(try app.run(["migrate", "App.sqlite", "--no-infer", "--report", "m.html"] + models).exitCode == 2)
        #expect(try page("m.html").contains("✗ Refused before anything changed."))
    }

    @Test("A migration's page has counts, phases and a chart over time; its JSON extends the output of --json")
    func migrates() throws {
        let words = ["migrate", "App.sqlite", "--rehearse", "--chunk-size", "5"] + models
        #expect(try app.run(words + ["--report", "m.html"]).exitCode == 0)
        let text = try page("m.html")
        for word in ["Rehearsed; nothing was changed.", "<h2>Objects</h2>", "<h2>Phases</h2>", "class=\"bar\""] {
            #expect(text.contains(word), "\(word)")
        }
        let printed = try app.run(words + ["--json", "--report", "m.json"])
        #expect(printed.exitCode == 0)
        let report = try String(contentsOfFile: app.folder.file("m.json"), encoding: .utf8)
        #expect(try JSONSchema("migrate").differences(in: report).isEmpty)
        for key in ["\"samples\"", "\"intervalSeconds\"", "\"steps\"", "\"memoryLimit\""] {
            #expect(report.contains(key) && !printed.output.contains(key), "\(key)")
        }
    }

    @Test("Verification and tune write pages, with a place as a difference's example")
    func verifies() throws {
        #expect(try app.run(["verify", "App.sqlite", "--report", "v.html"] + models).exitCode == 0)
        #expect(try page("v.html").contains("✓ No differences in 60 rows."))
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
