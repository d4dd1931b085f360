internal import FerryBase
internal import FerryEngine
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// Runs, verifies and finishes every unfinished step in the run folder.
struct StepsPhase: MigrationPhase {
    let call: MigrationRun
    let session: MigrationSession
    let plan: MigrationPlan
    let sourceGuard: SourceGuard

    private var verification: StepVerification { StepVerification(call: call, session: session) }
    private var hooks: StepHooks { StepHooks(call: call, session: session, plan: plan, sourceGuard: sourceGuard) }

    func run() throws {
        var beside: VerificationBeside?
        do {
            for number in 1...plan.steps.count { try runStep(number, beside: &beside) }
        } catch {
            // The step and the verification beside it stop together.
            stop.request(FerryError.wrapping(error, on: place.store))
            if let beside {
                switch beside.result {
                case .failure(let found as FerryError) where found.code == .verificationFailed:
                    try verification.discard(after: beside.number)
                    throw found
                // Otherwise the next call would verify the step again.
                case .success(let summary): try verification.keep(summary, of: beside.number)
                case .failure: break
                }
            }
            throw error
        }
    }

    private func runStep(_ number: Int, beside: inout VerificationBeside?) throws {
        let (index, step) = (number - 1, plan.steps[number - 1])
        try stop.check()
        try hooks.discardChangedStep(number)
        let isRecorded = index < migration.steps.count
        if index > 0, !isRecorded {
            let previous = destination(ofStep: index)
            // A step in place may have renamed the file already.
            if try files.exists(previous) { try checkVerified(previous) }
        }
        if !isRecorded { try hooks.callWillMigrate(number) }
        let run = try work(step, number, isBeside: beside != nil)
        let verifiesLater = call.verifiesBesideNext(plan, number)
        if !isRecorded {
            head.phase = .rows
            try session.save()
            relay.begin(.rows, step: number)
            // A step in place checks its rows itself, before its COMMIT.
            if index > 0, step.mode == .copy, migration.checkedStep != number {
                try checkRows(step, number, run.sourcePath)
                migration.checkedStep = number
                try session.save()
                stop.unitIsDone()
            }
            if index > 0 { try countLosses(number, destination(ofStep: index)) }
            let report = try run.run()
            releaseUnusedMemory()
            call.isResumed = call.isResumed || report.resumed
            call.chunkTimes.add(report.chunkTimes)
            noteTimes()
            try verification.end(&beside)
            head.phase = .verify
            try session.save()
            migration.add(step, number, report)
            if !verifiesLater { try verification.verify(run, number) }
            try session.save()
            stop.unitIsDone()
            try stop.check()
        }
        // A recorded verification is not repeated: the step's progress table may be gone already.
        if !migration.steps[index].isFinished {
            try run.finish()
            if place.output != nil, number == plan.steps.count, !isNew(step) {
                // The swap gives pages of the store back itself.
                migration.freed = try FreedPages(before: sourceGuard.connection).giveBack(
                    on: Connection(
                        inPlace: run.destinationPath, memory: memory, vfs: files.vfs(folder.path),
                        trace: configuration.trace), stop: stop)
            }
            migration.steps[index].isFinished = true
            migration.steps[index].destination = FileState(try files.attributes(run.destinationPath))
            try session.save()
            stop.unitIsDone()
        }
        if migration.steps[index].verification == nil {
            if verifiesLater {
                beside = try verification.verifyBeside(run, number)
            } else {
                // An earlier call had more memory, or more processors.
                try verification.verify(run, number)
                try session.save()
            }
        }
        try hooks.callDidMigrate(number)
        if index > 0, beside == nil { try files.removeTree(folder.stepFolder(index)) }
    }

    /// Whether a step fills a file of its own, which has no pages of the store.
    private func isNew(_ step: StepPlan) -> Bool { step.mode == .copy && step.keptPart == nil }

    private func work(_ step: StepPlan, _ number: Int, isBeside: Bool) throws -> any StepWork {
        let previous = number > 1 ? destination(ofStep: number - 1) : nil
        var options = call.engineOptions(migration, step: number, after: plan.steps[..<(number - 1)])
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
                options: options, policies: call.inputs.policies, keepsTables: true)
            guard let part = step.partInPlace else { return filling }
            return StepWithKeptPart(
                filling: filling, part: part, previous: previous, sourceGuard: sourceGuard, files: files)
        }
        return InPlaceStep(
            step: step, previous: previous,
            // After a killed hook the step runs again from its source, so the source must stay.
            isCopied: try configuration.hasStages || previous.map { try writesMuch(step, at: $0) } ?? true,
            sourceGuard: sourceGuard,
            keepsLog: head.source.store.usesWriteAheadLog && plan.steps[..<number].allSatisfy { $0.mode == .inPlace },
            folder: stepFolder, files: files, options: options)
    }

    /// Whether a step rewrites much of the step before's destination; false if it has renamed that file already.
    private func writesMuch(_ step: StepPlan, at previous: String) throws -> Bool {
        guard try files.exists(previous) else { return false }
        let connection = try Connection(path: previous, mode: .immutable)
        return try call.writesMuch([step], on: connection, ProgramInPlace(step, dropping: []) { connection })
    }

    /// Checks a step's requirements on the rows of earlier steps, as far as preflight could not check them.
    private func checkRows(_ step: StepPlan, _ number: Int, _ path: String) throws {
        try FerryError.wrapping(on: path) {
            let connection = try Connection(path: path, mode: .readOnly, trace: configuration.trace)
            connection.abandonStatements(on: stop)
            try connection.shareCaches(memory.workingCaches, among: ["main": 2, "temp": 1])
            let layout = try StoreLayout.actual(for: step.resolved.source.model, on: connection)
            let named = NamedStep(number - 1, of: plan)
            let options = EngineOptions(limitsOf: configuration)
            var refusals = try UnfitValues(
                connection: connection, layout: layout, step: step, named: named, longestValue: options.wholeValueBytes,
                now: migration.now
            ).refusals()
            guard refusals.isEmpty, RowChecks.areNeeded(by: step) else { return try refuse(refusals, step) }
            try connection.execute("BEGIN")
            let walk = try PageWalk(of: layout, on: connection, stop: stop)
            let inspection = try StoreInspection(of: layout, on: connection, walk: walk)
            let checks = RowChecks(
                connection: connection, layout: layout, rows: inspection.rowsOfEntities, step: step,
                named: named, walk: walk)
            refusals += try checks.valuesWithoutSource().refusals + checks.rowsOfAbstractEntities()
            refusals += try checks.emptyValues() + checks.missingInPassedVersions()
            refusals += try checks.duplicates(step.needsUniqueValues)
            try refuse(refusals, step)
        }
    }

    /// Counts what a later pass loses in the rows that it reads, which the store's own rows did not show.
    private func countLosses(_ number: Int, _ path: String) throws {
        guard let losses = migration.findings.losses, losses.contains(where: { $0.isAtMost && $0.pass == number }),
            try files.exists(path)
        else { return }
        // A step in place has renamed the file already if an earlier call began it.
        let later = plan.losses(ofPass: number)
        let counted = try FerryError.wrapping(on: path) {
            let connection = try Connection(path: path, mode: .readOnly, trace: configuration.trace)
            connection.abandonStatements(on: stop)
            let layout = try StoreLayout.actual(for: plan.steps[number - 1].resolved.source.model, on: connection)
            let counter = LossCounter(connection: connection, layout: layout, rows: [:], now: migration.now)
            return try later.map { (try counter.counted([$0.loss], .all).first?.count ?? .exactly(0), $0) }
        }
        migration.findings.losses = losses.map { loss in
            guard loss.isAtMost, loss.pass == number else { return loss }
            let own = counted.filter { _, later in
                later.loss.isOfOrder == loss.isOrder
                    && later.properties.contains { $0.property == loss.property && loss.has($0.entity, in: plan) }
            }
            let counts = own.map(\.0)
            guard !counts.isEmpty, !counts.contains(where: \.isEstimated) else { return loss }
            return loss.counted(counts.map(\.number).reduce(0, +))
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
        let executors = Dictionary(
            first: step.partitions.flatMap(\.entityMappings).map { ($0.mapping.name, $0.executor) })
        let mappings = report.counts.map { counts in
            MigrationReport.EntityMappingReport(
                step: number, name: counts.name, source: counts.source, destination: counts.destination,
                executor: executors[counts.name] ?? .set, read: counts.read, created: counts.created,
                written: counts.written, dropped: counts.dropped, merged: counts.merged,
                isEstimated: counts.isEstimated)
        }
        steps.append(
            RunRecord.StepRecord(
                isFinished: false, entityMappings: mappings,
                unmapped: report.unmapped.map { .init(step: number, entity: $0.entity, rows: $0.rows) },
                healed: report.healed.map {
                    .init(step: number, kind: $0.kind, entity: $0.entity, rows: $0.rows)
                },
                leftBehind: report.leftBehind, chunks: report.chunks,
                policies: report.policies == PolicyEvidence() ? nil : report.policies))
    }
}
