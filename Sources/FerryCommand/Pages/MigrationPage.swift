package import Ferry
internal import FerryBase

/// What a report file has of a run besides its outcome: the plan, its details, and the samples of memory and rows.
package struct RunDetails {
    /// Nil if the run ended before its plan.
    var plan: PlanReport?
    var planned = PlanDetails()
    var memoryLimit: Int64 = 0
    var samples = RunSamples()

    package init(
        plan: PlanReport? = nil, planned: PlanDetails = PlanDetails(), memoryLimit: Int64 = 0,
        samples: RunSamples = RunSamples()
    ) {
        (self.plan, self.planned, self.memoryLimit, self.samples) = (plan, planned, memoryLimit, samples)
    }

    var json: JSON {
        let plan: JSON = plan.map { ["steps": $0.stepsJSON, "links": $0.linksJSON, "notes": $0.notes] } ?? [:]
        return plan + ["memoryLimit": memoryLimit, "samples": samples.json] + planned.json
    }
}

extension MigrationRendering {
    static let title = "Migration report"

    package var page: Page {
        var page = Page(Self.title, subject: report.store.filePath)
        page.verdict(report.losses.isEmpty ? .good : .caution, verdict)
        addHeadline(to: &page)
        page.facts([
            ("From", report.from), ("To", report.to), ("How", Self.words(report.mode)),
            (
                "Earlier calls",
                report.earlierTime > .zero ? Quantity.durationText(report.earlierTime) : nil
            ),
            ("Chunks", chunksOfPage), ("Peak disk", (rehearsal?.peakDiskBytes).map { Quantity.sizeText($0) }),
            ("Read", report.bytesRead.map { Quantity.sizeText($0) }),
            ("Written", report.bytesWritten.map { Quantity.sizeText($0) }),
            ("Snapshot", outcome == "migrated" ? report.snapshot?.filePath ?? "none" : nil),
            ("Verification", Self.words(report.verification)),
        ])
        page.differences(report.verification.differences)
        page.losses(report.losses)
        page.chain(report.chain, of: details.plan)
        addCounts(to: &page)
        page.lineage(details.planned.lineages ?? [])
        page.statements(details.planned.statements ?? [])
        addPhases(to: &page)
        // Statements in place report no rows while they run: a curve of them would be wrong.
        page.time(of: details, hasSpeed: report.chunks.count > 0, label: label)
        addRemarks(to: &page)
        page.warnings(report.warnings)
        return page
    }

    private var verdict: String {
        let losses = report.losses.isEmpty ? "" : " What was lost is listed below."
        if isRehearsed { return "Rehearsed; nothing was changed." + losses }
        switch report.outcome {
        case .migrated: return (report.resumed ? "Migrated, after an interruption." : "Migrated.") + losses
        case .upToDate: return "Nothing to do: the store already has the target version."
        case .copied: return "Copied: the store already has the target version."
        }
    }

    private static func words(_ mode: MigrationReport.Mode) -> String {
        PlanReport.Step.Mode(rawValue: mode.rawValue)?.words ?? mode.rawValue
    }

    private func addHeadline(to page: inout Page) {
        let last = report.entityMappings.map(\.step).max()
        let rows = report.entityMappings.filter { $0.step == last }.map(\.written).clampedSum
        let memory = report.peakResidentBytes.map {
            "\(Quantity.sizeText($0)) of \(Quantity.sizeText(details.memoryLimit))"
        }
        let isOver = report.peakResidentBytes.map { $0 > details.memoryLimit } ?? false
        page.headline([
            ("time", Quantity.durationText(report.wallTime), false),
            ("rows in the migrated store", report.entityMappings.isEmpty ? nil : rows.grouped, false),
            (isOver ? "memory at most, above the limit" : "memory at most", memory, isOver),
        ])
    }

    private var chunksOfPage: String? {
        guard report.chunks.count > 0 else { return nil }
        let times = [
            ("half within", report.chunks.median), ("nine of ten within", report.chunks.percentile90),
            ("longest", report.chunks.longest),
        ].compactMap { words, time in time.map { "\(words) \(Quantity.durationText($0))" } }
        return ([Int64(report.chunks.count).grouped] + times).joined(separator: ", ")
    }

    static func words(_ summary: VerificationSummary) -> String {
        if summary.mode == .none, !summary.isBeforeCommit { return "none" }
        let differences = summary.differences.map(\.count).clampedSum
        let found = differences == 0 ? "no differences" : differences.counting("difference")
        let open = summary.notRecomputed
        // A quick verification may compare none.
        let rows =
            summary.checked > 0
            ? summary.checked.counting("row") + (summary.isBeforeCommit ? ", " : " compared, ") : ""
        return (summary.isBeforeCommit ? "before COMMIT: " : "\(summary.mode.rawValue): ") + rows + found
            + (open > 0 ? "; \(open.counting("value")) not recomputed" : "")
    }

    private func addCounts(to page: inout Page) {
        typealias Mapping = MigrationReport.EntityMappingReport
        let steps = Dictionary(grouping: report.entityMappings, by: \.step).inOrder { $0.key < $1.key }
            .map { (number: $0.key, mappings: $0.value) }
        guard !steps.isEmpty else { return }
        page.heading("Objects")
        let runs = LikeRuns.of(steps) { one, next in
            one.mappings
                == next.mappings.map { mapping in
                    var mapping = mapping
                    mapping.step = one.number
                    return mapping
                }
        }
        let columns: [(title: String, count: KeyPath<Mapping, Int64>)] = [
            ("Read", \.read), ("Created", \.created), ("Written", \.written), ("Dropped", \.dropped),
            ("Merged", \.merged),
        ]
        for (number, run) in runs.enumerated() {
            guard let first = run.first, let last = run.last else { continue }
            let anchors = EntityAnchors(part: number + 1, rows: first.mappings.map { ($0.source, $0.destination) })
            let title =
                run.count > 1
                ? "Objects of each of the steps \(first.number) to \(last.number), from entity to entity"
                : "Objects of step \(first.number), from entity to entity"
            let drawing = FlowDrawing(title: title, flows: first.mappings.flatMap(flows), anchors: anchors)
            if let markup = drawing.markup { page.add(markup) }
            // A column of zeros only makes the cards of a narrow page longer.
            let shown = columns.filter { title, count in
                ["Read", "Written"].contains(title) || first.mappings.contains { $0[keyPath: count] != 0 }
            }
            page.table(
                [.text("Entity mapping"), .text("From"), .text("To")] + shown.map { .number($0.title) },
                first.mappings.map { mapping in
                    [mapping.name, mapping.source ?? "–", mapping.destination ?? "–"]
                        + shown.map { column in
                            Int64?.some(mapping[keyPath: column.count])
                                .countText(isEstimated: mapping.isEstimated == true)
                        }
                }, anchors: anchors.ofRows)
        }
    }

    private func flows(_ mapping: MigrationReport.EntityMappingReport) -> [FlowDrawing.Flow] {
        let (isEstimated, name) = (mapping.isEstimated == true, mapping.name)
        return [
            FlowDrawing.Flow(
                source: mapping.source, destination: mapping.destination, count: mapping.written,
                isEstimated: isEstimated, mapping: name),
            FlowDrawing.Flow(source: mapping.source, count: mapping.dropped, isEstimated: isEstimated, mapping: name),
            FlowDrawing.Flow(
                source: mapping.source, count: mapping.merged, isEstimated: isEstimated, mapping: name,
                end: "merged"),
        ]
    }

    private func addPhases(to page: inout Page) {
        let longest = report.phases.map(\.time.inSeconds).max() ?? 0
        guard longest > 0 else { return }
        page.heading("Phases")
        // A phase that takes no time has no speed.
        let speeds = report.phases.map { phase in
            [.swap, .cleanUp].contains(phase.phase)
                ? ""
                : Quantity.rateText(
                    rowsPerSecond: phase.rowsPerSecond, bytesPerSecond: phase.bytesPerSecond,
                    seconds: phase.time.inSeconds) ?? ""
        }
        let shown = speeds.allSatisfy(\.isEmpty) ? 3 : 4
        let rows = zip(report.phases, speeds).map { phase, speed -> [Markup] in
            let time = phase.time.inSeconds
            return [
                .text(label(phase.phase)), Page.bar(time / longest), .text(Quantity.decimal(time, places: 2)),
                .text(speed),
            ]
        }
        let columns: [TableColumn] = [.text("Phase"), .text("Time"), .number("Seconds"), .number("Speed")]
        page.table(Array(columns.prefix(shown)), rows.map { Array($0.prefix(shown)) })
    }

    private func label(_ phase: Phase) -> String { phase.label(inRehearsal: isRehearsed) }

    private func addRemarks(to page: inout Page) {
        var lines = report.unmapped.map { "\($0.rows.grouped) of \($0.entity): no entity mapping reads them" }
        lines += report.healed.map { "\($0.kind.rawValue) healed in \($0.rows.grouped) of \($0.entity)" }
        lines += report.kept.map {
            let place = [$0.entity, $0.property].compactMap { $0 }.joined(separator: ".")
            return "\($0.kind.rawValue) kept in \($0.rows.grouped) of \(place)"
        }
        lines += report.leftovers.map {
            "\($0.name) of an earlier version: \($0.isKept ? "still there" : "left behind")"
        }
        lines += report.droppedObjects.map { "\($0) dropped as requested" }
        page.list("Besides", lines)
    }
}

extension MigrationFailure {
    package var page: Page {
        var page = Page(MigrationRendering.title, subject: store.filePath)
        switch error.code.consequence {
        case .refused, .usage: page.verdict(.bad, "Refused before anything changed. \(error.message)")
        case .failed, .differs: page.verdict(.bad, "Failed; the store is unchanged. \(error.message)")
        case .resumable: page.verdict(.caution, "Stopped; run the same command to continue. \(error.message)")
        }
        page.remedy(error.wordedRemedy)
        page.facts([
            ("Reason", error.code.name), ("From", plan?.chain.first), ("To", plan?.chain.last),
            ("How", plan?.steps.first?.mode.words),
            ("Verification", summary.map { MigrationRendering.words($0) }),
        ])
        if refusals.count > 1 { page.refusals(refusals) }
        page.differences(summary?.differences ?? [])
        page.lineage(details.planned.lineages ?? [])
        page.statements(details.planned.statements ?? [])
        page.time(of: details, hasSpeed: false) { $0.label(inRehearsal: false) }
        return page
    }
}

extension Page {
    /// Adds the phases, memory and speed of a run over its time.
    fileprivate mutating func time(of details: RunDetails, hasSpeed: Bool, label: (Phase) -> String) {
        let curve = RunCurve(details.samples)
        if let drawing = PhaseDrawing(details.samples, label: label).markup {
            heading("Phases of each step")
            add(drawing)
        }
        guard curve.isDrawn else { return }
        heading("Over time")
        charts([curve.memory(limit: details.memoryLimit)] + (hasSpeed ? [curve.speed] : []))
        paragraph(
            "In the charts: "
                + curve.marks.map { "\($0.sign) \(label($0.phase))" + ($0.step.map { " of step \($0)" } ?? "") }
                .joined(separator: ", ") + ".", isSoft: true)
    }
}
