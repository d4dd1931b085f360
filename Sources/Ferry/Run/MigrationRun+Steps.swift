internal import FerryBase
internal import FerryEngine
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerryPreflight
internal import FerrySQLite
internal import FerryStore

extension MigrationRun {
    /// Runs, verifies and finishes every unfinished step in the run folder.
    func runSteps(of plan: MigrationPlan, _ session: RunSession, _ sourceGuard: SourceGuard) throws {
        var plan = plan
        if configuration.damaged == .drop { plan.steps[0].leaveOutDamagedRows() }
        if !session.migration.findings.damage.isEmpty { plan.fillAllTables(because: Self.healsDamage) }
        for number in 1...plan.steps.count { try runStep(number, of: plan, session, sourceGuard) }
    }

    private func runStep(
        _ number: Int, of plan: MigrationPlan, _ session: RunSession, _ sourceGuard: SourceGuard
    ) throws {
        let hooks = StepHooks(run: self, session: session, plan: plan)
        let (index, step) = (number - 1, plan.steps[number - 1])
        try stop.check()
        try hooks.discardChangedStep(number)
        let run = try work(step, number, of: plan, session, sourceGuard)
        if index == session.migration.steps.count {
            if index > 0 { try session.checkVerified(run.sourcePath, of: place.store) }
            try hooks.callWillMigrate(number, sourceGuard)
            try make(run, number, of: plan, session, sourceGuard)
        }
        // The step's progress table may be gone already.
        if !session.migration.steps[index].isFinished {
            try run.finish()
            session.migration.steps[index].isFinished = true
            session.migration.steps[index].destination = FileState(try files.attributes(run.destinationPath))
            try session.save()
            stop.unitIsDone()
        }
        try hooks.callDidMigrate(number)
        if index > 0 { try files.removeTree(session.folder.stepFolder(index)) }
    }

    /// Runs and verifies a step, and records both.
    private func make(
        _ run: StepRun, _ number: Int, of plan: MigrationPlan, _ session: RunSession,
        _ sourceGuard: SourceGuard
    ) throws {
        try prepare(run)
        session.head.phase = .rows
        try session.save()
        relay.begin(.rows, step: number)
        if number > 1 {
            if session.migration.checkedStep != number {
                try checkRows(number, of: plan, run.sourcePath, now: session.migration.now)
                session.migration.checkedStep = number
                try session.save()
                stop.unitIsDone()
            }
            try countLosses(number, of: plan, run.sourcePath, session)
        }
        if run.step.keepsTables, try !files.exists(run.destinationPath) {
            try PageCopy(folder: run.folder, destination: run.destinationPath, files: files)
                .run(ofStepAfter: number > 1 ? run.sourcePath : nil, sourceGuard, run.options)
        }
        let report = try run.run()
        releaseUnusedMemory()
        isResumed = isResumed || report.resumed
        chunkTimes.add(report.chunkTimes)
        noteTimes(session)
        session.head.phase = .verify
        try session.save()
        session.migration.add(run.step, number, report)
        try verify(run, number, report, session)
        try session.save()
        stop.unitIsDone()
        try stop.check()
    }

    private func work(
        _ step: StepPlan, _ number: Int, of plan: MigrationPlan, _ session: RunSession,
        _ sourceGuard: SourceGuard
    ) throws -> StepRun {
        var options = engineOptions(session.migration, step: number, after: plan.steps[..<(number - 1)])
        options.vfs = try files.vfs(session.folder.path)
        let file = StepFile(
            folder: session.folder.stepFolder(number),
            sourcePath: number > 1 ? session.destination(ofStep: number - 1) : sourceGuard.store.main,
            // True too for a store that not even SQLite can write.
            isSourcePrivate: number > 1 || sourceGuard.access == .unlocked)
        return StepRun(step, in: .file(file), options: options, policies: inputs.policies)
    }

    /// The engine's options for a step, with the damage and the objects of the store itself for the first one.
    ///
    /// A copy leaves no dangling keys. Steps in place keep theirs, so a step after them searches for damage again.
    func engineOptions(
        _ migration: RunRecord.Migration, step: Int, after steps: ArraySlice<StepPlan> = []
    ) -> EngineOptions {
        var options = engineOptions
        (options.now, options.progress) = (migration.now, relay.hook(step: step))
        let damage = migration.findings.damage
        options.sourceDamage = steps.isEmpty ? damage : []
        if !damage.isEmpty, !steps.isEmpty, steps.allSatisfy({ $0.mode == .inPlace }) { options.sourceDamage = nil }
        if !steps.isEmpty { options.dropping = [] }
        return options
    }

    /// The engine's options for the store itself, before a step begins.
    var engineOptions: EngineOptions {
        var options = EngineOptions(
            chunkSize: configuration.chunks.size, now: now, trace: configuration.trace, stop: stop,
            externalFolder: ExternalData.folder(forStore: place.store))
        options.chunkBytes = configuration.chunks.bytes
        options.chunkNanoseconds = configuration.chunks.time.clampedNanoseconds
        (options.memoryLimit, options.memoryHeld) = (configuration.limits.memory, held)
        (options.damaged, options.dropping) = (configuration.damaged, configuration.dropping)
        options.sample = configuration.sample
        return options
    }

    /// Makes the empty files of a step that has not begun; a destination with tables that stay begins as a copy instead.
    private func prepare(_ run: StepRun) throws {
        guard try !files.exists(run.folder) else { return }
        try files.createDirectory(run.folder, mode: 0o700)
        if !run.step.keepsTables { try files.createPrivately(run.destinationPath) }
        try files.createPrivately(run.scratchPath)
        try files.syncFolder(FileLayer.parent(of: run.folder))
    }

    /// Checks a step's requirements on the rows of earlier steps, as far as preflight could not check them.
    private func checkRows(_ number: Int, of plan: MigrationPlan, _ path: String, now: Double) throws {
        let step = plan.steps[number - 1]
        try reading(path, of: step) { connection, layout in
            var checks = RowChecks(
                ofStep: number - 1, of: plan, scans: TableScans(on: connection), layout: layout,
                longestValue: engineOptions.wholeValueBytes, now: now)
            var refusals = try checks.unfitValues()
            guard refusals.isEmpty, checks.needCounts else { return try refuse(refusals, step) }
            checks.rows = try StoreInspection(of: layout, on: connection).rowsOfEntities
            refusals += try checks.refusalsOfCounts() + checks.duplicates(step.needsUniqueValues)
            try refuse(refusals, step)
        }
    }

    /// Counts what a later pass loses in the rows that it reads, which the store's own rows did not show.
    private func countLosses(
        _ number: Int, of plan: MigrationPlan, _ path: String, _ session: RunSession
    ) throws {
        let losses = session.migration.findings.losses
        guard losses.contains(where: { $0.isAtMost && $0.pass == number }) else { return }
        let later = plan.losses(ofPass: number)
        let counted = try reading(path, of: plan.steps[number - 1]) { connection, layout in
            let counter = LossCounter(of: layout, on: connection, now: session.migration.now)
            return try later.map { (try counter.counted([$0.loss]).first?.count ?? .exactly(0), $0) }
        }
        session.migration.findings.losses = losses.map { loss in
            guard loss.isAtMost, loss.pass == number else { return loss }
            // For two reasons the same values may be lost: each number is a bound.
            let lines = losses.filter { line in
                line.property == loss.property && line.step == loss.step && line.isOrder == loss.isOrder
                    && (loss.has(line.entity, in: plan) || line.has(loss.entity, in: plan))
            }
            guard lines.count == 1 else { return loss }
            let own = counted.filter { _, later in
                later.loss.isOfOrder == loss.isOrder
                    && later.properties.contains { $0.property == loss.property && loss.has($0.entity, in: plan) }
            }
            let counts = own.map(\.0)
            guard !counts.isEmpty, !counts.contains(where: \.isEstimated),
                own.allSatisfy({ $0.1.loss.because == loss.because })
            else { return loss }
            return loss.counted(counts.map(\.number).reduce(0, +))
        }
    }

    private func reading<Result>(
        _ path: String, of step: StepPlan, _ body: (Connection, StoreLayout) throws -> Result
    ) throws -> Result {
        try FerryError.wrapping(on: path) {
            let connection = try Connection(path: path, mode: .readOnly, trace: configuration.trace)
            connection.abandonStatements(on: stop)
            try connection.shareCaches(memory.workingCaches, among: ["main": 2, "temp": 1])
            return try body(connection, StoreLayout.actual(for: step.resolved.source.model, on: connection))
        }
    }

    private func refuse(_ refusals: [FerryError], _ step: StepPlan) throws {
        guard var first = refusals.first else { return }
        first.message = "In the step to version \(step.resolved.destination.name): \(first.message)"
        throw first
    }
}

extension Loss {
    /// Whether the loss is that of an entity of the store, or of an entity from which it inherits the property.
    fileprivate func has(_ entity: String, in plan: MigrationPlan) -> Bool {
        plan.steps.first?.resolved.source.model.isKind(entity, of: self.entity) == true
    }
}

extension RunRecord.Migration {
    /// Adds a complete step that is not yet verified.
    mutating func add(_ step: StepPlan, _ number: Int, _ report: StepReport) {
        let mappings = report.counts.map { counts in
            MigrationReport.EntityMappingReport(
                step: number, name: counts.name, source: counts.source, destination: counts.destination,
                executor: step.resolved.entityMapping(named: counts.name)?.executor ?? .set,
                read: counts.read, created: counts.created, written: counts.written, dropped: counts.dropped,
                merged: counts.merged, isEstimated: counts.isEstimated)
        }
        steps.append(
            RunRecord.StepRecord(
                isFinished: false, entityMappings: mappings,
                unmapped: report.unmapped.map { .init(step: number, entity: $0.entity, rows: $0.rows) },
                healed: report.healed.map {
                    .init(step: number, kind: $0.kind, entity: $0.entity, rows: $0.rows)
                },
                leftBehind: report.leftBehind, chunks: report.chunks))
    }
}
