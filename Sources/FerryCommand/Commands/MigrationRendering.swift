internal import Ferry
internal import FerryBase

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

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
        return [
            ("peakDiskBytes", .integer(rehearsal.peakDiskBytes)),
            ("longestUnitSeconds", .number(rehearsal.longestUnit.inSeconds)),
        ]
    }

    private var outcome: String {
        rehearsal != nil && report.outcome != .upToDate ? "rehearsed" : report.outcome.rawValue
    }

    private var members: [(String, JSON)] {
        [
            ("outcome", .string(outcome)), ("from", .string(report.from)), ("to", .string(report.to)),
            ("mode", .string(report.mode.rawValue)), ("store", .string(report.store.filePath)),
            ("entityMappings", .array(report.entityMappings.map(json))),
            (
                "unmapped",
                .array(
                    report.unmapped.map {
                        .object([
                            ("entity", .string($0.entity)), ("rows", .integer($0.rows)), ("step", .integer($0.step)),
                        ])
                    })
            ),
            (
                "healed",
                .array(
                    report.healed.map {
                        .object([
                            ("kind", .string($0.kind.rawValue)), ("entity", .string($0.entity)),
                            ("rows", .integer($0.rows)),
                            ("step", .integer($0.step)),
                        ])
                    })
            ),
            ("chunks", .integer(report.chunks.count)), ("resumed", .bool(report.resumed)),
            ("wallSeconds", .number(report.wallTime.inSeconds)),
            (
                "phases",
                .array(
                    report.phases.map {
                        .object([
                            ("name", .string($0.phase.rawValue)), ("seconds", .number($0.time.inSeconds)),
                            ("rows", .integer($0.rows)),
                            ("rowsPerSecond", .number($0.rowsPerSecond)), ("bytes", .integer($0.bytes)),
                            ("bytesPerSecond", .number($0.bytesPerSecond)), ("bytesRead", .integer($0.bytesRead)),
                            ("bytesWritten", .integer($0.bytesWritten)),
                        ])
                    })
            ),
            ("peakResidentBytes", .integer(report.peakResidentBytes)),
            ("snapshot", .string(report.snapshot?.filePath)),
            ("verification", MigrationRendering.json(report.verification)),
            ("chain", .strings(report.chain)), ("warnings", .strings(report.warnings.map(\.message))),
            ("warningDetails", WarningDetails.json(report.warnings)),
            ("kept", .array(report.kept.map(json))), ("leftovers", .array(report.leftovers.map(json))),
            ("droppedObjects", .strings(report.droppedObjects)),
            ("losses", LossTable(losses: report.losses).json),
            (
                "chunkSeconds",
                .object([
                    ("p50", .number(report.chunks.median?.inSeconds)),
                    ("p90", .number(report.chunks.percentile90?.inSeconds)),
                    ("longest", .number(report.chunks.longest?.inSeconds)),
                ])
            ), ("bytesRead", .integer(report.bytesRead)), ("bytesWritten", .integer(report.bytesWritten)),
            (
                "externalFiles",
                .object([
                    ("removed", .integer(report.externalFiles.removed)),
                    ("unreferenced", .integer(report.externalFiles.unreferenced)),
                ])
            ), ("earlierSeconds", .number(report.earlierTime.inSeconds)),
        ]
    }

    private func json(_ kept: MigrationReport.Kept) -> JSON {
        .object([
            ("kind", .string(kept.kind.rawValue)), ("entity", .string(kept.entity)),
            ("property", .string(kept.property)),
            ("rows", .integer(kept.rows)),
        ])
    }

    private func json(_ leftover: MigrationReport.Leftover) -> JSON {
        .object([
            ("kind", .string(leftover.kind.rawValue)), ("name", .string(leftover.name)),
            ("rows", .integer(leftover.rows)),
            ("kept", .bool(leftover.isKept)),
        ])
    }

    /// `differences` is how many there are; what they are stands in `found`.
    static func json(_ summary: VerificationSummary) -> JSON {
        let found = summary.differences.map { difference in
            JSON.object([
                ("check", .string(difference.check.rawValue)), ("entity", .string(difference.entity)),
                ("count", .integer(difference.count)), ("example", .string(difference.example)),
            ])
        }
        return .object([
            ("mode", .string(summary.isBeforeCommit ? "beforeCommit" : summary.mode.rawValue)),
            ("checked", .integer(summary.checked)),
            ("notRecomputed", .integer(summary.notRecomputed)),
            ("differences", .integer(summary.differences.map(\.count).clampedSum)),
            ("found", .array(found)),
        ])
    }

    private func json(_ mapping: MigrationReport.EntityMappingReport) -> JSON {
        .object([
            ("name", .string(mapping.name)), ("source", .string(mapping.source)),
            ("destination", .string(mapping.destination)), ("executor", .string(mapping.executor.rawValue)),
            ("read", .integer(mapping.read)), ("created", .integer(mapping.created)),
            ("written", .integer(mapping.written)), ("dropped", .integer(mapping.dropped)),
            ("merged", .integer(mapping.merged)), ("step", .integer(mapping.step)),
            ("estimated", .bool(mapping.isEstimated == true)),
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
    let store: URL

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
        var members: [(String, JSON)] = [
            ("outcome", .string(outcome)), ("from", .string(plan?.chain.first)), ("to", .string(plan?.chain.last)),
            ("mode", .string(plan?.steps.first?.mode.rawValue)), ("store", .string(store.filePath)),
        ]
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
