internal import Ferry
internal import FerryBase

extension ReportPage {
    func addMigration(to page: inout Page) {
        let (verdict, words) = outcome
        page.verdict(verdict, words)
        addRemedy(of: report["error"], to: &page)
        addHeadline(to: &page)
        page.facts([
            ("Reason", report["error"]["code"].text), ("From", report["from"].text), ("To", report["to"].text),
            ("How", report["mode"].text.map { Self.mode($0) }),
            (
                "Earlier calls",
                (report["earlierSeconds"].number ?? 0) > 0 ? report["earlierSeconds"].durationText : nil
            ),
            ("Chunks", chunks),
            ("Peak disk", report["peakDiskBytes"].sizeText), ("Read", report["bytesRead"].sizeText),
            ("Written", report["bytesWritten"].sizeText),
            ("Snapshot", report["outcome"].text == "migrated" ? report["snapshot"].text ?? "none" : nil),
            ("Verification", verification),
        ])
        addRefusals(to: &page)
        addDifferences(report["verification"]["found"].elements, to: &page)
        addLosses(to: &page)
        addChain(to: &page)
        addCounts(to: &page)
        addLineage(to: &page)
        addStatements(to: &page)
        addPhases(to: &page)
        addTime(to: &page)
        addRemarks(to: &page)
        addWarnings(to: &page)
    }

    private var outcome: (Page.Verdict, String) {
        let losses = report["losses"].elements.isEmpty ? "" : " What was lost is listed below."
        let verdict: Page.Verdict = losses.isEmpty ? .good : .caution
        let message = report["error"]["message"].text ?? ""
        switch report["outcome"].text {
        case "migrated":
            return (verdict, (report["resumed"].isTrue ? "Migrated, after an interruption." : "Migrated.") + losses)
        case "rehearsed": return (verdict, "Rehearsed; nothing was changed." + losses)
        case "upToDate": return (.good, "Nothing to do: the store already has the target version.")
        case "copied": return (.good, "Copied: the store already has the target version.")
        case "resumable": return (.caution, "Stopped; run the same command to continue. \(message)")
        case "refused": return (.bad, "Refused before anything changed. \(message)")
        case "failed": return (.bad, "Failed; the store is unchanged. \(message)")
        case let other: return (.caution, "\(other ?? "?") \(message)")
        }
    }

    private func addHeadline(to page: inout Page) {
        let mappings = report["entityMappings"].elements
        let last = mappings.compactMap { $0["step"].whole }.max()
        let rows = mappings.filter { $0["step"].whole == last }.compactMap { $0["written"].whole }.clampedSum
        let (peak, limit) = (report["peakResidentBytes"].whole, report["memoryLimit"].whole)
        let memory = peak.map { peak in
            Quantity.sizeText(peak) + (limit.map { " of \(Quantity.sizeText($0))" } ?? "")
        }
        let isOver = limit.flatMap { limit in peak.map { $0 > limit } } ?? false
        page.headline([
            ("time", report["wallSeconds"].durationText, false),
            ("rows in the migrated store", mappings.isEmpty ? nil : rows.grouped, false),
            (isOver ? "memory at most, above the limit" : "memory at most", memory, isOver),
        ])
    }

    private var chunks: String? {
        guard let number = report["chunks"].whole, number > 0 else { return nil }
        let times = [("half within", "p50"), ("nine of ten within", "p90"), ("longest", "longest")].compactMap {
            words, key in report["chunkSeconds"][key].durationText.map { "\(words) \($0)" }
        }
        return ([number.grouped] + times).joined(separator: ", ")
    }

    private var verification: String? {
        let summary = report["verification"]
        guard let mode = summary["mode"].text else { return nil }
        if mode == "none" { return "none" }
        let checked = summary["checked"].whole ?? 0
        let differences = summary["differences"].whole ?? 0
        let found = differences == 0 ? "no differences" : differences.counting("difference")
        let open = summary["notRecomputed"].whole ?? 0
        // A quick verification may compare none.
        let isEarly = mode == "beforeCommit"
        let rows = checked > 0 ? checked.counting("row") + (isEarly ? ", " : " compared, ") : ""
        return (isEarly ? "before COMMIT: " : "\(mode): ") + rows + found
            + (open > 0 ? "; \(open.counting("value")) not recomputed" : "")
    }

    private func addCounts(to page: inout Page) {
        let mappings = report["entityMappings"].elements
        let steps = Dictionary(grouping: mappings) { $0["step"].whole ?? 1 }.sorted { $0.key < $1.key }
            .map { (number: $0.key, mappings: $0.value) }
        guard !steps.isEmpty else { return }
        page.heading("Objects")
        let runs = LikeRuns.of(steps) { one, next in
            one.mappings.map { $0.line(without: "step") } == next.mappings.map { $0.line(without: "step") }
        }
        for (number, run) in runs.enumerated() {
            guard let first = run.first, let last = run.last else { continue }
            let anchors = EntityAnchors(
                part: number + 1, rows: first.mappings.map { ($0["source"].text, $0["destination"].text) })
            let title =
                run.count > 1
                ? "Objects of each of the steps \(first.number) to \(last.number), from entity to entity"
                : "Objects of step \(first.number), from entity to entity"
            let drawing = FlowDrawing(title: title, flows: first.mappings.flatMap(flows), anchors: anchors)
            if let markup = drawing.markup { page.add(markup) }
            // A column of zeros only makes the cards of a narrow page longer.
            let counts = ["read", "created", "written", "dropped", "merged"].filter { key in
                ["read", "written"].contains(key) || first.mappings.contains { $0[key].whole != 0 }
            }
            page.table(
                [.text("Entity mapping"), .text("From"), .text("To")]
                    + counts.map { .number($0.prefix(1).uppercased() + $0.dropFirst()) },
                first.mappings.map { mapping in
                    [mapping["name"].text ?? "", mapping["source"].text ?? "–", mapping["destination"].text ?? "–"]
                        + counts.map { mapping[$0].countText(isEstimated: mapping["estimated"].isTrue) }
                }, anchors: anchors.ofRows)
        }
    }

    private func flows(_ mapping: JSON) -> [FlowDrawing.Flow] {
        let source = mapping["source"].text
        let (isEstimated, name) = (mapping["estimated"].isTrue, mapping["name"].text ?? "")
        return [
            FlowDrawing.Flow(
                source: source, destination: mapping["destination"].text, count: mapping["written"].whole,
                isEstimated: isEstimated, mapping: name),
            FlowDrawing.Flow(
                source: source, count: mapping["dropped"].whole, isEstimated: isEstimated, mapping: name),
            FlowDrawing.Flow(
                source: source, count: mapping["merged"].whole, isEstimated: isEstimated, mapping: name,
                end: "merged"),
        ]
    }

    private func addPhases(to page: inout Page) {
        let phases = report["phases"].elements
        let longest = phases.compactMap { $0["seconds"].number }.max() ?? 0
        guard longest > 0 else { return }
        page.heading("Phases")
        // A phase that takes no time has no speed.
        let speeds = phases.map { phase in
            [Phase.swap, .cleanUp].map(\.rawValue).contains(phase["name"].text)
                ? ""
                : Quantity.rateText(
                    rowsPerSecond: phase["rowsPerSecond"].number, bytesPerSecond: phase["bytesPerSecond"].number,
                    seconds: phase["seconds"].number ?? 0) ?? ""
        }
        let shown = speeds.allSatisfy(\.isEmpty) ? 3 : 4
        let rows = zip(phases, speeds).map { phase, speed -> [Markup] in
            let time = phase["seconds"].number ?? 0
            return [
                .text(label(phase["name"].text)), Page.bar(time / longest), .text(Quantity.decimal(time, places: 2)),
                .text(speed),
            ]
        }
        let columns: [TableColumn] = [.text("Phase"), .text("Time"), .number("Seconds"), .number("Speed")]
        page.table(Array(columns.prefix(shown)), rows.map { Array($0.prefix(shown)) })
    }

    private func label(_ phase: String?) -> String {
        guard let phase else { return "" }
        return Phase(rawValue: phase)?.label(inRehearsal: report["outcome"].text == "rehearsed") ?? phase
    }

    private func addTime(to page: inout Page) {
        let samples = RunCurve(report["samples"])
        if let drawing = PhaseDrawing(report["samples"], label: { label($0) }).markup {
            page.heading("Phases of each step")
            page.add(drawing)
        }
        guard samples.isDrawn else { return }
        page.heading("Over time")
        // Statements in place report no rows while they run: a curve of them would be wrong.
        let speed = (report["chunks"].whole ?? 0) > 0 ? [samples.speed] : []
        page.charts([samples.memory(limit: report["memoryLimit"].whole)] + speed)
        page.paragraph(
            "In the charts: "
                + samples.marks.map { "\($0.sign) \(label($0.phase))" + ($0.step.map { " of step \($0)" } ?? "") }
                .joined(separator: ", ") + ".", isSoft: true)
    }

    private func addRemarks(to page: inout Page) {
        var lines = report["unmapped"].elements.map {
            "\($0["rows"].countText()) of \($0["entity"].text ?? "?"): no entity mapping reads them"
        }
        lines += report["healed"].elements.map {
            "\($0["kind"].text ?? "?") healed in \($0["rows"].countText()) of \($0["entity"].text ?? "?")"
        }
        lines += report["kept"].elements.map {
            let place = [$0["entity"].text, $0["property"].text].compactMap { $0 }.joined(separator: ".")
            return "\($0["kind"].text ?? "?") kept in \($0["rows"].countText()) of \(place)"
        }
        lines += report["leftovers"].elements.map {
            "\($0["name"].text ?? "?") of an earlier version: \($0["kept"].isTrue ? "still there" : "left behind")"
        }
        lines += report["droppedObjects"].texts.map { "\($0) dropped as requested" }
        page.list("Besides", lines)
    }
}

extension JSON {
    fileprivate func line(without key: String) -> String { JSON.object(members.filter { $0.0 != key }).line }
}
