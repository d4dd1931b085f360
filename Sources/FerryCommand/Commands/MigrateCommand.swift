internal import Ferry
internal import FerryBase

struct MigrateCommand: PolicyCommand {
    static let syntax = Syntax(
        "migrate", summary: "Migrate a store; an interrupted migration can be resumed.",
        discussion: """
            Takes a snapshot, writes the migrated store next to the old one in chunks, compares the two, and \
            replaces the store's content in one transaction. Until then the store is not changed. \
            With --output, the store is never changed and no snapshot is taken.
            To continue a stopped migration, run the same command again. Ctrl-C stops after the current unit of work, \
            or abandons a long one; a second Ctrl-C stops at once. With --budget, each call does \
            at least one unit of work, even if that takes longer.
            Several stores are migrated one after another; if one fails or is refused, the others are still \
            migrated. The exit code is the worst one, in the order 1, 3, 2, 75. --budget then applies to all of them together.
            """,
        operands: [.init("STORE", .several, "The store's main file (not its -wal), or several stores.")],
        options: MigrationInput.options + [
            .value("--output", "NEW", "Write the migrated store to NEW and do not change STORE."),
            .value(
                "--chunk-size", "N|auto",
                "Rows per chunk. Default: auto, as many as 4 MiB and --chunk-time allow."),
            .value("--chunk-time", "TIME", "Target duration of an automatic chunk. Default: 500ms."),
            MigrateCommand.memoryLimit,
            .value(
                "--budget", "TIME", "Stop after TIME (15s, 2min) with exit code 75. Run the command again to continue."),
            MigrateCommand.wait,
            .flag("--hold-swap", "Do everything except the swap. Run again without --hold-swap to swap."),
            .flag("--restart", "Discard an unfinished migration and start over."),
            SnapshotOptions.formOrNone,
            .value("--snapshot-dir", "DIR", "Folder for the snapshot. Default: STORE.snapshots."),
            .choice("--verify", "MODE", of: verifyModes, "How the result is verified: full (default), quick, or none."),
            .flag(
                "--rehearse",
                "Run the migration next to the store, verify it, report peak usage, and discard the result. No snapshot is taken."
            ),
            StoreMigration.yes, EventCommand.option, ReportPlace.option, ProgressForm.option,
        ],
        common: [
            "--models", "--mappings", "--to", "--output", "--rehearse", "--lose", "--budget", "--memory-limit",
        ],
        example: "ferry migrate App.sqlite --models App.xcdatamodeld --mappings Mappings")

    static let verifyModes: [VerifyMode] = [.full, .quick, .none]

    static let wait = Syntax.Option.value(
        "--wait", "TIME",
        "Wait up to TIME (30s, 5min) for a store that another program is using, at the start and at the swap. "
            + "Default: do not wait.")

    static let memoryLimit = Syntax.Option.value(
        "--memory-limit", "SIZE",
        "Memory limit of the process (at least 24MiB). Default: 32MiB. A text or other value that must be in memory "
            + "as a whole needs twice its size."
    )

    let arguments: Arguments

    func run(on console: Console, policies: [String: PolicyFactory]) throws -> ExitCode {
        let migration = try StoreMigration(arguments)
        let report = try ReportPlace(from: arguments)
        let list = try StoreList(arguments.operands)
        try report?.check(list.stores, output: arguments.value("--output"))
        try migration.ask(before: list.stores, policies, on: console)
        let stop = InterruptWatch.start(on: console)
        if arguments.operands.count > 1 {
            return try migration.run(list, report: report, on: console, stop: stop, policies: policies)
        }
        let outcome = migration.report(on: console, stop: stop, policies: policies)
        report?.write(outcome, of: list.stores[0], on: console)
        return outcome.code
    }
}

/// The migration of one store with the options of `migrate`.
struct StoreMigration {
    private(set) var input: MigrationInput
    var configuration: Configuration
    /// The migrator with the models and mapping models; nil if `run` has to read them.
    private var reader: Migrator?

    var arguments: Arguments { input.arguments }
    var isRehearsal: Bool { arguments.has("--rehearse") }
    private let progress: ProgressForm

    init(_ arguments: Arguments) throws(FerryError) {
        input = try MigrationInput(arguments)
        progress = try ProgressForm(arguments)
        configuration = input.configuration
        if !arguments.has("--rehearse"), !arguments.has("--accept-loss") { configuration.losses = .refuse }
        configuration.output = arguments.value("--output")?.fileURL
        configuration.chunkSize =
            try arguments.value("--chunk-size", "a number of rows (1 or more), or auto") { text in
                if text == "auto" { return .automatic }
                return Quantity.count(text).flatMap { (1...100_000_000).contains($0) ? .rows(Int($0)) : nil }
            } ?? .automatic
        configuration.chunkTime =
            try arguments.time("--chunk-time", "a time of at least 1ms, such as 500ms or 2s", from: 1_000_000)
            ?? configuration.chunkTime
        configuration.verify = try arguments.choice("--verify", among: MigrateCommand.verifyModes) ?? .full
        let snapshot = try arguments.choice("--snapshot", among: SnapshotOptions.choicesOrNone)
        configuration.takesSnapshot = snapshot != SnapshotOptions.Choice.none
        configuration.clonesSnapshot = snapshot == .clone
        configuration.snapshotFolder = arguments.snapshotFolder
        configuration.restarts = arguments.has("--restart")
        configuration.budget = try arguments.time("--budget", "a time such as 500ms, 15s or 2min")
        configuration.waits = try arguments.wait()
        configuration.holdsSwap = arguments.has("--hold-swap")
        try configuration.takeMemoryLimit(arguments)
        let stores = arguments.operands.count
        if stores > 1, configuration.output != nil {
            throw arguments.wrong("--output names one file for \(stores) stores.", "Run each by itself.")
        }
        let snapshotOption = ["--snapshot-dir", "--snapshot"].first { arguments.isTyped($0) }
        let isNone = snapshotOption == "--snapshot" && snapshot == SnapshotOptions.Choice.none
        if let snapshotOption, !isNone, !configuration.takesSnapshot || configuration.output != nil {
            throw arguments.wrong(
                "\(snapshotOption) has no effect with \(configuration.output == nil ? "--snapshot none" : "--output").",
                "Leave one of the two out.")
        }
    }

    /// The migration of another store with the same options.
    func of(_ store: String, budget: Duration?) -> StoreMigration {
        var migration = self
        migration.input.store = store.fileURL
        migration.configuration.budget = budget
        return migration
    }

    /// The migration with the models and mapping models read once, for several stores.
    func reading(_ policies: [String: PolicyFactory]) -> StoreMigration {
        var migration = self
        do {
            migration.reader = try input.migrator(policies)
        } catch {
            // Each store's run reports the error.
        }
        return migration
    }

    /// Runs the migration and prints its outcome.
    func report(on console: Console, stop: StopRequest, policies: [String: PolicyFactory]) -> StoreOutcome {
        let outcome = run(on: console, stop: stop, policies: policies)
        if console.isJSON { console.result(outcome.report.json) } else { outcome.show(console) }
        return outcome
    }

    /// Runs the migration; an error is an outcome, too.
    func run(on console: Console, stop: StopRequest, policies: [String: PolicyFactory]) -> StoreOutcome {
        // A failed run also reports the version that the plan found.
        let seen = Locked<PlanReport?>(nil)
        let planned = planned(policies)
        let sampler = RunSampler()
        func details() -> RunDetails {
            RunDetails(
                plan: seen.withLock { $0 }, planned: planned, memoryLimit: Int64(configuration.memoryLimit),
                samples: sampler.samples)
        }
        let command = arguments.value(EventCommand.option.name).map {
            EventCommand($0, store: (configuration.output ?? input.store).filePath, stop: stop, console: console)
        }
        do {
            let migrator = try reader?.of(input.store) ?? input.migrator(policies)
            let renderer = ProgressRenderer(progress, on: console)
            defer { renderer.finish() }
            var configuration = configuration
            if DeveloperSwitch.traces { configuration.trace = Self.traceHook(console) }
            let (memoryLimit, isRehearsal) = (configuration.memoryLimit, isRehearsal)
            let onEvent: @Sendable (MigrationEvent) -> Void = { event in
                defer { command?.take(event) }
                switch event {
                case .planned(let plan):
                    seen.withLock { $0 = plan }
                    renderer.plan(
                        RunOutline(steps: plan.steps.count, memoryLimit: memoryLimit, isRehearsal: isRehearsal))
                case .phase(let phase, let step):
                    sampler.begin(phase, step: step)
                    renderer.begin(phase, step: step)
                case .progress(let update):
                    sampler.take(update)
                    renderer.show(update)
                case .warning(let warning): renderer.warn(warning)
                case .finished: break
                }
            }
            var rendering = try rendering(of: migrator, configuration, stop, onEvent)
            rendering.details = details()
            return StoreOutcome(rendering)
        } catch {
            let error = input.worded(error)
            command?.end(error)
            return StoreOutcome(
                MigrationFailure(error: error, store: configuration.output ?? input.store, details: details()))
        }
    }

    /// What a report has of the plan: made before the migration, after which there is nothing left to plan.
    private func planned(_ policies: [String: PolicyFactory]) -> PlanDetails {
        guard arguments.value(ReportPlace.option.name) != nil else { return PlanDetails() }
        return PlanDetails(try reader?.of(input.store) ?? input.migrator(policies), configuration)
    }

    private func rendering(
        of migrator: Migrator, _ configuration: Configuration, _ stop: StopRequest,
        _ onEvent: @escaping @Sendable (MigrationEvent) -> Void
    ) throws -> MigrationRendering {
        guard isRehearsal else {
            return MigrationRendering(
                report: try migrator.migrate(configuration, stop: stop, onEvent: onEvent))
        }
        let rehearsal = try migrator.rehearse(configuration, stop: stop, onEvent: onEvent)
        guard let report = rehearsal.migration else {
            throw FerryError(.internalError, "The rehearsal ended without a report.")
        }
        return MigrationRendering(report: report, rehearsal: rehearsal)
    }

    private static func traceHook(_ console: Console) -> TraceHook {
        { event in
            let microseconds = Quantity.decimal(Double(event.nanoseconds) / 1_000, places: 1)
            console.note("trace \(event.kind.rawValue) \(microseconds) µs: \(event.text)")
        }
    }
}

extension Configuration {
    /// Takes the memory limit of the command line and checks that it is large enough.
    mutating func takeMemoryLimit(_ arguments: Arguments) throws(FerryError) {
        let limit = try arguments.bytes(
            MigrateCommand.memoryLimit.name, "a size, such as 32MiB", in: 1...Int64.max)
        if let limit { memoryLimit = limit }
        try checkMemory()
        ProcessMemory.keep(MemoryBudget(limit: memoryLimit))
    }
}

/// The end of one store's migration.
struct StoreOutcome {
    let report: any CommandReport
    var code = ExitCode.success
    /// The outcome in one word, as in the JSON.
    let word: String

    init(_ rendering: MigrationRendering) { (report, word) = (rendering, rendering.outcome) }

    init(_ failure: MigrationFailure) {
        (report, word) = (failure, failure.outcome)
        code = ExitCode(failure.error.code.consequence)
    }

    func show(_ console: Console) {
        if let failure = report as? MigrationFailure { return failure.show(on: console) }
        for line in report.text(width: console.width) { console.say(line) }
    }
}
