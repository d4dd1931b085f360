internal import Ferry
internal import FerryBase

extension PlanRendering {
    static let title = "Migration plan"

    package var page: Page {
        var page = Page(Self.title, subject: plan.store.filePath)
        let loses = plan.losses.isEmpty ? "Loses nothing." : "What is lost is listed below."
        if plan.isUpToDate {
            page.verdict(.good, "Nothing to do: the store already has version \(plan.chain.first ?? "?").")
        } else if !plan.refusals.isEmpty {
            page.verdict(
                .bad,
                "Refused, for \(Int64(plan.refusals.count).counting("reason")). \(plan.losses.isEmpty ? "" : loses)")
        } else {
            page.verdict(plan.losses.isEmpty ? .good : .caution, "Runs. \(loses)")
        }
        let unit = plan.longestUnit.map {
            "\($0.kind.rawValue) \($0.name), about \(Quantity.durationText(seconds: $0.seconds))"
        }
        page.facts(
            [
                ("From", plan.chain.first), ("To", plan.chain.last), ("Rows", plan.rows.grouped),
                ("Longest unit", unit),
            ]
                + plan.peakDiskBytes.inOrder { $0.key < $1.key }.map { folder, size in
                    ("Disk", "at most \(Quantity.sizeText(size)) more in \(folder)")
                })
        page.refusals(plan.refusals)
        page.losses(plan.losses)
        page.chain(plan.chain, of: plan)
        let steps = plan.steps.enumerated().map { (number: $0.offset + 1, step: $0.element) }
        for run in LikeRuns.of(steps, areAlike: { Self.areAlike($0.step, $1.step) }) {
            guard let first = run.first, let last = run.last else { continue }
            if run.count > 1 {
                page.heading("Steps \(first.number) to \(last.number)")
                page.paragraph(
                    "\(run.count) inferred steps, from \(first.step.from) to \(last.step.to), each "
                        + "\(first.step.mode.words): \(first.step.reason).")
            } else {
                add(first.step, number: first.number, to: &page)
            }
        }
        page.lineage(details.lineages ?? [])
        page.warnings(plan.warnings)
        return page
    }

    private func add(_ step: PlanReport.Step, number: Int, to page: inout Page) {
        page.heading("Step \(number): \(step.from) → \(step.to)")
        page.paragraph("\(step.mode.words.capitalizedFirst): \(step.reason).")
        if let reason = step.isApartBecause {
            page.paragraph("Not combined with the previous step, because \(reason).")
        }
        let scratch = step.scratchBytes
        page.facts([
            ("Mapping", step.mappingModels.joined(separator: ", ")),
            ("Scratch", scratch > 0 ? "at most \(Quantity.sizeText(scratch)) while it runs" : nil),
        ])
        let mappings = step.partitions.enumerated().flatMap { index, partition in
            partition.map { (partition: index + 1, mapping: $0) }
        }
        let flows = mappings.map { _, mapping in
            FlowDrawing.Flow(
                source: entity(mapping.source), destination: entity(mapping.destination), count: mapping.rows,
                isEstimated: mapping.isEstimated, mapping: mapping.name)
        }
        let title = "Objects of step \(number), from entity to entity"
        let anchors = EntityAnchors(
            part: number, rows: mappings.map { (entity($0.mapping.source), entity($0.mapping.destination)) })
        if let drawing = FlowDrawing(title: title, flows: flows, anchors: anchors).markup { page.add(drawing) }
        page.table(
            Self.columns,
            mappings.map { partition, mapping in
                [
                    "\(partition)", mapping.name, mapping.source, mapping.destination,
                    mapping.rows.countText(isEstimated: mapping.isEstimated), mapping.executor.rawValue,
                    mapping.reason,
                ]
            }, anchors: anchors.ofRows)
        page.operations(of: number, in: details.statements ?? [])
    }

    /// The entity of one side of a mapping; a plan writes a dash, or nothing, for a side without an entity.
    private func entity(_ name: String) -> String? { name.isEmpty || name == "–" ? nil : name }
}

extension Page {
    /// The way of each property that does not keep its name and entity through the chain.
    mutating func lineage(_ lineages: [PropertyLineage]) {
        guard !lineages.isEmpty else { return }
        heading("Where each property goes")
        paragraph("Properties that keep their name and entity are not listed.", isSoft: true)
        table(
            [.text("Property"), .text("Then")],
            lineages.map { lineage in
                let stops = lineage.stops.map { stop in
                    let names = stop.properties
                    let what =
                        stop.isByPolicy
                        ? "decided by a migration policy" : names.isEmpty ? "lost" : names.joined(separator: ", ")
                    return "\(what) (\(stop.version))"
                }
                return [lineage.property, stops.joined(separator: " → ")]
            })
    }

    /// The statements of each operation of a step, folded under its reason.
    mutating func operations(of number: Int, in steps: [PlannedStatements]) {
        let step = steps.first { $0.step == number }
        for part in step.map(Self.operations) ?? [] { add(part) }
    }

    /// The statements of each step and its operations, folded.
    mutating func statements(_ steps: [PlannedStatements]) {
        let steps = steps.map { ($0, Self.operations(of: $0)) }.filter { !$0.1.isEmpty }
        guard !steps.isEmpty else { return }
        heading("Statements")
        if let (_, parts) = steps.first, steps.count == 1 {
            for part in parts { add(part) }
        } else {
            for (step, parts) in steps {
                add(Self.folded("Step \(step.step): \(step.from) → \(step.to)", parts))
            }
        }
    }

    private static func operations(of step: PlannedStatements) -> [Markup] {
        step.groups.compactMap { group in
            guard !group.statements.isEmpty else { return nil }
            let title = [group.phase?.rawValue, group.reason].compactMap { $0 }.joined(separator: ": ")
            let text = group.statements.map { $0.sql + ";" }.joined(separator: "\n")
            return folded(
                "\(title) (\(Int64(group.statements.count).counting("statement")))",
                [.element("pre", ["class": "sql"], text)])
        }
    }
}

extension String {
    var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
