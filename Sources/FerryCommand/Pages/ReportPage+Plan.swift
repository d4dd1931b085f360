internal import Ferry
internal import FerryBase

extension ReportPage {
    func addPlan(to page: inout Page) {
        let refusals = report["refusals"].elements.count
        let losses = report["losses"].elements.count
        let chain = report["chain"].texts
        let isUpToDate = report["steps"].elements.isEmpty && refusals == 0
        if report["error"].isNull {
            let loses = losses == 0 ? "Loses nothing." : "What is lost is listed below."
            if isUpToDate {
                page.verdict(.good, "Nothing to do: the store already has version \(chain.first ?? "?").")
            } else if refusals > 0 {
                page.verdict(.bad, "Refused, for \(Int64(refusals).counting("reason")). \(losses > 0 ? loses : "")")
            } else {
                page.verdict(losses == 0 ? .good : .caution, "Runs. \(loses)")
            }
        }
        let unit = report["longestUnit"]
        page.facts(
            [
                ("From", chain.first), ("To", chain.last), ("Rows", report["rows"].whole.map(\.grouped)),
                (
                    "Longest unit",
                    unit["seconds"].durationText.map {
                        "\(unit["kind"].text ?? "") \(unit["name"].text ?? ""), about \($0)"
                    }
                ),
            ]
                + report["peakDiskBytes"].members.map { folder, size in
                    ("Disk", size.sizeText.map { "at most \($0) more in \(folder)" })
                })
        addRefusals(to: &page)
        addLosses(to: &page)
        addChain(to: &page)
        let steps = report["steps"].elements.enumerated().map { (number: $0.offset + 1, step: $0.element) }
        for run in LikeRuns.of(steps, areAlike: { Self.areAlike($0.step, $1.step) }) {
            guard let first = run.first, let last = run.last else { continue }
            if run.count > 1 {
                page.heading("Steps \(first.number) to \(last.number)")
                page.paragraph(
                    "\(run.count) inferred steps, from \(first.step["from"].text ?? "?") to "
                        + "\(last.step["to"].text ?? "?"), each \(Self.mode(first.step["mode"].text)): "
                        + "\(first.step["reason"].text ?? "").")
            } else {
                add(first.step, number: first.number, to: &page)
            }
        }
        addLineage(to: &page)
        addWarnings(to: &page)
    }

    /// The way of each property that does not keep its name and entity through the chain.
    func addLineage(to page: inout Page) {
        let lineages = report["lineage"].elements
        guard !lineages.isEmpty else { return }
        page.heading("Where each property goes")
        page.paragraph("Properties that keep their name and entity are not listed.", isSoft: true)
        page.table(
            [.text("Property"), .text("Then")],
            lineages.map { lineage in
                let stops = lineage["versions"].elements.map { stop in
                    let names = stop["properties"].texts
                    let what =
                        stop["isByPolicy"].isTrue
                        ? "decided by a migration policy" : names.isEmpty ? "lost" : names.joined(separator: ", ")
                    return "\(what) (\(stop["version"].text ?? "?"))"
                }
                return [lineage["property"].text ?? "", stops.joined(separator: " → ")]
            })
    }

    /// Whether two steps differ only in their versions and rows.
    private static func areAlike(_ one: JSON, _ next: JSON) -> Bool {
        [one, next].allSatisfy {
            $0["mappingModels"].elements.map(\.text) == ["inferred"] && $0["versions"].elements.count == 2
        } && one["mode"].text == next["mode"].text && one["reason"].text == next["reason"].text
    }

    private func add(_ step: JSON, number: Int, to page: inout Page) {
        page.heading("Step \(number): \(step["from"].text ?? "?") → \(step["to"].text ?? "?")")
        page.paragraph("\(Self.mode(step["mode"].text).capitalizedFirst): \(step["reason"].text ?? "").")
        if let reason = step["isApartBecause"].text {
            page.paragraph("Not combined with the previous step, because \(reason).")
        }
        let scratch = step["scratchBytes"].whole ?? 0
        page.facts([
            ("Mapping", step["mappingModels"].texts.joined(separator: ", ")),
            ("Scratch", scratch > 0 ? "at most \(Quantity.sizeText(scratch)) while it runs" : nil),
        ])
        let mappings = step["partitions"].elements.enumerated().flatMap { index, partition in
            partition["entityMappings"].elements.map { (partition: index + 1, mapping: $0) }
        }
        let flows = mappings.map { _, mapping in
            FlowDrawing.Flow(
                source: entity(mapping["source"]), destination: entity(mapping["destination"]),
                count: mapping["rows"].whole, isEstimated: mapping["estimated"].isTrue,
                mapping: mapping["name"].text ?? "")
        }
        let title = "Objects of step \(number), from entity to entity"
        let anchors = EntityAnchors(
            part: number,
            rows: mappings.map { (entity($0.mapping["source"]), entity($0.mapping["destination"])) })
        if let drawing = FlowDrawing(title: title, flows: flows, anchors: anchors).markup { page.add(drawing) }
        page.table(
            PlanRendering.columns,
            mappings.map { partition, mapping in
                [
                    "\(partition)", mapping["name"].text ?? "", mapping["source"].text ?? "–",
                    mapping["destination"].text ?? "–",
                    mapping["rows"].countText(isEstimated: mapping["estimated"].isTrue),
                    mapping["executor"].text ?? "", mapping["reason"].text ?? "",
                ]
            }, anchors: anchors.ofRows)
        addStatements(of: number, to: &page)
    }

    /// The statements of each operation, folded under its reason.
    private func addStatements(of number: Int, to page: inout Page) {
        let step = report["sql"].elements.first { $0["step"].whole == Int64(number) }
        for part in step.map(Self.operations) ?? [] { page.add(part) }
    }

    /// The statements of each step and its operations, folded.
    func addStatements(to page: inout Page) {
        let steps = report["sql"].elements.map { ($0, Self.operations(of: $0)) }.filter { !$0.1.isEmpty }
        guard !steps.isEmpty else { return }
        page.heading("Statements")
        if let (_, parts) = steps.first, steps.count == 1 {
            for part in parts { page.add(part) }
        } else {
            for (step, parts) in steps {
                page.add(
                    Page.folded(
                        "Step \(step["step"].whole ?? 0): \(step["from"].text ?? "?") → \(step["to"].text ?? "?")",
                        parts))
            }
        }
    }

    private static func operations(of step: JSON) -> [Markup] {
        step["groups"].elements.compactMap { group in
            let statements = group["statements"].elements
            guard !statements.isEmpty else { return nil }
            let title = [group["phase"].text, group["reason"].text].compactMap { $0 }.joined(separator: ": ")
            let text = statements.map { ($0["sql"].text ?? "") + ";" }.joined(separator: "\n")
            return Page.folded(
                "\(title) (\(Int64(statements.count).counting("statement")))",
                [.element("pre", ["class": "sql"], text)])
        }
    }

    /// The entity of one side of a mapping; a plan writes a dash, or nothing, for a side without an entity.
    private func entity(_ name: JSON) -> String? { name.text.flatMap { $0.isEmpty || $0 == "–" ? nil : $0 } }
}

extension String {
    fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
