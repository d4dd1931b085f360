internal import FerryBase
internal import FerryEngine
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerryPreflight
internal import FerrySQLite
internal import FerrySnapshot
internal import FerryStore
internal import Foundation

extension MigrationRun {
    /// The plan of the run, without changes; with `checksRows`, counts and scans rows like the beginning of a run.
    ///
    /// - Throws: ``FerryError`` for an unknown version, or a target that does not exist.
    func plan(_ store: OpenedStore, checksRows: Bool) throws -> PlanReport {
        guard var planned = try planned(store, checksRows: checksRows) else {
            let ends = try ends(of: store)
            try checkParts(of: store, as: ends.version)
            return PlanReport(store: Self.url(place.store), chain: [inputs.catalog.displayName(of: ends.target)])
        }
        var report = try report(planned, store, readsRows: !checksRows)
        do {
            try RunFolder.checkIsOwn(place.runFolder, files: files)
            if checksRows { try requireWritable(store.sourceGuard) }
        } catch let error as FerryError where error.code == .runDiffers || error.code == .storeReadOnly {
            report.refusals.append(error)
        }
        if let warning = budgetWarning(report.longestUnit?.time) { report.warnings.append(warning) }
        report.insertRefusedSteps(of: planned.plan)
        if store.sourceGuard.access != .readWrite, !report.refusals.contains(where: { $0.code == .storeReadOnly }) {
            report.warnings.append(
                FerryWarning(
                    .notLocked, "\(place.store) is not writable here, so it cannot be locked against other programs.",
                    about: .init(path: place.store)))
        }
        (report.notScanned, report.notChecked) = ([], [])
        if let (refusals, preflight) = try checked(planned, store, report.refusals, scanning: checksRows) {
            report.refusals = refusals
            if checksRows {
                report.notChecked = preflight.input.notChecked
                if !preflight.findings.damage.isEmpty { planned.plan.fillAllTables(because: Self.healsDamage) }
                report.warnings += warningsOfUnchecked(planned)
            } else {
                report.notScanned = preflight.input.notScanned
            }
            report.losses += preflight.findings.losses.map(Loss.init)
            report.warnings += preflight.findings.warnings
        }
        try report.addTables(of: planned.plan)
        return report
    }

    /// The refusals with those of the checks, or without `scanning` with those that counts tell; nil if there is nothing
    /// to do, or the step that reads the store is refused.
    ///
    /// One refusal of all losses comes after the others: whoever allows the losses must not learn only then of the next
    /// refusal.
    func checked(
        _ planned: Planned, _ store: OpenedStore, _ known: [FerryError] = [], scanning: Bool = true
    ) throws -> (refusals: [FerryError], preflight: Preflight)? {
        guard let inPlace = planned.inPlace else { return nil }
        var preflight = Preflight(
            PreflightInput(
                path: store.path, connection: store.sourceGuard.connection, plan: planned.plan, inPlace: inPlace,
                layout: planned.layout, inspection: planned.inspection, rows: planned.rows,
                checkedTables: planned.checkedTables, scans: planned.scans, options: engineOptions,
                breaksSync: configuration.breaksSync))
        try FerryError.beforeRun(on: place.store) {
            try scanning ? preflight.check() : preflight.checkWithoutScans()
        }
        var refusals = known.filter { $0.code != .lossRefused } + preflight.findings.refusals
        if planned.plan.refusedSteps.isEmpty {
            refusals += try diskNeed(planned.plan, store, planned.steps.map(\.disk)).refusals()
        }
        let losses = configuration.refusal(
            of: planned.plan.losses + preflight.findings.losses, hasMappingModels: !inputs.mappingModels.isEmpty)
        return (refusals + [losses].compactMap { $0 }, preflight)
    }

    /// The public report of a plan, with its time and the disk space that it needs.
    ///
    /// `readsRows` says whether the run still has to read the whole store before it begins.
    func report(_ planned: Planned, _ store: OpenedStore, readsRows: Bool = false) throws -> PlanReport {
        var report = PlanReport(planned.plan, store: place.store, rows: planned.rows.values.reduce(0, +))
        report.transformed = planned.transformed
        report.layoutStore = planned.ends.layoutStore.map(Self.url)
        report.isOwnModel = inputs.catalog.versions(matching: store.metadata.hashes).contains { $0.origin == .ownStore }
        for index in report.steps.indices { report.steps[index].scratchBytes = planned.steps[index].disk.peak }
        guard planned.plan.refusals.isEmpty, !planned.steps.isEmpty else { return report }
        report.peakDiskBytes = try diskNeed(planned.plan, store, planned.steps.map(\.disk)).bytesByFolder
        report.longestUnit = try longestUnit(planned, store)
        report.snapshot = try snapshotEstimate(store)
        var work = try work(planned, store)
        if readsRows, planned.writesRows {
            work.append(WorkItem(.preflight, nil, .pages, bytes: Double(try store.contentBytes())))
        }
        report.estimatedTime = .clamped(seconds: try time(since: start).inSeconds + work.seconds * machine(for: store))
        return report
    }

    /// The estimates of the steps.
    func estimates(_ planned: Planned, _ store: OpenedStore) throws -> [StepEstimate] {
        try StepEstimate.all(
            of: planned, on: store.sourceGuard.connection, verify: configuration.verification,
            jobs: configuration.limits.processors ?? ProcessInfo.processInfo.activeProcessorCount)
    }

    /// The warning that a budget is shorter than the transaction on the store; nil without such a budget.
    func budgetWarning(_ longest: Duration?) -> FerryWarning? {
        guard let budget = configuration.limits.budget, let longest, longest > budget else { return nil }
        return FerryWarning(
            .budgetTooShort,
            "The budget of \(budget.inWords) cannot be met: the transaction on the store takes about \(longest.inWords) on this "
                + "machine and cannot be divided.",
            about: .init(path: place.store))
    }

    func diskNeed(_ plan: MigrationPlan, _ store: OpenedStore, _ steps: [DiskNeed.Step]) throws -> DiskNeed {
        try DiskNeed(
            steps, contentBytes: store.contentBytes(), isInPlace: runsInStore(plan), swapsStore: place.output == nil,
            runFolder: FileLayer.parent(of: place.result),
            snapshot: takesSnapshot ? (folder: snapshotFolder, share: shareOfSnapshot(store)) : nil, files: files)
    }

    private func snapshotEstimate(_ store: OpenedStore) throws -> PlanReport.Snapshot? {
        guard takesSnapshot else { return nil }
        let (bytes, share) = (Double(try store.contentBytes()), shareOfSnapshot(store))
        let isClone = configuration.snapshots.form == .clone
        let folder = FileLayer.parent(of: place.store)
        let isOneVolume =
            try !files.exists(snapshotFolder) || files.volume(of: snapshotFolder) == files.volume(of: folder)
        return try PlanReport.Snapshot(
            isClone: isClone, bytes: Int64(bytes * share),
            seconds: isClone ? 0 : snapshotWork(of: bytes).seconds * machine(for: store),
            mayBeCloned: isOneVolume && files.mayClone(at: folder))
    }

    /// The bytes of a snapshot for one byte of the store.
    private func shareOfSnapshot(_ store: OpenedStore) -> Double {
        if configuration.snapshots.form == .clone { return 0 }
        if let snapshotShare { return snapshotShare }
        var share = DiskNeed.usualSnapshot
        do {
            share = try SnapshotForm.preferred.share(
                of: PageReader(store.sourceGuard.connection), level: configuration.snapshots.level)
        } catch {
            // The snapshot itself reports why the store cannot be read.
        }
        snapshotShare = share
        return share
    }
}

extension PlanReport {
    init(_ plan: MigrationPlan, store: String, rows: Int64) {
        self.init(store: URL(fileURLWithPath: store), chain: plan.chain)
        self.rows = rows
        refusals = plan.refusals
        warnings = plan.allWarnings
        (links, notes) = (plan.links, plan.notes)
        losses = plan.losses.map(Loss.init)
        for step in plan.steps {
            steps.append(
                Step(
                    from: step.versions.first ?? step.resolved.source.name,
                    to: step.versions.last ?? step.resolved.destination.name, versions: step.versions,
                    isApartBecause: step.isApartBecause, mode: step.mode == .copy ? .copy : .inPlace,
                    reason: Self.reason(step, in: plan), mappingModels: step.mappingModelNames,
                    partitions: step.partitions.map { $0.map { Self.reported(step, at: $0) } }))
        }
    }

    /// Adds the treatment of each table.
    fileprivate mutating func addTables(of plan: MigrationPlan) throws {
        for step in plan.steps where step.canBeLaidOut {
            guard let index = steps.firstIndex(where: { $0.mode != .refused && $0.versions == step.versions }) else {
                continue
            }
            steps[index].tables = try step.treatments()
        }
    }

    /// Inserts the steps that cannot run, so that each step keeps its number.
    mutating func insertRefusedSteps(of plan: MigrationPlan) {
        for index in plan.refusedSteps.sorted() where index <= steps.count && index + 1 < chain.count {
            let versions = Array(chain[index...index + 1])
            steps.insert(
                Step(
                    from: versions[0], to: versions[1], versions: versions, isApartBecause: nil, mode: .refused,
                    reason: "see the refusals", mappingModels: [], partitions: []), at: index)
        }
    }

    private static func reason(_ step: StepPlan, in plan: MigrationPlan) -> String {
        switch step.mode {
        case .copy:
            (step.needsCopyBecause ?? "the plan ends before it")
                + (step.keptPart?.isEmpty ?? true ? "" : "; tables whose objects all keep their rows stay")
        case .inPlace:
            plan.mayChangeStore
                ? "every object keeps its row"
                : "every object keeps its row; \(plan.runsInFolderBecause ?? "another step needs a copy"), so it runs in the run folder"
        }
    }

    private static func reported(_ step: StepPlan, at position: Int) -> EntityMappingPlan {
        let mapping = step.resolved.entityMappings[position]
        return EntityMappingPlan(
            name: mapping.name, source: mapping.source, destination: mapping.destination,
            executor: mapping.executor, reason: mapping.executorReason, rows: step.rows?.count(of: mapping.source),
            isEstimated: step.rows?.isEstimated(mapping.source) ?? true)
    }
}

extension MigrationRun {
    /// The statements of each step's program; nothing runs.
    ///
    /// - Throws: ``FerryError`` when the plan cannot run.
    func statements(_ store: OpenedStore) throws -> [PlannedStatements] {
        guard let plan = try planned(store, checksRows: false)?.plan else { return [] }
        if let first = plan.refusals.first { throw first }
        do {
            var rehearsal = try StatementRehearsal(of: store.sourceGuard.connection)
            return try plan.steps.enumerated().map { index, step in
                let statements = try rehearsal.statements(
                    of: step, dropping: index == 0 ? configuration.dropping : [])
                return PlannedStatements(statements, of: step, number: index + 1)
            }
        } catch let error as DatabaseError {
            throw FerryError(
                .unsupported,
                "The schema of \(place.store) cannot be created here, so its statements cannot be listed: "
                    + error.message,
                remedy: "Migrate where the app's own modules and collations are available.", cause: error)
        }
    }
}

extension PlannedStatements {
    fileprivate init(_ found: StepStatements, of step: StepPlan, number: Int) {
        self.init(
            step: number, from: step.resolved.source.name, to: step.resolved.destination.name,
            isInPlace: step.mode == .inPlace,
            groups: found.groups.map { group in
                Group(phase: group.phase, reason: group.reason, statements: group.statements.map { Statement($0) })
            })
    }
}

extension PlannedStatements.Statement.Form {
    fileprivate init(_ form: ProgramStatement.Form) {
        switch form {
        case .once, .schema: self = .once
        case .chunks: self = .chunks
        case .rows: self = .rows
        }
    }
}

extension PlannedStatements.Statement {
    fileprivate init(_ statement: ProgramStatement) {
        self.init(
            sql: statement.sql.text, form: Form(statement.form),
            parameters: statement.sql.parameters.values.map { named in
                let value: String =
                    switch named.value {
                    case .null: "NULL"
                    case .stored(let stored): Value(stored).literal
                    // The run's fixed time, in seconds since 2001-01-01 UTC.
                    case .now: "unixepoch() - 978307200"
                    // SQL has no literal for what Swift evaluates.
                    case .evaluator: "NULL"
                    }
                return .init(name: named.name, value: value)
            })
    }
}
