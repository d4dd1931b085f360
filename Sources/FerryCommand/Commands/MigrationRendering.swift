internal import Ferry
internal import FerryBase

/// The report of a finished migration as text and as JSON.
struct MigrationRendering {
    let report: MigrationReport
    /// What was measured besides, where nothing was replaced.
    var rehearsal: RehearsalReport?
    /// Whether steps that are alike are told one by one.
    var isVerbose = false

    var json: [(String, JSON)] { members + rehearsed }

    private var rehearsed: [(String, JSON)] {
        guard let rehearsal else { return [] }
        return JSON.members([
            "peakDiskBytes": rehearsal.peakDiskBytes, "longestUnitSeconds": rehearsal.longestUnit.inSeconds,
        ])
    }

    private var outcome: String {
        rehearsal != nil && report.outcome != .upToDate ? "rehearsed" : report.outcome.rawValue
    }

    private var members: [(String, JSON)] {
        JSON.members([
            "outcome": outcome, "from": report.from, "to": report.to, "mode": report.mode.rawValue,
            "store": report.store.filePath, "entityMappings": report.entityMappings.map(json),
            "unmapped": JSON.array(
                report.unmapped.map { .object(["entity": $0.entity, "rows": $0.rows, "step": $0.step]) }),
            "healed": JSON.array(
                report.healed.map {
                    .object(["kind": $0.kind.rawValue, "entity": $0.entity, "rows": $0.rows, "step": $0.step])
                }),
            "chunks": report.chunks.count, "resumed": report.resumed, "wallSeconds": report.wallTime.inSeconds,
            "phases": JSON.array(
                report.phases.map {
                    .object([
                        "name": $0.phase.rawValue, "seconds": $0.time.inSeconds, "rows": $0.rows,
                        "rowsPerSecond": $0.rowsPerSecond, "bytes": $0.bytes, "bytesPerSecond": $0.bytesPerSecond,
                        "bytesRead": $0.bytesRead, "bytesWritten": $0.bytesWritten,
                    ])
                }),
            "peakResidentBytes": report.peakResidentBytes, "snapshot": report.snapshot?.filePath,
            "verification": MigrationRendering.json(report.verification), "chain": report.chain,
            "warnings": report.warnings.map(\.message), "warningDetails": WarningDetails.json(report.warnings),
            "kept": report.kept.map(json), "leftovers": report.leftovers.map(json),
            "droppedObjects": report.droppedObjects, "losses": LossTable(losses: report.losses).json,
            "chunkSeconds": JSON.object([
                "p50": report.chunks.median?.inSeconds, "p90": report.chunks.percentile90?.inSeconds,
                "longest": report.chunks.longest?.inSeconds,
            ]),
            "bytesRead": report.bytesRead, "bytesWritten": report.bytesWritten,
            "externalFiles": JSON.object([
                "removed": report.externalFiles.removed, "unreferenced": report.externalFiles.unreferenced,
            ]),
            "earlierSeconds": report.earlierTime.inSeconds,
        ])
    }

    private func json(_ kept: MigrationReport.Kept) -> JSON {
        .object([
            "kind": kept.kind.rawValue, "entity": kept.entity, "property": kept.property, "rows": kept.rows,
        ])
    }

    private func json(_ leftover: MigrationReport.Leftover) -> JSON {
        .object([
            "kind": leftover.kind.rawValue, "name": leftover.name, "rows": leftover.rows, "kept": leftover.isKept,
        ])
    }

    /// `differences` is how many there are; what they are stands in `found`.
    static func json(_ summary: VerificationSummary) -> JSON {
        let found = summary.differences.map { difference in
            JSON.object([
                "check": difference.check.rawValue, "entity": difference.entity, "count": difference.count,
                "example": difference.example,
            ])
        }
        return .object([
            "mode": summary.isBeforeCommit ? "beforeCommit" : summary.mode.rawValue, "checked": summary.checked,
            "notRecomputed": summary.notRecomputed, "differences": summary.differences.map(\.count).clampedSum,
            "found": found,
        ])
    }

    private func json(_ mapping: MigrationReport.EntityMappingReport) -> JSON {
        .object([
            "name": mapping.name, "source": mapping.source, "destination": mapping.destination,
            "executor": mapping.executor.rawValue, "read": mapping.read, "created": mapping.created,
            "written": mapping.written, "dropped": mapping.dropped, "merged": mapping.merged, "step": mapping.step,
            "estimated": mapping.isEstimated == true,
        ])
    }

    func text(width: Int) -> [String] {
        if report.outcome == .upToDate {
            return ["\(report.store.filePath) has version \(report.to) already: there is nothing to do."]
        }
        if report.outcome == .copied, rehearsal == nil {
            let check = report.verification.mode == .none ? "nothing was checked" : "compared byte by byte"
            return [
                "\(report.store.filePath) is a copy of the store, which has version \(report.to) already; \(check)."
            ] + (report.warnings.isEmpty ? [] : ["", "Warnings"] + report.warnings.map { "  " + $0.message })
        }
        let verdict =
            "\(rehearsal == nil ? "Migrated" : "Rehearsed") \(report.store.filePath): "
            + report.chain.joined(separator: " → ") + (report.resumed ? " (resumed)" : "")
            + (rehearsal == nil ? "" : "; nothing was changed")
        var lines = [Emphasis.good.mark(verdict), ""]
        lines += counts(width: width)
        for unmapped in report.unmapped {
            lines.append(
                "  step \(unmapped.step): \(Quantity.grouped(unmapped.rows)) of \(unmapped.entity): no mapping reads them"
            )
        }
        for healed in report.healed {
            lines.append(
                "  step \(healed.step): \(healed.kind.rawValue) healed in \(Quantity.grouped(healed.rows)) of \(healed.entity)"
            )
        }
        if !report.losses.isEmpty {
            lines += ["", Emphasis.heading.mark("Lost")] + LossTable(losses: report.losses).lines(width: width)
        }
        lines += besides
        lines += ["", "Chunks        " + chunks, "Time          " + times]
        if let read = report.bytesRead, let written = report.bytesWritten {
            lines.append("Bytes         \(Quantity.sizeText(read)) read, \(Quantity.sizeText(written)) written")
        }
        if let peak = report.peakResidentBytes { lines.append("Peak memory   " + Quantity.sizeText(peak)) }
        if let rehearsal {
            lines.append("Peak disk     \(Quantity.sizeText(rehearsal.peakDiskBytes)) beside the store")
            lines.append(
                "Longest unit  \(Quantity.durationText(rehearsal.longestUnit)) between two commits")
        }
        lines.append("Snapshot      " + (report.snapshot?.filePath ?? "none"))
        lines.append("Verification  " + verification)
        // The table has said the losses.
        let warnings = report.warnings.map(\.message).filter { text in !report.losses.contains { $0.text == text } }
        if !warnings.isEmpty { lines += ["", Emphasis.heading.mark("Warnings")] + warnings.map { "  " + $0 } }
        return lines
    }

    /// What the store held beside good rows.
    private var besides: [String] {
        var lines = report.kept.map { kept in
            let place = [kept.entity, kept.property].compactMap { $0 }.joined(separator: ".")
            return "  \(kept.kind.rawValue) kept in \(Quantity.grouped(kept.rows)) of \(place)"
        }
        for (words, isKept) in [("left behind", false), ("still there", true)] {
            let names = report.leftovers.filter { $0.isKept == isKept }.map { leftover in
                leftover.rows.map { "\(leftover.name) (\(Quantity.grouped($0)))" } ?? leftover.name
            }
            if names.isEmpty { continue }
            let more = names.count > 12 ? " and \(names.count - 12) more" : ""
            lines.append("  of earlier versions, \(words): \(names.prefix(12).joined(separator: ", "))\(more)")
        }
        if !report.droppedObjects.isEmpty {
            lines.append("  dropped as asked: " + report.droppedObjects.joined(separator: ", "))
        }
        if report.externalFiles.unreferenced > 0 {
            lines.append(
                "  \(report.externalFiles.unreferenced.counting("external file")) that no value names, kept")
        }
        return lines
    }

    private func counts(width: Int) -> [String] {
        var table = TextTable(
            ["Step", "Entity mapping", "From", "To", "Read", "Created", "Written", "Dropped", "Merged"],
            [.right, .left, .left, .left, .right, .right, .right, .right, .right])
        let steps = Dictionary(grouping: report.entityMappings, by: \.step).sorted { $0.key < $1.key }
            .map { (number: $0.key, rows: $0.value.map(Self.cells)) }
        for run in LikeRuns.of(steps, areAlike: { !isVerbose && $0.rows == $1.rows && $0.number + 1 == $1.number }) {
            guard let first = run.first, let last = run.last else { continue }
            let numbers = run.count > 1 ? "\(first.number)–\(last.number)" : "\(first.number)"
            for row in first.rows { table.add([numbers] + row) }
        }
        return table.isEmpty ? [] : table.lines(width: width)
    }

    /// What is told of an entity mapping, but for its step.
    private static func cells(_ mapping: MigrationReport.EntityMappingReport) -> [String] {
        let numbers = [mapping.read, mapping.created, mapping.written, mapping.dropped, mapping.merged]
        return [mapping.name, mapping.source ?? "–", mapping.destination ?? "–"]
            + numbers.map { (mapping.isEstimated == true && $0 > 0 ? "~" : "") + Quantity.grouped($0) }
    }

    private var chunks: String {
        var text = Quantity.grouped(Int64(report.chunks.count))
        if let median = report.chunks.median, let tail = report.chunks.percentile90 {
            text += ", p50 \(Quantity.durationText(median)), p90 \(Quantity.durationText(tail))"
        }
        if let longest = report.chunks.longest {
            text += ", longest \(Quantity.durationText(longest))"
        }
        return text
    }

    private var times: String {
        let phases = report.phases.map { "\(label(of: $0)) \(Quantity.durationText($0.time))" + speed($0) }
        let earlier = report.earlierTime
        return Quantity.durationText(report.wallTime)
            + (earlier > .zero ? " after \(Quantity.durationText(earlier)) of earlier calls" : "")
            + (phases.isEmpty ? "" : ": " + phases.joined(separator: ", "))
    }

    private func label(of phase: MigrationReport.PhaseTime) -> String {
        phase.phase.label(inRehearsal: rehearsal != nil)
    }

    private func speed(_ phase: MigrationReport.PhaseTime) -> String {
        let rate = Quantity.rateText(
            rowsPerSecond: phase.rowsPerSecond, bytesPerSecond: phase.bytesPerSecond, seconds: phase.time.inSeconds)
        return rate.map { " (\($0))" } ?? ""
    }

    private var verification: String {
        let summary = report.verification
        if summary.isBeforeCommit {
            return "inside the transaction, before COMMIT: \(summary.checked.counting("row")), no differences"
        }
        if summary.mode == .none { return "none: nothing was checked" }
        var text = "\(summary.mode.rawValue): \(summary.checked.counting("row")) compared, "
        text += summary.differences.isEmpty ? "no differences" : Int64(summary.differences.count).counting("difference")
        if summary.notRecomputed > 0 {
            text += "; \(summary.notRecomputed.counting("value")) not recomputed"
        }
        return text
    }
}

/// A migration that did not come to its end, as text and as JSON.
struct MigrationFailure {
    let error: FerryError
    /// The plan, when there was one before the failure.
    let plan: PlanReport?
    let store: FileURL

    func show(on console: Console) {
        guard console.isJSON else {
            console.note(error)
            for refusal in refusals.dropFirst() { console.note(refusal) }
            for line in differences { console.note(line) }
            return
        }
        console.fail(error, members)
    }

    /// What is known of the result, without the error.
    var members: [(String, JSON)] {
        var members: [(String, JSON)] = JSON.members([
            "outcome": outcome, "from": plan?.chain.first, "to": plan?.chain.last,
            "mode": plan?.steps.first?.mode.rawValue, "store": store.filePath,
        ])
        if let summary { members.append(("verification", MigrationRendering.json(summary))) }
        if refusals.count > 1 { members.append(("refusals", .array(refusals.map(\.json)))) }
        return members
    }

    private var outcome: String {
        switch error.code.consequence {
        case .refused, .usage: "refused"
        case .failed, .differs: "failed"
        case .resumable: "resumable"
        }
    }

    private var refusals: [FerryError] { (error.cause as? PlanRefusals)?.refusals ?? [] }

    private var summary: VerificationSummary? { (error.cause as? VerificationDifferences)?.summary }

    private var differences: [String] {
        (summary?.differences ?? []).map { difference in
            let place = [difference.entity, difference.example.map { "for example \($0)" }].compactMap { $0 }
            return "  \(difference.check): \(Quantity.grouped(difference.count)) "
                + (place.isEmpty ? "" : "(\(place.joined(separator: ", ")))")
        }
    }
}
