package import Ferry
internal import FerryBase
package import Foundation

package struct MigrationRendering: CommandReport {
    let report: MigrationReport
    /// The measurements of a rehearsal; nil for a migration.
    var rehearsal: RehearsalReport?
    /// Whether steps that are alike are printed one by one.
    let isVerbose: Bool
    var details = RunDetails()

    package init(
        report: MigrationReport, rehearsal: RehearsalReport? = nil, isVerbose: Bool = false,
        details: RunDetails = RunDetails()
    ) {
        (self.report, self.rehearsal, self.isVerbose, self.details) = (report, rehearsal, isVerbose, details)
    }

    var isRehearsed: Bool { rehearsal != nil && report.outcome != .upToDate }
    /// The outcome in one word.
    var outcome: String { isRehearsed ? "rehearsed" : report.outcome.rawValue }

    package var extras: JSON { details.json }

    package var json: JSON {
        let rehearsed: JSON? = rehearsal.map {
            ["peakDiskBytes": $0.peakDiskBytes, "longestUnitSeconds": $0.longestUnit.inSeconds]
        }
        let migrated: JSON = [
            "outcome": outcome, "from": report.from, "to": report.to,
            "mode": report.mode.rawValue, "store": report.store.filePath,
            "entityMappings": JSON.list(report.entityMappings) {
                [
                    "name": $0.name, "source": $0.source, "destination": $0.destination,
                    "executor": $0.executor.rawValue, "read": $0.read, "created": $0.created, "written": $0.written,
                    "dropped": $0.dropped, "merged": $0.merged, "step": $0.step, "estimated": $0.isEstimated == true,
                ]
            },
            "unmapped": JSON.list(report.unmapped) { ["entity": $0.entity, "rows": $0.rows, "step": $0.step] },
            "healed": JSON.list(report.healed) {
                ["kind": $0.kind.rawValue, "entity": $0.entity, "rows": $0.rows, "step": $0.step]
            },
            "chunks": report.chunks.count, "resumed": report.resumed, "wallSeconds": report.wallTime.inSeconds,
            "phases": JSON.list(report.phases) {
                [
                    "name": $0.phase.rawValue, "seconds": $0.time.inSeconds, "rows": $0.rows,
                    "rowsPerSecond": $0.rowsPerSecond, "bytes": $0.bytes, "bytesPerSecond": $0.bytesPerSecond,
                    "bytesRead": $0.bytesRead, "bytesWritten": $0.bytesWritten,
                    "peakResidentBytes": $0.peakResidentBytes,
                ]
            },
            "peakResidentBytes": report.peakResidentBytes, "snapshot": report.snapshot?.filePath,
            "verification": MigrationRendering.json(report.verification), "chain": report.chain,
            "warnings": report.warnings.map(\.message), "warningDetails": WarningDetails.json(report.warnings),
            "kept": JSON.list(report.kept) {
                ["kind": $0.kind.rawValue, "entity": $0.entity, "property": $0.property, "rows": $0.rows]
            },
            "leftovers": JSON.list(report.leftovers) {
                ["kind": $0.kind.rawValue, "name": $0.name, "rows": $0.rows, "kept": $0.isKept]
            },
            "droppedObjects": report.droppedObjects, "losses": LossTable(losses: report.losses).json,
            "transformed": TransformedTable(transformed: report.transformed ?? []).json,
            "chunkSeconds": [
                "p50": report.chunks.median?.inSeconds, "p90": report.chunks.percentile90?.inSeconds,
                "longest": report.chunks.longest?.inSeconds,
            ] as JSON,
            "bytesRead": report.bytesRead, "bytesWritten": report.bytesWritten,
            "externalFiles": [
                "removed": report.externalFiles.removed, "unreferenced": report.externalFiles.unreferenced,
            ] as JSON,
            "layoutStore": report.layoutStore?.filePath, "repaired": report.repaired ?? [],
            "earlierSeconds": report.earlierTime.inSeconds,
            "estimates": report.estimates.map {
                [
                    "seconds": $0.wallTime.inSeconds, "longestUnitSeconds": $0.longestUnit.inSeconds,
                    "diskBytes": $0.peakDiskBytes, "secondsAfterTenth": $0.wallTimeAfterTenth?.inSeconds,
                ] as JSON
            },
            "took": report.longestUnit.map { longest in
                [
                    "seconds": report.wallTime.inSeconds, "longestUnitSeconds": longest.inSeconds,
                    "diskBytes": report.peakDiskBytes,
                ] as JSON
            },
        ]
        return migrated + (rehearsed ?? [:])
    }

    /// `differences` is their number; `found` lists them.
    static func json(_ summary: VerificationSummary) -> JSON {
        [
            "mode": summary.isBeforeCommit ? "beforeCommit" : summary.mode.rawValue, "checked": summary.checked,
            "notRecomputed": summary.notRecomputed, "differences": summary.differences.map(\.count).clampedSum,
            "found": json(summary.differences),
        ]
    }

    static func json(_ differences: [VerificationSummary.Difference]) -> JSON {
        .list(differences) {
            [
                "check": $0.check.rawValue, "entity": $0.entity, "property": $0.property, "count": $0.count,
                "example": $0.example,
            ]
        }
    }

    package func text(width: Int) -> [String] {
        if report.outcome == .upToDate {
            guard let repaired = report.repaired, !repaired.isEmpty else {
                return ["\(report.store.filePath) already has version \(report.to): there is nothing to do."]
            }
            return [
                Emphasis.good.mark("Repaired \(report.store.filePath), which has version \(report.to)."),
                "Made          " + repaired.joined(separator: ", "),
            ]
        }
        if report.outcome == .copied, rehearsal == nil {
            let check = report.verification.mode == .none ? "nothing was checked" : "compared byte by byte"
            return [
                "\(report.store.filePath) is a copy of the store, which already has version \(report.to); \(check)."
            ] + (report.warnings.isEmpty ? [] : ["", "Warnings"] + report.warnings.map { "  " + $0.message })
        }
        let verdict =
            "\(rehearsal == nil ? "Migrated" : "Rehearsed") \(report.store.filePath): "
            + ChainText.of(report.chain, isWhole: isVerbose) + (report.resumed ? " (resumed)" : "")
            + (rehearsal == nil ? "" : "; nothing was changed")
        var lines = [Emphasis.good.mark(verdict), ""]
        lines += counts(width: width)
        for unmapped in report.unmapped {
            lines.append(
                "  step \(unmapped.step): \(unmapped.rows.grouped) of \(unmapped.entity): no entity mapping reads them"
            )
        }
        for healed in report.healed {
            lines.append(
                "  step \(healed.step): \(healed.kind.rawValue) healed in \(healed.rows.grouped) of \(healed.entity)"
            )
        }
        if !report.losses.isEmpty {
            lines += ["", Emphasis.heading.mark("Lost")] + LossTable(losses: report.losses).lines(width: width)
        }
        lines += TransformedTable(transformed: report.transformed ?? []).lines
        lines += remarks
        lines += ["", "Chunks        " + chunks, "Time          " + times]
        if let read = report.bytesRead, let written = report.bytesWritten {
            lines.append("Bytes         \(Quantity.sizeText(read)) read, \(Quantity.sizeText(written)) written")
        }
        if let peak = report.peakResidentBytes { lines.append("Peak memory   " + Quantity.sizeText(peak)) }
        if let rehearsal {
            lines.append("Peak disk     \(Quantity.sizeText(rehearsal.peakDiskBytes)) next to the store")
            lines.append(
                "Longest unit  \(Quantity.durationText(rehearsal.longestUnit)) between two commits")
        }
        if let repaired = report.repaired, !repaired.isEmpty {
            lines.append("Repaired      " + repaired.joined(separator: ", "))
        }
        if let store = report.layoutStore { lines.append("Layout        like \(store.filePath)") }
        lines.append("Snapshot      " + (report.snapshot?.filePath ?? "none"))
        lines.append("Verification  " + verification)
        let warnings = LossTable(losses: report.losses).others(report.warnings)
        if !warnings.isEmpty { lines += ["", Emphasis.heading.mark("Warnings")] + warnings.map { "  " + $0 } }
        return lines
    }

    /// The lines about damaged rows, objects of earlier versions, dropped objects and unreferenced files.
    private var remarks: [String] {
        var lines = report.kept.map { kept in
            let place = [kept.entity, kept.property].compactMap { $0 }.joined(separator: ".")
            return "  \(kept.kind.rawValue) kept in \(kept.rows.grouped) of \(place)"
        }
        for (words, isKept) in [("left behind", false), ("still there", true)] {
            let names = report.leftovers.filter { $0.isKept == isKept }.map { leftover in
                leftover.rows.map { "\(leftover.name) (\($0.grouped))" } ?? leftover.name
            }
            if names.isEmpty { continue }
            let more = names.count > 12 ? " and \(names.count - 12) more" : ""
            lines.append("  of earlier versions, \(words): \(names.prefix(12).joined(separator: ", "))\(more)")
        }
        if !report.droppedObjects.isEmpty {
            lines.append("  dropped as requested: " + report.droppedObjects.joined(separator: ", "))
        }
        if report.externalFiles.unreferenced > 0 {
            lines.append(
                "  \(report.externalFiles.unreferenced.counting("external file")) that no value refers to, kept")
        }
        return lines
    }

    private func counts(width: Int) -> [String] {
        let steps = Dictionary(grouping: report.entityMappings, by: \.step).inOrder { $0.key < $1.key }
            .map { (number: $0.key, rows: $0.value.map(Self.cells)) }
        let runs = LikeRuns.of(steps) { !isVerbose && $0.rows == $1.rows && $0.number + 1 == $1.number }
        let rows = runs.flatMap { run -> [[String]] in
            guard let first = run.first, let last = run.last else { return [] }
            let numbers = run.count > 1 ? "\(first.number)–\(last.number)" : "\(first.number)"
            return first.rows.map { [numbers] + $0 }
        }
        if rows.isEmpty { return [] }
        let columns: [TableColumn] = [.number("Step"), .text("Entity mapping"), .text("From"), .text("To")]
        return TextTable(
            columns + ["Read", "Created", "Written", "Dropped", "Merged"].map(TableColumn.number), rows
        ).lines(width: width)
    }

    /// The cells of an entity mapping without its step.
    private static func cells(_ mapping: MigrationReport.EntityMappingReport) -> [String] {
        let numbers = [mapping.read, mapping.created, mapping.written, mapping.dropped, mapping.merged]
        return [mapping.name, mapping.source ?? "–", mapping.destination ?? "–"]
            + numbers.map { (mapping.isEstimated == true && $0 > 0 ? "~" : "") + $0.grouped }
    }

    private var chunks: String {
        var text = Int64(report.chunks.count).grouped
        if let median = report.chunks.median, let tail = report.chunks.percentile90 {
            text += ", p50 \(Quantity.durationText(median)), p90 \(Quantity.durationText(tail))"
        }
        if let longest = report.chunks.longest {
            text += ", longest \(Quantity.durationText(longest))"
        }
        return text
    }

    private var times: String {
        let phases = report.phases.map {
            "\($0.phase.label(inRehearsal: rehearsal != nil)) \(Quantity.durationText($0.time))" + speed($0)
        }
        let earlier = report.earlierTime
        return Quantity.durationText(report.wallTime)
            + (earlier > .zero ? " after \(Quantity.durationText(earlier)) of earlier calls" : "")
            + (phases.isEmpty ? "" : ": " + phases.joined(separator: ", "))
    }

    private func speed(_ phase: MigrationReport.PhaseTime) -> String {
        // Only work that grows with the rows has a speed: a swap is one transaction.
        guard phase.phase != .swap, phase.phase != .cleanUp else { return "" }
        let rate = Quantity.rateText(
            rowsPerSecond: phase.rowsPerSecond, bytesPerSecond: phase.bytesPerSecond, seconds: phase.time.inSeconds)
        return rate.map { " (\($0))" } ?? ""
    }

    private var verification: String {
        let summary = report.verification
        if summary.isBeforeCommit {
            return "inside the transaction, before COMMIT: \(summary.checked.counting("row")), no differences"
        }
        if summary.mode == .none { return "none" }
        var text = "\(summary.mode.rawValue): "
        if summary.checked > 0 { text += "\(summary.checked.counting("row")) compared, " }
        text += summary.differences.isEmpty ? "no differences" : Int64(summary.differences.count).counting("difference")
        if summary.notRecomputed > 0 {
            text += "; \(summary.notRecomputed.counting("value")) not recomputed"
        }
        return text
    }
}

package struct MigrationFailure: CommandReport {
    let error: FerryError
    let store: FileURL
    var details = RunDetails()

    package init(error: FerryError, store: URL, details: RunDetails = RunDetails()) {
        (self.error, self.store, self.details) = (error, store, details)
    }

    /// The plan, if the failure came after it.
    var plan: PlanReport? { details.plan }

    package var extras: JSON { details.json }

    package func text(width: Int) -> [String] { error.lines }

    func show(on console: Console) {
        console.note(error)
        for refusal in refusals.dropFirst() { console.note(refusal) }
        for line in differences { console.note(line) }
    }

    package var json: JSON {
        var known: JSON = [
            "outcome": outcome, "from": plan?.chain.first, "to": plan?.chain.last,
            "mode": plan?.steps.first?.mode.rawValue, "store": store.filePath,
        ]
        if let summary { known += ["verification": MigrationRendering.json(summary)] }
        if refusals.count > 1 { known += ["refusals": refusals.map(\.json)] }
        return known + ["error": error.json]
    }

    /// The outcome in one word.
    var outcome: String {
        switch error.code.consequence {
        case .refused, .usage: "refused"
        case .failed, .differs: "failed"
        case .resumable: "resumable"
        }
    }

    var refusals: [FerryError] { (error.cause as? PlanRefusals)?.refusals ?? [] }

    var summary: VerificationSummary? { (error.cause as? VerificationDifferences)?.summary }

    private var differences: [String] {
        (summary?.differences ?? []).map { difference in
            let name = difference.entity.map { $0 + (difference.property.map { "." + $0 } ?? "") }
            let place = [name, difference.example.map { "for example \($0)" }].compactMap { $0 }
            return "  \(difference.check): \(difference.count.grouped) "
                + (place.isEmpty ? "" : "(\(place.joined(separator: ", ")))")
        }
    }
}
