internal import Ferry
internal import FerryBase

struct PlanCommand: Command {
    static let name = "plan"

    let arguments: Arguments

    func run(on console: Console) throws -> ExitCode {
        let input = try MigrationInput(arguments)
        do {
            return try ReportFile.named(by: arguments).written(PlanRendering.title, of: input.store.filePath) {
                let migrator = try input.migrator()
                var configuration = input.configuration
                try configuration.takeMemoryLimit(arguments)
                // A check answers as the migration will.
                if arguments.has("--check"), !arguments.has("--accept-loss") { configuration.losses.areAllowed = false }
                configuration.limits.budget = try arguments.time("--budget", "a time such as 500ms, 15s or 2min")
                var plan = try migrator.plan(configuration, checksRows: arguments.has("--check"))
                plan.refusals = plan.refusals.map { $0.naming(store: plan.store.filePath, arguments) }
                var rendering = PlanRendering(plan: plan, config: arguments.configPath)
                if arguments.has("--sql"), plan.refusals.allSatisfy({ $0.code == .lossRefused }) {
                    let statements = StatementRendering(steps: try migrator.statements(input.configuration))
                    rendering.details.statements = statements.steps
                    rendering.printsStatements = true
                    console.result(rendering.json, verbatim: statements.text.joined(separator: "\n"))
                } else {
                    console.result(rendering.json, text: rendering.report.text(width:))
                    let isReported = arguments.value("--report") != nil && plan.refusals.isEmpty
                    if isReported { rendering.details.take(migrator, input.configuration) }
                }
                return (rendering, rendering.exitCode)
            }
        } catch {
            throw input.worded(error)
        }
    }
}

struct PlanRendering: CommandReport {
    let plan: PlanReport
    var details = ReportDetails()
    var printsStatements = false
    var config: String?

    static let title = "Migration plan"
    private static let columns: [TableColumn] = [
        .number("Partition"), .name("Entity mapping"), .name("From"), .name("To"), .number("Rows"), .text("Executor"),
    ]

    /// A plan with refusals is not an error, but it cannot run.
    var exitCode: ExitCode { plan.refusals.isEmpty ? .success : .refused }

    var json: JSON {
        let longest = plan.longestUnit.map { unit -> JSON in
            [
                "kind": unit.kind.rawValue, "name": unit.name, "step": unit.step, "rows": unit.rows,
                "seconds": unit.seconds,
            ]
        }
        let snapshot = plan.snapshot.map { snapshot -> JSON in
            [
                "clone": snapshot.isClone, "bytes": snapshot.bytes, "seconds": snapshot.seconds,
                "mayBeCloned": snapshot.mayBeCloned,
            ]
        }
        let printed: JSON = [
            "store": plan.store.filePath, "chain": plan.chain, "steps": plan.stepsJSON, "rows": plan.rows,
            "peakDiskBytes": JSON.object(
                plan.peakDiskBytes.inOrder { $0.key < $1.key }.map { ($0.key, .integer($0.value)) }),
            "longestUnit": longest, "refusals": plan.refusals.map(\.json),
            "warnings": plan.warnings.map(\.message), "warningDetails": JSON.list(plan.warnings, \.json),
            "links": plan.linksJSON, "notScanned": plan.notScanned,
            "notChecked": plan.notChecked, "notes": plan.notes,
            "losses": plan.losses.json,
            "transformed": (plan.transformed ?? []).json,
            "estimatedSeconds": plan.estimatedTime?.inSeconds, "layoutStore": plan.layoutStore?.filePath,
            "isOwnModel": plan.isOwnModel == true,
            "snapshot": snapshot,
        ]
        return printsStatements ? printed + details.json : printed
    }

    var extras: JSON { printsStatements ? [:] : details.json }

    var report: Report {
        var parts: [Report.Part] = []
        if let list = plan.notChecked, !list.isEmpty, plan.refusals.isEmpty {
            parts.append(.paragraph("Not checked: \(list.joined(separator: "; "))."))
        }
        parts += [.space, .facts(margin: 9, facts)] + Report.Part.refusals(plan.refusals)
        parts += Report.Part.losses(plan.losses)
        parts += (plan.transformed ?? []).parts
        if !plan.links.isEmpty { parts += Report.Part.titled("Why this chain", links + plan.notes) }
        for (index, step) in plan.steps.enumerated() { parts += self.step(step, number: index + 1) }
        parts += [.space] + executors.map { .paragraph($0) }
        parts += Report.Part.titled("Warnings", plan.losses.others(plan.warnings))
        return Report(Self.title, verdict.kind, verdict.text, parts + details.parts())
    }

    private var facts: [(label: String, value: String?)] {
        let (chain, target) = (plan.chain, plan.chain.first ?? "unknown")
        var facts: [(label: String, value: String?)] = [
            ("Store", plan.store.filePath), ("Config", config),
            ("Version", plan.isUpToDate ? "\(target), which is the target: there is nothing to do." : nil),
        ]
        if !plan.isUpToDate, !chain.isEmpty {
            facts += [("Chain", ChainText.of(chain)), ("Rows", plan.rows.grouped)]
        }
        let scans = plan.refusals.isEmpty ? plan.notScanned ?? [] : []
        facts += [
            ("Model", plan.isOwnModel == true ? "of the store's version: the one in the store" : nil),
            ("Layout", plan.layoutStore.map { "like \($0.filePath)" }),
            ("Scans", scans.isEmpty ? nil : "only with --check: " + scans.joined(separator: "; ")),
        ]
        facts += plan.peakDiskBytes.inOrder { $0.key < $1.key }.map { folder, bytes in
            ("Disk", "at most \(bytes.bytesInUnits) more in \(folder)")
        }
        // What takes less than a second needs no line.
        if let snapshot = plan.snapshot, snapshot.seconds >= 1 {
            let time = Quantity.durationText(seconds: snapshot.seconds)
            let clone = snapshot.mayBeCloned ? "; --snapshot clone takes neither on this volume" : ""
            facts.append(("Snapshot", "about \(snapshot.bytes.bytesInUnits) in \(time)\(clone)"))
        }
        if let time = plan.estimatedTime, time >= .seconds(1) {
            let unit = plan.longestUnit.flatMap { $0.kind == .transaction && $0.seconds >= 1 ? $0 : nil }
            let part = unit.map { ", of which \(Quantity.durationText(seconds: $0.seconds)) in one transaction" } ?? ""
            facts.append(("Time", "about \(Quantity.durationText(time)) on this machine\(part)"))
        }
        return facts
    }

    /// Chains of many versions have many links for one reason.
    private var links: [String] {
        let links = plan.links.prefix(8).map { "\($0.from) → \($0.to)  \($0.reason)" }
        return links + (plan.links.count > 8 ? ["and \(plan.links.count - 8) more; --json has all"] : [])
    }

    private func step(_ step: PlanReport.Step, number: Int) -> [Report.Part] {
        var lines = ["\(step.mode.words.capitalizedFirst): \(step.reason.sentenceEnd)"]
        if let passed = passed(step) { lines.append(passed) }
        if let reason = step.isApartBecause {
            lines.append("Not combined with the previous step, because \(reason.sentenceEnd)")
        }
        if step.mode == .copy, step.scratchBytes > 0 {
            lines.append("At most \(step.scratchBytes.bytesInUnits) next to the new store while it runs.")
        }
        let flows = step.partitions.joined().map { mapping in
            FlowDrawing.Flow(
                source: entity(mapping.source), destination: entity(mapping.destination), count: mapping.rows,
                isEstimated: mapping.isEstimated, mapping: mapping.name)
        }
        let drawing = FlowDrawing(title: "Objects of step \(number), from entity to entity", flows: flows)
        return [
            .heading("Step \(number)   \(step.from) → \(step.to)  (\(modeText(step)))"),
            .list(lines + treatments(of: step)), .onPage(nil, [drawing.markup].compactMap { $0 }), table(of: step),
        ]
    }

    /// The entity of one side of a mapping; a plan writes a dash, or nothing, for a side without an entity.
    private func entity(_ name: String) -> String? { name.isEmpty || name == "–" ? nil : name }

    /// One line for each treatment; tables that share a reason for filling share a line.
    private func treatments(of step: PlanReport.Step) -> [String] {
        guard let tables = step.tables, tables.contains(where: { $0.treatment != .filled }) else { return [] }
        var lines: [String] = []
        for (word, treatment) in [
            ("Kept", PlanReport.Table.Treatment.kept), ("Altered", .altered), ("Dropped", .dropped),
        ] {
            let names = tables.filter { $0.treatment == treatment }.map(\.name)
            if !names.isEmpty { lines.append("\(word): \(names.listed(6))") }
        }
        let filled = tables.filter { $0.treatment == .filled && $0.reason != nil }
        for (reason, tables) in filled.groups(by: { $0.reason ?? "" }) {
            lines.append("Filled: \(tables.map(\.name).listed(6)), because \(reason)")
        }
        return lines
    }

    /// A line for each executor, and for each reason of it with the entity mappings if it has several.
    private var executors: [String] {
        plan.steps.flatMap { $0.partitions.joined() }.groups(by: \.executor.rawValue).flatMap { executor, mappings in
            let reasons = mappings.groups(by: \.reason)
            return reasons.map { reason, own in
                let names = reasons.count > 1 ? " of \(own.map(\.name).distinct.listed(4))" : ""
                return "Executor \(executor)\(names): \(reason.sentenceEnd)"
            }
        }
    }

    private var verdict: (kind: Emphasis, text: String) {
        if plan.isUpToDate { return (.good, "Nothing to do.") }
        let losses = plan.losses.isEmpty ? "Loses nothing." : plan.losses.sentence
        if plan.refusals.isEmpty { return (plan.losses.isEmpty ? .good : .caution, "Runs. \(losses)") }
        if plan.refusals.allSatisfy({ $0.code == .lossRefused }) {
            return (.caution, "Runs once the losses are accepted. \(losses)")
        }
        let count = Int64(plan.refusals.count).counting("reason")
        return (.bad, "Refused, for \(count)." + (plan.losses.isEmpty ? "" : " \(losses)"))
    }

    private func modeText(_ step: PlanReport.Step) -> String {
        if step.mode == .refused { return "refused" }
        if step.mappingModels == ["inferred"] { return "inferred mapping" }
        let names = step.mappingModels.joined(separator: ", ")
        return "mapping model\(step.mappingModels.count == 1 ? "" : "s") \(names)"
    }

    /// The versions that a step passes without writing a store for them.
    private func passed(_ step: PlanReport.Step) -> String? {
        let versions = step.versions.dropFirst().dropLast()
        guard !versions.isEmpty else { return nil }
        let names =
            versions.count > 4 ? "the \(versions.count) versions between them" : versions.joined(separator: ", ")
        return "Includes \(names) in the same pass over the rows."
    }

    private func table(of step: PlanReport.Step) -> Report.Part {
        let rows = step.partitions.enumerated().flatMap { index, partition in
            partition.map { mapping in
                [
                    "\(index + 1)", mapping.name, mapping.source, mapping.destination,
                    Quantity.rowsText(mapping.rows, isEstimated: mapping.isEstimated), mapping.executor.rawValue,
                ]
            }
        }
        return rows.isEmpty ? .list([]) : .table(Self.columns, rows)
    }
}

extension PlanReport.Step.Mode {
    var words: String {
        switch self {
        case .inPlace: "in place"
        case .copy: "copied"
        case .nothing, .refused: rawValue
        }
    }
}

extension String { var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() } }

/// The parts of a plan's JSON that the report of a migration has, too.
extension PlanReport {
    var stepsJSON: JSON { .list(steps, \.json) }

    var linksJSON: JSON {
        .list(links) { ["from": $0.from, "to": $0.to, "inferred": $0.isInferred, "reason": $0.reason] }
    }
}

extension PlanReport.Step {
    fileprivate var json: JSON {
        [
            "from": from, "to": to, "versions": versions, "isApartBecause": isApartBecause,
            "mode": mode.rawValue, "reason": reason, "mappingModels": mappingModels,
            "partitions": JSON.list(partitions) { mappings in
                [
                    "entityMappings": JSON.list(mappings) {
                        [
                            "name": $0.name, "source": $0.source, "destination": $0.destination,
                            "executor": $0.executor.rawValue, "reason": $0.reason, "rows": $0.rows,
                            "estimated": $0.isEstimated,
                        ]
                    }
                ]
            },
            "scratchBytes": scratchBytes,
            "tables": tables.map { tables in
                JSON.list(tables) {
                    [
                        "name": $0.name, "entity": $0.entity, "treatment": $0.treatment.rawValue,
                        "reason": $0.reason,
                    ]
                }
            },
        ]
    }
}

struct StatementRendering {
    let steps: [PlannedStatements]

    var json: JSON {
        .list(steps) { step in
            [
                "step": step.step, "from": step.from, "to": step.to, "inPlace": step.isInPlace,
                "groups": JSON.list(step.groups, json),
            ]
        }
    }

    private func json(_ group: PlannedStatements.Group) -> JSON {
        [
            "phase": group.phase?.rawValue, "reason": group.reason,
            "statements": JSON.list(group.statements) { statement in
                let parameters = statement.parameters.map { ($0.name, JSON.string($0.value)) }
                return [
                    "sql": statement.sql, "form": statement.form.rawValue, "parameters": JSON.object(parameters),
                ]
            },
        ]
    }

    var text: [String] {
        if steps.isEmpty { return ["-- The store already has the target version: there is nothing to run."] }
        return steps.flatMap { lines(of: $0) }
    }

    private func lines(of step: PlannedStatements) -> [String] {
        var lines = step.step == 1 ? [] : [""]
        lines.append("-- Step \(step.step) of \(steps.count): \(Self.comment(step.from)) to \(Self.comment(step.to)).")
        if step.isInPlace {
            lines.append("-- In place, in one transaction; checks run before its COMMIT.")
        } else {
            lines += [
                "-- main is the new store, source the old one; scratch contains associations and lookups.",
                "-- A chunk contains the rows with keys above :low, up to :high; :last is the last key of all.",
            ]
        }
        for group in step.groups {
            lines += ["", "-- " + Self.comment(group.reason ?? "tables") + Self.form(of: group.statements)]
            for statement in group.statements {
                lines += (statement.sql + (statement.sql.hasSuffix(";") ? "" : ";"))
                    .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
                lines += statement.parameters.map { "--   \($0.name) = \(Self.comment($0.value))" }
            }
        }
        return lines
    }

    private static func form(of statements: [PlannedStatements.Statement]) -> String {
        if statements.contains(where: { $0.form == .rows }) { return ", row by row" }
        return statements.contains { $0.form == .chunks } ? ", in chunks" : ""
    }

    private static func comment(_ text: String) -> String {
        String(text.map { $0.isNewline ? " " : $0 })
    }
}
