internal import Ferry
internal import FerryBase

struct MigrationRendering: RunReport {
    let run: MigrationReport
    /// The measurements of a rehearsal; nil for a migration.
    var rehearsal: RehearsalReport?
    var details = ReportDetails()

    var isRehearsed: Bool { rehearsal != nil && run.outcome != .upToDate }
    var code: ExitCode { .success }
    var word: String { isRehearsed ? "rehearsed" : run.outcome.rawValue }

    var extras: JSON { details.json }

    var json: JSON {
        let rehearsed: JSON? = rehearsal.map {
            ["peakDiskBytes": $0.peakDiskBytes, "longestUnitSeconds": $0.longestUnit.inSeconds]
        }
        let migrated: JSON = [
            "outcome": word, "from": run.from, "to": run.to,
            "mode": run.mode.rawValue, "store": run.store.filePath,
            "entityMappings": JSON.list(run.entityMappings) {
                [
                    "name": $0.name, "source": $0.source, "destination": $0.destination,
                    "executor": $0.executor.rawValue, "read": $0.read, "created": $0.created, "written": $0.written,
                    "dropped": $0.dropped, "merged": $0.merged, "step": $0.step, "estimated": $0.isEstimated == true,
                ]
            },
            "unmapped": JSON.list(run.unmapped) { ["entity": $0.entity, "rows": $0.rows, "step": $0.step] },
            "healed": JSON.list(run.healed) {
                ["kind": $0.kind.rawValue, "entity": $0.entity, "rows": $0.rows, "step": $0.step]
            },
            "chunks": run.chunks.count, "resumed": run.resumed, "wallSeconds": run.wallTime.inSeconds,
            "phases": JSON.list(run.phases) {
                [
                    "name": $0.phase.rawValue, "seconds": $0.time.inSeconds, "rows": $0.rows,
                    "rowsPerSecond": $0.rowsPerSecond, "bytes": $0.bytes, "bytesPerSecond": $0.bytesPerSecond,
                    "bytesRead": $0.bytesRead, "bytesWritten": $0.bytesWritten,
                    "peakResidentBytes": $0.peakResidentBytes,
                ]
            },
            "peakResidentBytes": run.peakResidentBytes, "snapshot": run.snapshot?.filePath,
            "verification": run.verification.json, "chain": run.chain,
            "warnings": run.warnings.map(\.message), "warningDetails": JSON.list(run.warnings, \.json),
            "kept": JSON.list(run.kept) {
                ["kind": $0.kind.rawValue, "entity": $0.entity, "property": $0.property, "rows": $0.rows]
            },
            "leftovers": JSON.list(run.leftovers) {
                ["kind": $0.kind.rawValue, "name": $0.name, "rows": $0.rows, "kept": $0.isKept]
            },
            "droppedObjects": run.droppedObjects, "losses": run.losses.json,
            "transformed": (run.transformed ?? []).json,
            "chunkSeconds": [
                "p50": run.chunks.median?.inSeconds, "p90": run.chunks.percentile90?.inSeconds,
                "longest": run.chunks.longest?.inSeconds,
            ] as JSON,
            "bytesRead": run.bytesRead, "bytesWritten": run.bytesWritten,
            "externalFiles": [
                "removed": run.externalFiles.removed, "unreferenced": run.externalFiles.unreferenced,
            ] as JSON,
            "layoutStore": run.layoutStore?.filePath, "repaired": run.repaired ?? [],
            "earlierSeconds": run.earlierTime.inSeconds,
            "estimates": run.estimates.map {
                [
                    "seconds": $0.wallTime.inSeconds, "longestUnitSeconds": $0.longestUnit?.inSeconds,
                    "diskBytes": $0.peakDiskBytes, "secondsAfterTenth": $0.wallTimeAfterTenth?.inSeconds,
                ] as JSON
            },
            "took": run.longestUnit.map { longest in
                [
                    "seconds": run.wallTime.inSeconds, "longestUnitSeconds": longest.inSeconds,
                    "diskBytes": run.peakDiskBytes,
                ] as JSON
            },
        ]
        return migrated + (rehearsed ?? [:])
    }

    var report: Report {
        let store = run.store.filePath
        // A store that is its own model gives the version its name.
        let version = run.to == FileLayer.name(of: store) ? "the version of its own model" : "version \(run.to)"
        if run.outcome == .upToDate {
            guard let changed else {
                return Report(Self.title, .good, "\(store) already has \(version): there is nothing to do.")
            }
            return Report(
                Self.title, .good, "Repaired \(store), which has \(version).",
                [.facts(margin: 14, [("Changed", changed), ("Snapshot", run.snapshot?.filePath ?? "none")])])
        }
        let warnings = Report.Part.titled("Warnings", run.losses.others(run.warnings))
        if run.outcome == .copied, rehearsal == nil {
            let check = run.verification.mode == .none ? "nothing was checked" : "compared byte by byte"
            return Report(
                Self.title, .good, "\(store) is a copy of the store, which already has \(version); \(check).",
                [.facts(margin: 14, [("Changed", changed)])] + warnings)
        }
        let verdict =
            "\(rehearsal == nil ? "Migrated" : "Rehearsed") \(store): \(ChainText.of(run.chain))"
            + (run.resumed ? " (resumed)" : "") + (rehearsal == nil ? "" : "; nothing was changed")
        var parts: [Report.Part] = [.space] + objects + [.list(readings)] + Report.Part.losses(run.losses)
        parts += (run.transformed ?? []).parts + [.list(remarks), .space, .facts(margin: 14, facts, onPage: "Figures")]
        parts +=
            Report.Part.differences(run.verification.differences) + warnings
            + details.parts(inRehearsal: isRehearsed, peak: run.peakResidentBytes)
        var report = Report(Self.title, run.losses.isEmpty ? .good : .caution, verdict, parts)
        report.endsWithVerdict = true
        return report
    }

    static let title = "Migration report"

    private var changed: String? { run.repaired.flatMap { $0.isEmpty ? nil : $0.joined(separator: ", ") } }

    private var facts: [(label: String, value: String?)] {
        [
            ("Chunks", run.chunks.count > 0 ? chunks : nil), ("Time", times),
            (
                "Bytes",
                run.bytesRead.flatMap { read in
                    run.bytesWritten.map { "\(read.bytesInUnits) read, \($0.bytesInUnits) written" }
                }
            ),
            ("Peak memory", run.peakResidentBytes.map(\.bytesInUnits)),
            ("Peak disk", rehearsal.map { "\($0.peakDiskBytes.bytesInUnits) next to the store" }),
            ("Longest unit", rehearsal.map { "\(Quantity.durationText($0.longestUnit)) between two commits" }),
            ("Repaired", changed),
            ("Layout", run.layoutStore.map { "like \($0.filePath)" }),
            ("Snapshot", run.snapshot?.filePath ?? "none"), ("Verification", run.verification.words),
        ]
    }

    private var readings: [String] {
        run.unmapped.map {
            "step \($0.step): \($0.rows.grouped) of \($0.entity): no entity mapping reads them"
        }
            + run.healed.map {
                "step \($0.step): \($0.kind.rawValue) healed in \($0.rows.grouped) of \($0.entity)"
            }
    }

    /// The lines about damaged rows, objects of earlier versions, dropped objects and unreferenced files.
    private var remarks: [String] {
        var lines = run.kept.map {
            "\($0.kind.rawValue) kept in \($0.rows.grouped) of \(placeName($0.entity, $0.property))"
        }
        for (words, isKept) in [("left behind", false), ("still there", true)] {
            let names = run.leftovers.filter { $0.isKept == isKept }.map { leftover in
                leftover.rows.map { "\(leftover.name) (\($0.grouped))" } ?? leftover.name
            }
            if !names.isEmpty { lines.append("of earlier versions, \(words): \(names.listed(12))") }
        }
        if !run.droppedObjects.isEmpty {
            lines.append("dropped as requested: " + run.droppedObjects.joined(separator: ", "))
        }
        if run.externalFiles.unreferenced > 0 {
            lines.append(
                "\(run.externalFiles.unreferenced.counting("external file")) that no value refers to, kept")
        }
        return lines
    }

    /// The entity mappings that do not carry everything over in one table, and a drawing for each step in which objects
    /// split or merge.
    private var objects: [Report.Part] {
        if run.entityMappings.isEmpty { return [] }
        let (carried, changed) = (run.entityMappings.filter(carriesAll), run.entityMappings.filter { !carriesAll($0) })
        let steps = Dictionary(grouping: run.entityMappings, by: \.step).inOrder { $0.key < $1.key }.map(\.value)
        let table = changed.inOrder { $0.step < $1.step }
            .map { [steps.count > 1 ? "\($0.step)" : ""] + Self.cells($0) }
        let columns: [TableColumn] = [.number("Step"), .name("Entity mapping"), .name("From"), .name("To")]
        let count = Int64(carried.count)
        let sum =
            (changed.isEmpty ? count.counting("entity mapping") : "\(count) more")
            + ": \(carried.contains { $0.isEstimated == true } ? "~" : "")"
            + "\(carried.map(\.read).clampedSum.counting("object")) carried over"
        let drawings = steps.compactMap {
            FlowDrawing(
                title: "Objects of step \($0[0].step), from entity to entity", flows: $0.flatMap(flows)
            ).markup
        }
        return [
            .table(columns + ["Read", "Created", "Written", "Dropped", "Merged"].map(TableColumn.number), table),
            .list(carried.isEmpty ? [] : [sum]), .onPage(nil, drawings),
        ]
    }

    /// Whether the objects of an entity all stay, or all become those of one entity, which no other mapping does.
    private func carriesAll(_ mapping: MigrationReport.EntityMappingReport) -> Bool {
        let others = mapping.created + mapping.dropped + mapping.merged
        guard mapping.source != nil, mapping.read == mapping.written, others == 0 else { return false }
        return mapping.source == mapping.destination
            || !run.entityMappings.contains {
                $0.step == mapping.step && $0.name != mapping.name
                    && ($0.source == mapping.source || $0.destination == mapping.destination)
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

    private static func cells(_ mapping: MigrationReport.EntityMappingReport) -> [String] {
        let numbers = [mapping.read, mapping.created, mapping.written, mapping.dropped, mapping.merged]
        return [mapping.name, mapping.source ?? "–", mapping.destination ?? "–"]
            + numbers.map { (mapping.isEstimated == true && $0 > 0 ? "~" : "") + $0.grouped }
    }

    private var chunks: String {
        var text = Int64(run.chunks.count).grouped
        if let median = run.chunks.median, let tail = run.chunks.percentile90 {
            text += ", p50 \(Quantity.durationText(median)), p90 \(Quantity.durationText(tail))"
        }
        if let longest = run.chunks.longest {
            text += ", longest \(Quantity.durationText(longest))"
        }
        return text
    }

    private var times: String {
        let phases = run.phases.map {
            "\($0.phase.label(inRehearsal: rehearsal != nil)) \(Quantity.durationText($0.time))" + speed($0)
        }
        let earlier = run.earlierTime
        return Quantity.durationText(run.wallTime)
            + (earlier > .zero ? " after at least \(Quantity.durationText(earlier)) of earlier calls" : "")
            + (phases.isEmpty ? "" : (earlier > .zero ? "; in all at least: " : ": ") + phases.joined(separator: ", "))
    }

    /// Only work of a second or more of this call that grows with the rows has a speed: a swap is one transaction.
    private func speed(_ phase: MigrationReport.PhaseTime) -> String {
        guard !run.resumed, ![.swap, .cleanUp].contains(phase.phase), phase.time >= .seconds(1) else { return "" }
        if let rate = phase.rowsPerSecond { return rate < 1 ? "" : " (\(Quantity.whole(rate).counting("row"))/s)" }
        return phase.bytesPerSecond.map { " (\(Quantity.whole($0).bytesInUnits)/s)" } ?? ""
    }
}
