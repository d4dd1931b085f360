internal import Ferry
internal import FerryBase

/// What a command has found: the object that `--json` prints, and a report in parts.
protocol CommandReport {
    var json: JSON { get }
    /// Members that only a report file has.
    var extras: JSON { get }
    var report: Report { get }
}

extension CommandReport {
    var extras: JSON { [:] }

    func text(width: Int) -> [String] { report.text(width: width) }
}

protocol RunReport: CommandReport {
    var word: String { get }
    var code: ExitCode { get }
    func show(on console: Console)
}

extension RunReport {
    func show(on console: Console) { for line in text(width: console.width) { console.say(line) } }
}

struct ReportDetails {
    /// Nil if the run ended before its plan, and for the report of a plan.
    var plan: PlanReport?
    /// The way of each property that changes, and the statements of each step; nil if the migration is refused.
    var lineages: [PropertyLineage]?
    var statements: [PlannedStatements]?
    /// Nil for a plan.
    var samples: RunSamples?
    var memoryLimit: Int64 = 0

    /// Statements may need a module that this program does not have, and a plan may be refused: the command itself says
    /// so, as it reports an error of `migrator`, and the report has what can be told.
    mutating func take(_ migrator: @autoclosure () throws -> Migrator, _ configuration: Configuration) {
        do {
            let migrator = try migrator()
            lineages = try migrator.lineages(configuration)
            // A plan of a hundred versions holds some MiB; the migration needs them.
            releaseUnusedMemory()
            statements = try migrator.statements(configuration)
        } catch _ {}
        releaseUnusedMemory()
    }

    var json: JSON {
        var json: JSON = [:]
        if let plan { json += ["steps": plan.stepsJSON, "links": plan.linksJSON, "notes": plan.notes] }
        if let samples { json += ["memoryLimit": memoryLimit, "samples": samples.json] }
        if let lineages {
            let list = JSON.list(lineages) { lineage in
                let stops = JSON.list(lineage.stops) {
                    ["version": $0.version, "properties": $0.properties, "isByPolicy": $0.isByPolicy]
                }
                return ["property": lineage.property, "versions": stops]
            }
            json += ["lineage": list]
        }
        if let statements { json += ["sql": StatementRendering(steps: statements).json] }
        return json
    }

    func parts(inRehearsal isRehearsal: Bool = false, peak: Int64? = nil) -> [Report.Part] {
        let drawing = samples.flatMap {
            RunDrawing($0, limit: memoryLimit, peak: peak) { $0.label(inRehearsal: isRehearsal) }.markup
        }
        return [
            .onPage("Over time", drawing.map { [$0] } ?? []), .lineage(lineages ?? []), .statements(statements ?? []),
        ]
    }
}

/// The report of a command that ended with an error.
///
/// Without it, the report of an earlier call would tell of a success.
struct FailureReport: RunReport {
    let error: FerryError
    let store: String
    var title = MigrationRendering.title
    var details = ReportDetails()

    var code: ExitCode { ExitCode(error.code.consequence) }
    var word: String { outcome.word }

    private var outcome: (word: String, text: String, kind: Emphasis) {
        switch error.code.consequence {
        case .refused, .usage: ("refused", "Refused before anything changed.", .bad)
        case .failed, .differs: ("failed", "Failed; the store is unchanged.", .bad)
        case .resumable: ("resumable", "Stopped; run the same command to continue.", .caution)
        }
    }

    var extras: JSON { details.json }

    var json: JSON {
        var known: JSON = [
            "outcome": word, "from": details.plan?.chain.first, "to": details.plan?.chain.last,
            "mode": details.plan?.steps.first?.mode.rawValue, "store": store,
        ]
        if let summary { known += ["verification": summary.json] }
        if refusals.count > 1 { known += ["refusals": refusals.map(\.json)] }
        return known + ["error": error.json]
    }

    var report: Report {
        var parts: [Report.Part] = [
            .remedy(error.wordedRemedy),
            .facts(
                margin: 14,
                [
                    ("Store", store), ("Reason", error.code.name), ("From", details.plan?.chain.first),
                    ("To", details.plan?.chain.last), ("How", details.plan?.steps.first?.mode.words),
                    ("Verification", summary?.words),
                ]),
        ]
        if refusals.count > 1 { parts += Report.Part.refusals(refusals) }
        parts += Report.Part.differences(summary?.differences ?? [])
        return Report(title, outcome.kind, "\(outcome.text) \(error.message)", parts + details.parts())
    }

    func show(on console: Console) {
        console.note(error)
        for refusal in refusals.dropFirst() { console.note(refusal) }
        for difference in summary?.differences ?? [] {
            let name = placeName(difference.entity, difference.property)
            let place = [name, difference.example.map { "for example \($0)" } ?? ""].filter { !$0.isEmpty }
            console.note(
                "  \(difference.check): \(difference.count.grouped) "
                    + (place.isEmpty ? "" : "(\(place.joined(separator: ", ")))"))
        }
    }

    private var refusals: [FerryError] { (error.cause as? PlanRefusals)?.refusals ?? [] }
    private var summary: VerificationSummary? { (error.cause as? VerificationDifferences)?.summary }
}
