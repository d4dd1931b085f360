internal import FerryBase
internal import FerryEngine
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

extension MigrationRun {
    /// Runs, verifies and finishes every unfinished step.
    func runSteps(
        _ plan: MigrationPlan, _ sourceGuard: SourceGuard, _ record: inout RunRecord, _ folder: RunFolder
    ) throws {
        guard record.migration != nil else { return }
        var beside: VerificationBeside?
        do {
            for number in 1...plan.steps.count {
                try runStep(plan, number, sourceGuard, &record, folder, beside: &beside)
            }
        } catch {
            // The step and the verification beside it stop together.
            stop.request(FerryError.wrapping(error, on: place.store))
            if let beside {
                if let found = beside.difference() {
                    try discard(after: beside.number, folder)
                    throw found
                }
                // Otherwise the next call would verify the step again.
                if let summary = beside.success() { try keep(summary, of: beside.number, &record, folder) }
            }
            throw error
        }
    }

    private func runStep(
        _ plan: MigrationPlan, _ number: Int, _ sourceGuard: SourceGuard, _ record: inout RunRecord,
        _ folder: RunFolder, beside: inout VerificationBeside?
    ) throws {
        let (index, step) = (number - 1, plan.steps[number - 1])
        try stop.check()
        try discardChangedStep(number, &record, folder)
        guard let migration = record.migration else { return }
        let isRecorded = index < migration.steps.count
        if index > 0, !isRecorded {
            let previous = destination(ofStep: index, in: folder)
            // A step in place may have renamed the file already.
            if try files.exists(previous) { try checkVerified(record, previous) }
        }
        if !isRecorded { try callWillMigrate(plan, number, sourceGuard, &record, folder) }
        let run = try work(
            plan, step, number, record.migration ?? migration, sourceGuard, folder, isBeside: beside != nil)
        if !isRecorded {
            record.phase = .rows
            try folder.save(record)
            relay.begin(.rows, step: number)
            // A step in place checks its rows itself, before its COMMIT.
            if index > 0, step.mode == .copy, record.migration?.checkedStep != number {
                try checkRows(step, run.sourcePath)
                record.migration?.checkedStep = number
                try folder.save(record)
                stop.unitIsDone()
            }
            let report = try run.run()
            releaseUnusedMemory()
            isResumed = isResumed || report.resumed
            chunkTimes.add(report.chunkTimes)
            noteTimes(&record)
            try end(&beside, &record, folder)
            record.phase = .verify
            try folder.save(record)
            record.add(step, number, report)
            if !verifiesBesideNext(plan, number) { try verify(run, number, &record) }
            try folder.save(record)
            stop.unitIsDone()
            try stop.check()
        }
        // A recorded verification is not repeated: the step's progress table may be gone already.
        if record.migration?.steps[index].isFinished == false {
            try run.finish()
            if place.output != nil, number == plan.steps.count, !isNew(plan.steps[index]) {
                // The swap gives pages of the store back itself.
                record.freed = try FreedPages(before: sourceGuard.connection).giveBack(
                    on: Connection(
                        inPlace: run.destinationPath, memory: memory, vfs: files.vfs(folder.path),
                        trace: configuration.trace), stop: stop)
            }
            record.migration?.steps[index].isFinished = true
            record.migration?.steps[index].destination = FileState(try files.attributes(run.destinationPath))
            try folder.save(record)
            stop.unitIsDone()
        }
        if record.migration?.steps[index].verification == nil {
            if verifiesBesideNext(plan, number) {
                beside = try verifyBeside(run, number, record)
            } else {
                // An earlier call had more memory, or more processors.
                try verify(run, number, &record)
                try folder.save(record)
            }
        }
        try callDidMigrate(plan, number, &record, folder)
        if index > 0, beside == nil { try files.removeTree(folder.stepFolder(index)) }
    }

    /// Whether a step fills a file of its own, which has no pages of the store.
    private func isNew(_ step: StepPlan) -> Bool { step.mode == .copy && step.keptPart == nil }

    private func work(
        _ plan: MigrationPlan, _ step: StepPlan, _ number: Int, _ migration: RunRecord.Migration,
        _ sourceGuard: SourceGuard, _ folder: RunFolder, isBeside: Bool
    ) throws -> any StepWork {
        let previous = number > 1 ? destination(ofStep: number - 1, in: folder) : nil
        var options = engineOptions(migration, step: number, after: plan.steps[..<(number - 1)])
        options.vfs = try files.vfs(folder.path)
        options.isBesideVerification = isBeside
        let stepFolder = folder.stepFolder(number)
        if try !files.exists(stepFolder) {
            try files.createDirectory(stepFolder, mode: 0o700)
            if step.mode == .copy, number > migration.steps.count {
                // A destination with kept tables is made by copying pages.
                let names = step.keptPart == nil ? ["destination.sqlite", "scratch.sqlite"] : ["scratch.sqlite"]
                for name in names {
                    try files.createPrivately(stepFolder + "/" + name)
                }
            }
            // Before a step in place renames the file of the step before: a power cut could lose both.
            try files.syncFolder(folder.path)
        }
        guard step.mode == .inPlace else {
            // If SQLite can take no lock, opening the store with one fails; the fingerprint shows changes.
            let filling = StepRun(
                step: step, sourcePath: previous ?? place.store,
                isSourcePrivate: previous != nil || sourceGuard.access == .unlocked, folder: stepFolder,
                options: options, policies: inputs.policies, keepsTables: true)
            guard let part = step.partInPlace else { return filling }
            return StepWithKeptPart(
                filling: filling, part: part, previous: previous, sourceGuard: sourceGuard, files: files)
        }
        return InPlaceStep(
            step: step, previous: previous,
            // After a killed hook the step runs again from its source, so the source must stay.
            isCopied: try configuration.hasStages || previous.map { try writesMuch(step, at: $0) } ?? true,
            sourceGuard: sourceGuard,
            keepsJournalMode: plan.steps[..<number].allSatisfy { $0.mode == .inPlace }, folder: stepFolder,
            files: files, options: options)
    }

    /// The engine's options for a step, with the damage and the objects of the store itself for the first one.
    ///
    /// A copy leaves no dangling keys. Steps in place keep theirs, so a step after them searches for damage again.
    func engineOptions(
        _ migration: RunRecord.Migration, step: Int, after steps: ArraySlice<StepPlan> = []
    ) -> EngineOptions {
        let chunkSize: EngineOptions.ChunkSize =
            switch configuration.chunkSize {
            case .rows(let rows): .rows(rows)
            case .automatic: .automatic
            }
        var options = EngineOptions(
            chunkSize: chunkSize, now: migration.now, trace: configuration.trace, progress: relay.hook(step: step),
            stop: stop, externalFolder: ExternalData.folder(forStore: place.store))
        options.chunkBytes = configuration.chunkBytes
        let (seconds, attoseconds) = configuration.chunkTime.components
        options.chunkNanoseconds =
            UInt64(max(0, seconds)) * 1_000_000_000 + UInt64(max(0, attoseconds) / 1_000_000_000)
        options.memoryLimit = configuration.memoryLimit
        options.memoryHeld = held
        options.damaged =
            switch configuration.damaged {
            case .keep: .keep
            case .drop: .drop
            case .refuse: .refuse
            }
        let damage = migration.findings.damage
        options.sourceDamage = steps.isEmpty ? damage : []
        if !damage.isEmpty, !steps.isEmpty, steps.allSatisfy({ $0.mode == .inPlace }) { options.sourceDamage = nil }
        options.toldLinks = step == 1 ? migration.findings.toldLinks : nil
        options.dropping = steps.isEmpty ? configuration.dropping : []
        return options
    }

    /// Whether a step rewrites much of the step before's destination; false if it has renamed that file already.
    private func writesMuch(_ step: StepPlan, at previous: String) throws -> Bool {
        guard try files.exists(previous) else { return false }
        let connection = try Connection(path: previous, mode: .immutable)
        return try writesMuch([step], on: connection, StatementsInPlace(step, dropping: []) { connection })
    }

    func lastDestination(_ record: RunRecord, in folder: RunFolder) -> String {
        destination(ofStep: record.migration?.steps.count ?? 0, in: folder)
    }

    func destination(ofStep number: Int, in folder: RunFolder) -> String {
        folder.stepFolder(number) + "/destination.sqlite"
    }

    /// Checks a step's requirements on the rows of earlier steps, as far as preflight could not check them.
    private func checkRows(_ step: StepPlan, _ path: String) throws {
        guard RowChecks.areNeeded(by: step) else { return }
        do {
            let connection = try Connection(path: path, mode: .readOnly, trace: configuration.trace)
            connection.abandonStatements(on: stop)
            try connection.shareCaches(memory.workingCaches, among: ["main": 2, "temp": 1])
            let layout = try StoreLayout.actual(for: step.resolved.source.model, on: connection)
            try connection.execute("BEGIN")
            let walk = try PageWalk(of: layout, on: connection, stop: stop)
            let inspection = try StoreInspection(of: layout, on: connection, walk: walk)
            let checks = RowChecks(
                connection: connection, layout: layout, rows: inspection.rowsOfEntities, step: step, walk: walk)
            var refusals = checks.valuesWithoutSource().refusals + checks.rowsOfAbstractEntities()
            refusals += try checks.emptyValues(checks.emptyRows(_:of:)) + checks.missingInPassedVersions()
            refusals += try checks.duplicates(step.needsUniqueValues)
            guard var first = refusals.first else { return }
            first.message = "In the step to version \(step.resolved.destination.name): \(first.message)"
            throw first
        } catch {
            throw FerryError.wrapping(error, on: path)
        }
    }

    /// Checks that the last step's destination is still the verified file.
    ///
    /// - Throws: ``FerryError`` `.destinationChanged`.
    func checkVerified(_ record: RunRecord, _ destination: String) throws {
        guard let verified = record.migration?.steps.last?.destination else { return }
        guard try files.attributesIfPresent(destination).map(FileState.init) != verified else { return }
        throw FerryError(
            .destinationChanged,
            "\(destination) was modified or removed after verification. \(place.store) is unchanged.",
            remedy: "\(action: .again) with \(on: .restart), which recreates the new store.")
    }
}

extension RunRecord {
    /// Adds a complete step that is not yet verified.
    mutating func add(_ step: StepPlan, _ number: Int, _ report: StepReport) {
        let executors = Dictionary(
            step.partitions.flatMap(\.entityMappings).map {
                ($0.mapping.name, RowExecutor(rawValue: $0.executor.rawValue))
            },
            uniquingKeysWith: { first, _ in first })
        let mappings = report.counts.map { counts in
            MigrationReport.EntityMappingReport(
                step: number, name: counts.name, source: counts.source, destination: counts.destination,
                executor: executors[counts.name] ?? .set, read: counts.read, created: counts.created,
                written: counts.written, dropped: counts.dropped, merged: counts.merged,
                isEstimated: counts.isEstimated)
        }
        migration?.steps.append(
            StepRecord(
                isFinished: false, entityMappings: mappings,
                unmapped: report.unmapped.map { .init(step: number, entity: $0.entity, rows: $0.rows) },
                healed: report.healed.map {
                    .init(step: number, kind: DamageKind(rawValue: $0.kind), entity: $0.entity, rows: $0.rows)
                },
                leftBehind: report.leftBehind, chunks: report.chunks,
                policies: report.policies == PolicyEvidence() ? nil : report.policies))
    }
}

/// A step with its two stores, as verification needs them.
protocol MigratedStep {
    var step: StepPlan { get }
    /// The store against which the step is verified.
    var sourcePath: String { get }
    /// Whether no other program can change the source meanwhile.
    var isSourcePrivate: Bool { get }
    var destinationPath: String { get }
    var folder: String { get }
    var options: EngineOptions { get }
}

/// One step of a run in the run folder; ``run()`` after a kill resumes or repeats it, with the same result.
protocol StepWork: MigratedStep {
    func run() throws -> StepReport
    /// Leaves the whole verified destination in its main file, without Ferry's own tables.
    func finish() throws
}

extension StepRun: StepWork {}
