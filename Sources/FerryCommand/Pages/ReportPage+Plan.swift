internal import FerryBase

extension ReportPage {
    func addPlan(to page: inout Page) {
        let refusals = report["refusals"].elements.count
        let losses = report["losses"].elements.count
        let chain = texts(report["chain"])
        let isUpToDate = report["steps"].elements.isEmpty && refusals == 0
        if report["error"].isNull {
            let loses = losses == 0 ? "Loses nothing." : "What is lost is listed below."
            if isUpToDate {
                page.verdict(.good, "Nothing to do: the store has version \(chain.first ?? "?") already.")
            } else if refusals > 0 {
                page.verdict(.bad, "Refused, for \(Int64(refusals).counting("reason")). \(losses > 0 ? loses : "")")
            } else {
                page.verdict(losses == 0 ? .good : .caution, "Runs. \(loses)")
            }
        }
        let unit = report["longestUnit"]
        page.facts(
            [
                ("From", chain.first), ("To", chain.last), ("Rows", report["rows"].whole.map(Quantity.grouped)),
                (
                    "Longest unit",
                    unit["seconds"].number.map {
                        "\(unit["kind"].text ?? "") \(unit["name"].text ?? ""), about \(Quantity.durationText(seconds: $0))"
                    }
                ),
            ]
                + report["peakDiskBytes"].members.map { folder, size in
                    ("Disk", bytes(size).map { "at most \($0) more in \(folder)" })
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
        addWarnings(to: &page)
    }

    /// Steps that differ in their versions and rows alone.
    private static func areAlike(_ one: JSON, _ next: JSON) -> Bool {
        [one, next].allSatisfy {
            $0["mappingModels"].elements.map(\.text) == ["inferred"] && $0["versions"].elements.count == 2
        } && one["mode"].text == next["mode"].text && one["reason"].text == next["reason"].text
    }

    private func add(_ step: JSON, number: Int, to page: inout Page) {
        page.heading("Step \(number): \(step["from"].text ?? "?") → \(step["to"].text ?? "?")")
        page.paragraph("\(Self.mode(step["mode"].text).capitalizedFirst): \(step["reason"].text ?? "").")
        if let reason = step["isApartBecause"].text {
            page.paragraph("Not one with the step before, because \(reason).")
        }
        let scratch = step["scratchBytes"].whole ?? 0
        page.facts([
            ("Mapping", texts(step["mappingModels"]).joined(separator: ", ")),
            ("Scratch", scratch > 0 ? "at most \(Quantity.sizeText(scratch)) while it runs" : nil),
        ])
        var flows: [FlowDrawing.Flow] = []
        var table = PageTable([
            .number("Partition"), .text("Entity mapping"), .text("From"), .text("To"), .number("Rows"),
            .text("Executor"), .text("Why"),
        ])
        for (index, partition) in step["partitions"].elements.enumerated() {
            for mapping in partition["entityMappings"].elements {
                let isEstimated = mapping["estimated"].isTrue
                table.add([
                    "\(index + 1)", mapping["name"].text ?? "", mapping["source"].text ?? "–",
                    mapping["destination"].text ?? "–", count(mapping["rows"], isEstimated: isEstimated),
                    mapping["executor"].text ?? "", mapping["reason"].text ?? "",
                ])
                flows.append(
                    FlowDrawing.Flow(
                        source: entity(mapping["source"]), destination: entity(mapping["destination"]),
                        count: mapping["rows"].whole, isEstimated: isEstimated, mapping: mapping["name"].text ?? ""))
            }
        }
        if let drawing = FlowDrawing(title: "Objects of step \(number), from entity to entity", flows: flows).markup {
            page.add(drawing)
        }
        page.table(table)
    }

    /// A plan writes a dash, or nothing, where a mapping has no entity on one side.
    private func entity(_ name: JSON) -> String? { name.text.flatMap { $0.isEmpty || $0 == "–" ? nil : $0 } }
}

extension String {
    fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
