package import Ferry
internal import FerryBase

struct PlanCommand: PolicyCommand {
    static let syntax = Syntax(
        "plan", summary: "Show what a migration would do (read-only).",
        discussion: "Shows the store's version, the chain of versions to the target, and the work of each step. "
            + "If the migration would be refused, lists the reasons (exit 2), each with what to do about it.",
        operands: [MigrationInput.store],
        options: MigrationInput.options + [
            .flag("--check", "Also scan the rows, as a migration does before it starts."),
            .flag("--sql", "Print the statements of each step as an SQL script with comments."),
            .value("--budget", "TIME", "Warn if a unit of work takes longer than this (15s, 2min)."),
            PlanRendering.verbose, ReportFile.option,
        ],
        common: [
            "--models", "--mappings", "--to", "--chain", "--check", "--sql", "--verbose", "--report", "--json",
        ],
        example: "ferry plan App.sqlite --models App.xcdatamodeld --mappings Mappings --to \"App 3\"")

    let arguments: Arguments

    func run(on console: Console, policies: [String: PolicyFactory]) throws -> ExitCode {
        let input = try MigrationInput(arguments)
        do {
            return try ReportFile(from: arguments).written(PlanRendering.title, of: input.store.filePath) {
                let migrator = try input.migrator(policies)
                var configuration = input.configuration
                // A check answers as the migration will.
                if arguments.has("--check"), !arguments.has("--accept-loss") { configuration.losses = .refuse }
                configuration.budget = try arguments.time("--budget", "a time such as 500ms, 15s or 2min")
                let plan = try migrator.plan(configuration, checksRows: arguments.has("--check"))
                var rendering = PlanRendering(plan, arguments)
                if arguments.has("--sql"), plan.refusals.allSatisfy({ $0.code == .lossRefused }) {
                    let statements = StatementRendering(steps: try migrator.statements(input.configuration))
                    rendering.details.statements = statements.steps
                    rendering.printsStatements = true
                    console.result(rendering.json, verbatim: statements.text.joined(separator: "\n"))
                } else {
                    console.result(rendering.json, text: rendering.text(width:))
                    let isReported = arguments.value(ReportFile.option.name) != nil && plan.refusals.isEmpty
                    if isReported { rendering.details = PlanDetails(migrator, input.configuration) }
                }
                return (rendering, rendering.exitCode)
            }
        } catch {
            throw input.worded(error)
        }
    }
}

package struct PlanRendering: CommandReport {
    let plan: PlanReport
    var details = PlanDetails()
    /// Whether the statements are part of the object that is printed.
    var printsStatements = false
    /// Whether steps that are alike are printed one by one.
    let isVerbose: Bool
    /// The path of the `ferry.json` that was read, if any.
    let config: String?

    package init(_ plan: PlanReport, details: PlanDetails = PlanDetails()) {
        (self.plan, self.details, isVerbose, config) = (plan, details, false, nil)
    }

    init(_ plan: PlanReport, _ arguments: Arguments) {
        var plan = plan
        plan.refusals = plan.refusals.map { $0.naming(store: plan.store.filePath) }
        (self.plan, isVerbose, config) = (plan, arguments.has(Self.verbose.name), arguments.configPath)
    }

    static let columns: [TableColumn] = [
        .number("Partition"), .text("Entity mapping"), .text("From"), .text("To"), .number("Rows"), .text("Executor"),
        .text("Why"),
    ]

    static let verbose = Syntax.Option.flag(
        "--verbose", "List every step and every entity mapping, even if many are alike.")

    /// A plan with refusals is not an error, but it cannot run.
    var exitCode: ExitCode { plan.refusals.isEmpty ? .success : .refused }

    package var json: JSON {
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
            "warnings": plan.warnings.map(\.message), "warningDetails": WarningDetails.json(plan.warnings),
            "links": plan.linksJSON, "notScanned": plan.notScanned,
            "notChecked": plan.notChecked, "notes": plan.notes,
            "losses": LossTable(losses: plan.losses).json,
            "transformed": TransformedTable(transformed: plan.transformed ?? []).json,
            "estimatedSeconds": plan.estimatedTime?.inSeconds, "layoutStore": plan.layoutStore?.filePath,
            "isOwnModel": plan.isOwnModel == true,
            "snapshot": snapshot,
        ]
        return printsStatements ? printed + details.json : printed
    }

    package var extras: JSON { printsStatements ? [:] : details.json }

    package func text(width: Int) -> [String] {
        var lines = [verdict]
        if let list = plan.notChecked, !list.isEmpty, plan.refusals.isEmpty {
            lines.append("Not checked: \(list.joined(separator: "; ")).")
        }
        lines += ["", "Store    \(plan.store.filePath)"]
        if let config { lines.append("Config   \(config)") }
        if plan.isUpToDate {
            lines.append("Version  \(plan.chain.first ?? "unknown"), which is the target: there is nothing to do.")
        } else if !plan.chain.isEmpty {
            lines.append("Chain    " + ChainText.of(plan.chain, isWhole: isVerbose))
            lines.append("Rows     " + plan.rows.grouped)
        }
        if plan.isOwnModel == true { lines.append("Model    of the store's version: the one in the store") }
        if let store = plan.layoutStore { lines.append("Layout   like \(store.filePath)") }
        if let scans = plan.notScanned, !scans.isEmpty, plan.refusals.isEmpty {
            lines.append("Scans    only with --check: " + scans.joined(separator: "; "))
        }
        for (folder, bytes) in plan.peakDiskBytes.inOrder(by: { $0.key < $1.key }) {
            lines.append("Disk     at most \(Quantity.sizeText(bytes)) more in \(folder)")
        }
        // A snapshot of less than a second needs no line.
        if let snapshot = plan.snapshot, snapshot.seconds >= 1 {
            lines.append(
                "Snapshot about \(Quantity.sizeText(snapshot.bytes)) in \(Quantity.durationText(seconds: snapshot.seconds))"
                    + (snapshot.mayBeCloned ? "; --snapshot clone takes neither on this volume" : ""))
        }
        if let time = plan.estimatedTime, time >= .seconds(1) {
            lines.append("Time     about \(Quantity.durationText(time)) on this machine")
        }
        // A unit below a second needs no line.
        if let unit = plan.longestUnit, unit.seconds >= 1 {
            lines.append(
                "Longest  \(unit.kind == .joinTable ? "join table" : unit.kind.rawValue) \(unit.name) of step \(unit.step), about "
                    + "\(Quantity.durationText(seconds: unit.seconds)), as one unit")
        }
        if !plan.refusals.isEmpty {
            lines += ["", Emphasis.heading.mark("This cannot run:")]
            for refusal in plan.refusals {
                lines += ["  \(refusal.message)"] + refusal.remedyLines(indent: 4)
            }
        }
        if !plan.losses.isEmpty {
            lines += ["", Emphasis.heading.mark("Lost")] + LossTable(losses: plan.losses).lines(width: width)
        }
        lines += TransformedTable(transformed: plan.transformed ?? []).lines
        if !plan.links.isEmpty {
            lines += ["", Emphasis.heading.mark("Why this chain")] + links + plan.notes.map { "  " + $0 }
        }
        let areAlike = { (one: PlanReport.Step, next: PlanReport.Step) in !isVerbose && Self.areAlike(one, next) }
        for run in LikeRuns.of(plan.steps, areAlike: areAlike) {
            lines +=
                run.count > 1 ? text(run) : text(plan.steps[run.startIndex], number: run.startIndex + 1, width: width)
        }
        if !showsReasons {
            lines += [""] + reasons.inOrder { $0.key < $1.key }.map { "Executor \($0.key): \($0.value.joined())." }
        }
        let warnings = LossTable(losses: plan.losses).others(plan.warnings)
        if !warnings.isEmpty { lines += ["", Emphasis.heading.mark("Warnings")] + warnings.map { "  " + $0 } }
        return lines
    }

    private var links: [String] {
        LikeRuns.of(plan.links) { !isVerbose && $0.reason == $1.reason && $0.to == $1.from }.map { run in
            guard let first = run.first, let last = run.last, run.count > 1 else {
                return run.map { "  \($0.from) → \($0.to)  \($0.reason)" }.joined()
            }
            return "  \(first.from) → … → \(last.to)  \(run.count) steps, each \(first.reason)"
        }
    }

    /// Whether two steps differ only in their versions and rows.
    static func areAlike(_ one: PlanReport.Step, _ next: PlanReport.Step) -> Bool {
        one.mappingModels == ["inferred"] && next.mappingModels == ["inferred"] && one.mode == next.mode
            && one.reason == next.reason && one.versions.count == 2 && next.versions.count == 2
    }

    /// The lines of a run of inferred steps, printed as one step.
    private func text(_ run: ArraySlice<PlanReport.Step>) -> [String] {
        guard let first = run.first, let last = run.last else { return [] }
        var lines = [
            "",
            Emphasis.heading.mark(
                "Steps \(run.startIndex + 1) to \(run.endIndex)   \(first.from) → … → \(last.to)  "
                    + "(\(run.count) inferred steps)"),
            "  \(first.mode.words.capitalizedFirst): \(first.reason.sentenceEnd)",
        ]
        let reasons = Set(run.dropFirst().compactMap(\.isApartBecause))
        if let reason = reasons.first, reasons.count == 1 {
            lines.append("  Not one step, because \(reason.sentenceEnd)")
        }
        let most = run.map(\.scratchBytes).max() ?? 0
        if first.mode == .copy, most > 0 {
            lines.append("  Each at most \(Quantity.sizeText(most)) next to the new store while it runs.")
        }
        let mappings = run.map { $0.partitions.joined().count }.reduce(0, +)
        return lines + ["  \(Int64(mappings).counting("entity mapping")); --verbose lists them."]
    }

    private func text(_ step: PlanReport.Step, number: Int, width: Int) -> [String] {
        var lines = [
            "", Emphasis.heading.mark("Step \(number)   \(step.from) → \(step.to)  (\(modeText(step)))"),
            "  \(step.mode.words.capitalizedFirst): \(step.reason.sentenceEnd)",
        ]
        if let passed = passed(step) { lines.append("  " + passed) }
        if let reason = step.isApartBecause {
            lines.append("  Not combined with the previous step, because \(reason.sentenceEnd)")
        }
        if step.mode == .copy, step.scratchBytes > 0 {
            lines.append("  At most \(Quantity.sizeText(step.scratchBytes)) next to the new store while it runs.")
        }
        return lines + treatments(of: step, width: width) + text(step, width: width)
    }

    /// One line for each treatment; tables that share a reason for filling share a line.
    private func treatments(of step: PlanReport.Step, width: Int) -> [String] {
        guard let tables = step.tables, tables.contains(where: { $0.treatment != .filled }) else { return [] }
        var lines: [String] = []
        for (word, treatment) in [
            ("Kept", PlanReport.Table.Treatment.kept), ("Altered", .altered), ("Dropped", .dropped),
        ] {
            let names = tables.filter { $0.treatment == treatment }.map(\.name)
            if !names.isEmpty { lines.append("  \(word): \(list(names))") }
        }
        let filled = tables.filter { $0.treatment == .filled && $0.reason != nil }
        for (reason, tables) in filled.groups(by: { $0.reason ?? "" }) {
            lines.append("  Filled: \(list(tables.map(\.name))), because \(reason)")
        }
        return lines
    }

    private func list(_ names: [String]) -> String {
        let most = isVerbose ? Int.max : 6
        return names.prefix(most).joined(separator: ", ")
            + (names.count > most ? " and \(names.count - most) more" : "")
    }

    /// The executors and their different reasons.
    private var reasons: [String: Set<String>] {
        let mappings = plan.steps.flatMap { $0.partitions.joined() }
        return Dictionary(grouping: mappings, by: \.executor.rawValue).mapValues { Set($0.map(\.reason)) }
    }

    /// Whether each mapping shows its own reason; executors with one reason each take one line instead.
    private var showsReasons: Bool { reasons.values.contains { $0.count > 1 } || reasons.isEmpty }

    /// The result of the plan in one line.
    private var verdict: String {
        if plan.isUpToDate { return Emphasis.good.mark("Nothing to do.") }
        let losses = plan.losses.isEmpty ? "Loses nothing." : LossTable(losses: plan.losses).sentence
        if !plan.refusals.isEmpty, plan.refusals.allSatisfy({ $0.code == .lossRefused }) {
            return Emphasis.caution.mark("Runs once the losses are accepted. \(losses)")
        }
        guard plan.refusals.isEmpty else {
            return Emphasis.bad.mark(
                "Refused, for \(plan.refusals.count) reason\(plan.refusals.count == 1 ? "" : "s")."
                    + (plan.losses.isEmpty ? "" : " \(losses)"))
        }
        return (plan.losses.isEmpty ? Emphasis.good : .caution).mark("Runs. \(losses)")
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

    private func text(_ step: PlanReport.Step, width: Int) -> [String] {
        let rows = step.partitions.enumerated().flatMap { index, partition in
            partition.map { mapping in
                [
                    "\(index + 1)", mapping.name, mapping.source, mapping.destination,
                    Quantity.rowsText(mapping.rows, isEstimated: mapping.isEstimated), mapping.executor.rawValue,
                    mapping.reason,
                ]
            }
        }
        if rows.isEmpty { return [] }
        let shown = showsReasons ? Self.columns.count : Self.columns.count - 1
        return TextTable(Array(Self.columns.prefix(shown)), rows.map { Array($0.prefix(shown)) }).lines(width: width)
    }
}
