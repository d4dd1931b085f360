internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerryStore

/// The time and the disk space of steps in place, from the statements that they will run.
struct InPlaceEstimates {
    let planned: Planned
    /// The time of work on this machine, relative to that of ``WorkCosts``.
    let machine: Double

    struct Found {
        var lists: [RunWork.Step.StatementList] = []
        /// The bytes by which the file grows.
        var growth: Int64 = 0
        /// The bytes of journal, growth and sorting at their peak.
        var peak: Int64 = 0
    }

    /// The estimates of steps that are one transaction, or run one after another in a file of their own.
    func steps(from contents: inout StoreContents, bytes: Int64) throws -> [StepEstimates.Step] {
        var size = bytes
        return try planned.plan.steps.enumerated().map { index, step in
            let source =
                index == 0
                ? planned.layout
                : try StoreLayout.canonical(for: step.resolved.source.model, foundTriggers: .assumed)
            let found = try self.step(step, isFirst: index == 0, source: source, from: &contents)
            var work = RunWork.Step(step, rows: planned.rows, bytes: size)
            work.lists = found.lists
            size += found.growth
            return StepEstimates.Step(peak: found.peak, work: work, destinationBytes: size)
        }
    }

    /// The estimate of a step on a store with these contents, which become those of the new version.
    func step(
        _ step: StepPlan, isFirst: Bool, source: StoreLayout, from contents: inout StoreContents
    ) throws -> Found {
        var found = Found()
        let end = try StoreLayout.canonical(for: step.resolved.destination.model, foundTriggers: .assumed)
        guard let program = try program(of: step, isFirst: isFirst, from: source, to: end) else {
            // The run tells why; until then, each row counts as written.
            return found
        }
        let before = contents
        let entities = end.model.entities.count
        let works = contents.run(program)
        var disk = DiskUse()
        disk.add(works)
        found.lists = [
            RunWork.Step.StatementList(
                preparation: preparation(of: program.moves, before)
                    + WorkCosts.plannedEntity * Double(entities * entities),
                statements: zip(program.statements, works).map { statement, work in
                    (work.subject, WorkCosts.seconds(work) + (statement.alteration == nil ? 0 : WorkCosts.alteration))
                },
                checks: checks(of: program.moves, contents, end)
                    + WorkCosts.checkedEntity * Double(entities * entities))
        ]
        // A step before may have been counted with more objects than any store has.
        (found.growth, found.peak) = (Int64(min(disk.growth, 0x1p52)), Int64(min(disk.peak, 0x1p52)))
        return found
    }

    private func program(
        of step: StepPlan, isFirst: Bool, from source: StoreLayout, to destination: StoreLayout
    ) throws -> StepProgram? {
        // Preflight reports the reason of a refusal.
        if isFirst { _ = try planned.inPlace?.attempt() }
        if isFirst, let found = planned.inPlace?.found { return found }
        do throws(StepObstacle) {
            return try StepProgram(
                inPlace: step.resolved, source: source, schema: InPlaceSchema(of: source), destination: destination,
                keptPart: step.keptPart)
        } catch {
            return nil
        }
    }

    /// The seconds of planning on the store, and of the checks that read the old version.
    private func preparation(of moves: TableMoves, _ contents: StoreContents) -> Double {
        let read = moves.continued.filter { moves.touched.contains($0.key) }.reduce(0.0) { sum, names in
            sum + (contents.tables[names.value.uppercased()].map(scan) ?? 0)
        }
        return WorkCosts.item * Double(1 + contents.tables.count / 10) + read
    }

    /// The seconds of the checks of the new version: each written table is read for its counts and for mandatory
    /// values, and each key in it, or to it, is followed.
    private func checks(of moves: TableMoves, _ contents: StoreContents, _ layout: StoreLayout) -> Double {
        var seconds = WorkCosts.item * Double(1 + contents.tables.count / 10)
        for name in moves.touched {
            seconds += 2 * (contents.tables[name.uppercased()].map(scan) ?? 0)
        }
        for (key, storage) in layout.relationshipStorage {
            guard case .foreignKey(let table, _, _, _) = storage,
                let relationship = layout.model.relationship(key.property, of: key.entity)
            else { continue }
            let other = layout.table(of: relationship.destinationEntity)?.name ?? ""
            guard moves.touched.contains(table) || moves.touched.contains(other),
                let content = contents.tables[table.uppercased()]
            else { continue }
            seconds += scan(content) + content.count * WorkCosts.lookup / 2
        }
        return seconds
    }

    private func scan(_ table: StoreContents.Table) -> Double {
        table.count * WorkCosts.readRow + table.bytes * WorkCosts.readByte
    }

    /// The bytes of a transaction's journal, of the file's growth, and of the largest sort.
    private struct DiskUse {
        var growth = 0.0
        private var journal = 0.0
        private var sorted = 0.0
        /// Bytes of pages that the transaction has freed: reusing them journals them.
        private var free = 0.0

        var peak: Double { growth + journal + sorted }

        mutating func add(_ works: [StatementWork]) {
            for work in works {
                journal += work.overwrittenBytes
                free += work.freedBytes
                let isInNewPages = work.overwrittenBytes == 0
                let new = work.entryBytes + (isInNewPages ? work.writtenBytes : 0)
                let reused = min(free, new)
                free -= reused
                journal += reused
                growth += new - reused
                if work.entryBytes > StoreContents.sortedInMemory { sorted = max(sorted, work.entryBytes * 2) }
            }
        }
    }
}
