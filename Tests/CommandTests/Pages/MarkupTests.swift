import Ferry
import FerryBase
import Foundation
import Testing

@testable import FerryCommand

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

    /// A report of the library, from its JSON, in which `NAME` stands for a hostile name.
    private static func decoded<Report: Decodable>(_ json: String, as type: Report.Type = Report.self) throws -> Report
    {
        let name = String(decoding: try JSONEncoder().encode(hostile), as: UTF8.self)
        return try JSONDecoder().decode(type, from: Data(json.replacingOccurrences(of: "NAME", with: name).utf8))
    }

    private static let noTime = "[0, 0]"
    private static let loss =
        #"{"entity": NAME, "property": NAME, "version": NAME, "step": 1, "rows": 3, "isEstimated": false, "#
        + #""because": NAME, "text": NAME, "isByFilter": false}"#
    private static let warning = #"{"code": "other", "subject": {"entity": NAME}, "message": NAME}"#
    private static let error =
        #"{"code": NAME, "consequence": "refused", "message": NAME, "remedy": [{"text": NAME}], "place": {"#
        + #""models": [], "commands": [], "options": []}}"#
    private static let difference = #"{"check": NAME, "entity": NAME, "count": 2, "example": NAME}"#
    private static let statements =
        #"[{"step": 1, "from": NAME, "to": NAME, "isInPlace": false, "groups": [{"phase": "rows", "reason": NAME, "#
        + #""statements": [{"sql": NAME, "form": "chunks", "parameters": [{"name": NAME, "value": NAME}]}]}]}]"#
    private static let lineage =
        #"[{"property": NAME, "stops": [{"version": NAME, "properties": [NAME], "isByPolicy": false}]}]"#
    private static let plan = """
        {"store": "file:///Store.sqlite", "chain": [NAME, NAME], "rows": 3, "peakDiskBytes": {NAME: 1},
        "steps": [{"from": NAME, "to": NAME, "versions": [NAME, NAME], "isApartBecause": NAME, "mode": "copy",
        "reason": NAME, "mappingModels": [NAME], "scratchBytes": 1, "partitions": [[{"name": NAME, "source": NAME,
        "destination": NAME, "executor": NAME, "reason": NAME, "rows": 3, "isEstimated": false}]]}],
        "longestUnit": {"kind": NAME, "name": NAME, "step": 1, "rows": 1, "seconds": 1},
        "refusals": [\(error)], "warnings": [\(warning)], "notes": [NAME], "losses": [\(loss)],
        "links": [{"from": NAME, "to": NAME, "isInferred": false, "reason": NAME}]}
        """
    private static let verification = """
        {"mode": "full", "checked": 3, "notRecomputed": 0, "differences": [\(difference)]}
        """
    private static let migration = """
        {"outcome": "migrated", "store": "file:///Store.sqlite", "from": NAME, "to": NAME, "chain": [NAME, NAME],
        "mode": "copy", "entityMappings": [{"step": 1, "name": NAME, "source": NAME, "destination": NAME,
        "executor": NAME, "read": 3, "created": 0, "written": 3, "dropped": 1, "merged": 0}],
        "unmapped": [{"step": 1, "entity": NAME, "rows": 1}],
        "healed": [{"step": 1, "kind": NAME, "entity": NAME, "rows": 1}],
        "kept": [{"kind": NAME, "entity": NAME, "property": NAME, "rows": 1}],
        "leftovers": [{"kind": NAME, "name": NAME, "isKept": true}], "droppedObjects": [NAME],
        "externalFiles": {"removed": 0, "unreferenced": 0}, "chunks": {"count": 1}, "resumed": false,
        "wallTime": \(noTime), "earlierTime": \(noTime), "phases": [], "snapshot": "file:///Snapshots",
        "verification": \(verification), "warnings": [\(warning)], "losses": [\(loss)]}
        """

    private enum Kind: CaseIterable { case plan, migration, failure, verification, tuning, fleet, error }

    private static func report(_ kind: Kind) throws -> any CommandReport {
        var details = ReportDetails(lineages: try decoded(lineage), statements: try decoded(statements))
        if kind != .plan {
            details = ReportDetails(
                plan: try decoded(plan), lineages: try decoded(lineage), statements: try decoded(statements),
                samples: RunSamples())
        }
        switch kind {
        case .plan: return PlanRendering(plan: try decoded(plan), details: details)
        case .migration:
            return MigrationRendering(
                run: try decoded(migration), details: details)
        case .failure:
            return FailureReport(error: try decoded(error), store: hostile, details: details)
        case .verification:
            return VerificationRendering(summary: try decoded(verification), store: hostile, source: hostile)
        case .tuning:
            return TuneResult(store: hostile, sample: nil, chunkSeconds: 0.5, memoryLimit: 32 << 20, note: hostile)
        case .fleet:
            var sum = FleetSum()
            let name = JSON.string(hostile)
            _ = sum.take([
                "outcome": name, "store": name, "wallSeconds": 2, "error": ["code": name] as JSON,
            ])
            sum.takeBroken(hostile)
            sum.takeUnreadable(hostile, try decoded(error))
            return sum
        case .error: return FailureReport(error: try decoded(error), store: hostile, title: "Verification")
        }
    }

    @Test("No name breaks the markup of any page", arguments: Kind.allCases)
    private func keepsNamesInPlace(kind: Kind) throws {
        let text = try Self.report(kind).report.page
        #expect(text.contains("&lt;script&gt;"), "the name is shown")
        for word in ["<script", "<img", "\u{202E}", "\u{0}", "\u{2028}"] { #expect(!text.contains(word), "\(word)") }
        // The head has one title; the titles of drawings are tooltips with names.
        #expect(text.components(separatedBy: "</head>").count == 2)
        #expect(text.contains("default-src 'none'") || text.contains("default-src &#39;none&#39;"))
    }

    @Test("Numbers that no real report has still give a valid page")
    func survivesNonsense() throws {
        var report = try Self.decoded(Self.migration, as: MigrationReport.self)
        report.wallTime = .seconds(Int64.max)
        report.entityMappings[0].written = .max
        report.entityMappings[0].read = .min
        var samples = RunSamples()
        samples.begin(.rows, step: .max, at: .infinity, memoryBytes: .max)
        samples.begin(.verify, step: .min, at: -.infinity, memoryBytes: .min)
        samples.sample(at: .greatestFiniteMagnitude, memoryBytes: nil)
        for samples in [RunSamples(), samples] {
            let page = MigrationRendering(run: report, details: ReportDetails(samples: samples)).report.page
            #expect(page.hasSuffix("</html>\n") || page.hasSuffix("</html>\n\n"), "\(page.suffix(40))")
        }
    }
}
