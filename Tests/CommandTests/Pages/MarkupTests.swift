import FerryBase
import FerryCommand
import Foundation
import Testing

/// Names of entities, properties and files may have any characters.
@Suite("Pages and hostile names")
struct MarkupTests {
    private static let hostile = "</title><script>alert(1)</script><img src=x onerror=\"y\">'&\u{202E}\u{0}\u{2028}"

    @Test("A text stays a text, in elements and in attributes")
    func escapes() {
        #expect(
            Markup.escaped("<a href=\"x\">'&\u{202E}\u{0}") == "&lt;a href=&quot;x&quot;&gt;&#39;&amp;\u{FFFD}\u{FFFD}")
        #expect(Markup.escaped("Bücher 書籍 👩‍💻\n") == "Bücher 書籍 👩‍💻\n")
    }

    @Test(
        "No name breaks the markup of any page",
        arguments: [ReportPage.Kind.plan, .migrate, .verify, .tune, .fleet])
    func keepsNamesInPlace(kind: ReportPage.Kind) {
        let name = JSON.string(Self.hostile)
        let mapping = JSON.object([
            ("name", name), ("source", name), ("destination", name), ("executor", name), ("reason", name),
            ("rows", .integer(Int64(3))), ("written", .integer(Int64(3))), ("dropped", .integer(Int64(1))),
            ("step", .integer(Int64(1))),
        ])
        let place = JSON.object([
            ("entity", name), ("property", name), ("because", name), ("version", name), ("check", name),
            ("example", name), ("kind", name), ("name", name), ("code", name), ("message", name), ("remedy", name),
            ("outcome", name), ("store", name), ("examples", .array([name])), ("seconds", .integer(Int64(2))),
            ("stores", .integer(Int64(1))), ("from", name), ("to", name), ("reason", name),
            ("count", .integer(Int64(2))), ("rows", .integer(Int64(2))),
        ])
        let step = JSON.object([
            ("from", name), ("to", name), ("mode", name), ("reason", name), ("mappingModels", .array([name])),
            ("versions", .array([name, name])), ("isApartBecause", name),
            ("partitions", .array([.object([("entityMappings", .array([mapping]))])])),
        ])
        let list = JSON.array([place])
        let lists = [
            "losses", "refusals", "links", "differences", "phases", "healed", "kept", "unmapped", "leftovers",
            "outcomes",
            "reasons", "slowest",
        ]
        let report = JSON.object(
            lists.map { ($0, list) } + [
                ("store", name), ("source", name), ("from", name), ("to", name), ("mode", name), ("outcome", name),
                ("chain", .array([name, name])), ("steps", .array([step])), ("entityMappings", .array([mapping])),
                ("warnings", .array([name])), ("notes", .array([name])), ("droppedObjects", .array([name])),
                ("brokenExamples", .array([name])), ("snapshot", name), ("broken", .integer(Int64(1))),
                ("peakDiskBytes", .object([(Self.hostile, .integer(Int64(1)))])),
                ("verification", .object([("mode", name), ("found", list)])),
            ])
        let text = ReportPage(kind: kind, report: report).text
        #expect(text.contains("&lt;script&gt;"), "the name is shown")
        for word in ["<script", "<img", "\u{202E}", "\u{0}", "\u{2028}"] { #expect(!text.contains(word), "\(word)") }
        // The head has one title; the titles of drawings are tooltips with names.
        #expect(text.components(separatedBy: "</head>").count == 2)
        #expect(text.contains("default-src 'none'") || text.contains("default-src &#39;none&#39;"))
    }

    @Test("Numbers that no real report has still give a valid page")
    func survivesNonsense() {
        let text = ReportPage(
            kind: .migrate,
            report: .object([
                (
                    "samples",
                    .object([
                        ("intervalSeconds", .number(.infinity)),
                        ("intervals", .array(Array(repeating: .object([("rows", .number(-.infinity))]), count: 900))),
                    ])
                ),
                ("phases", .array([.object([("seconds", .number(.nan)), ("name", .null)])])),
                ("wallSeconds", .number(.greatestFiniteMagnitude)),
                (
                    "entityMappings",
                    .array([.object([("written", .integer(Int64.max)), ("read", .integer(Int64.min))])])
                ),
            ])
        ).text
        #expect(text.hasSuffix("</html>\n") || text.hasSuffix("</html>\n\n"), "\(text.suffix(40))")
    }
}
