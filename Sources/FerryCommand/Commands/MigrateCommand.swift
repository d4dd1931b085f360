internal import Ferry
internal import FerryBase

struct MigrateCommand: PolicyCommand {
    static let syntax = Syntax(
        "migrate", summary: "Migrates a store, resumable at any moment.",
        discussion: """
            Takes a snapshot, writes the migrated store beside the old one in chunks, checks it against the old one, and \
            puts its content in the store's place in one transaction. Until then the store is not changed. \
            With --output the store is left alone and no snapshot is taken.
            A run that was stopped goes on when the same command is given again. Ctrl-C stops after the work at hand, \
            or gives up what takes long; a second Ctrl-C stops at once. --budget stops by itself, and each call does \
            at least one piece of work, even one that takes longer.
            Several stores are migrated one after another: one that fails or is refused keeps no other from being \
            migrated. The exit code is the worst one, in the order 1, 3, 2, 75. --budget then counts for all of them.
            """,
        operands: [.init("STORE", .several, "The store's main file (not its -wal), or several stores.")],
        options: MigrationInput.options + [
            .value("--output", "NEW", "Write the migrated store to NEW and leave STORE alone."),
            .value(
                "--chunk-size", "N|auto",
                "Rows in one chunk. Default: auto, as many as --chunk-bytes and --chunk-time allow."),
            .value("--chunk-bytes", "SIZE", "What an automatic chunk writes, about. Default: 4MiB."),
            .value("--chunk-time", "TIME", "What an automatic chunk takes, about. Default: 500ms."),
            MigrateCommand.memoryLimit,
            .value("--budget", "TIME", "Work so long (15s, 2min), then stop with exit code 75; run again to go on."),
            .flag("--hold-swap", "Do everything but put the migrated store in place; the next call without it does."),
            .flag("--restart", "Drop an unfinished run instead of going on with it."),
            .flag(
                "--recover",
                "Let SQLite roll back what a program that ended in the middle of writing has left (a hot journal), after "
                    + "a raw copy of both files was put into the snapshots' folder; else such a store is refused."),
            .flag("--no-snapshot", "Take no snapshot: there is no way back then."),
            .value("--snapshot-dir", "DIR", "The folder for the snapshot. Default: STORE.snapshots."),
            SnapshotOptions.levelOption,
            .choice("--verify", "MODE", of: verifyModes, "full (default), quick, or none."),
            VerifyCommand.jobs,
            .flag("--dry-run", "Only show the plan."), PlanRendering.verbose,
            .flag(
                "--rehearse",
                "Do all of it beside the store, check it, tell what it took at most, and throw it away. No snapshot is taken."
            ),
            ReportPlace.option, ProgressForm.option,
            .flag("--trace", "Every SQL statement with its time on standard error."),
        ],
        example: "ferry migrate App.sqlite --models App.xcdatamodeld --mappings Mappings")

    private static let verifyModes: [Configuration.VerifyMode] = [.full, .quick, .none]

    static let memoryLimit = Syntax.Option.value(
        "--memory-limit", "SIZE",
        "What the process may hold, from 24MiB on. Default: 32MiB. Caches, queues and snapshots keep to it; a text or another "
            + "value that must be whole costs twice its size."
    )

    private let migration: StoreMigration
    private let stores: [String]
    private let report: ReportPlace?

    init(from arguments: Arguments) throws(FerryError) {
        let input = try MigrationInput(from: arguments)
        let (isDryRun, isRehearsal) = (arguments.has("--dry-run"), arguments.has("--rehearse"))
        stores = arguments.operands
        report = try ReportPlace(from: arguments, stores: stores.count)
        var configuration = input.configuration
        configuration.output = arguments.value("--output")?.fileURL
        configuration.chunkSize = try MigrateCommand.chunkSize(arguments)
        configuration.chunkBytes = try MigrateCommand.size("--chunk-bytes", arguments) ?? configuration.chunkBytes
        configuration.chunkTime = try MigrateCommand.chunkTime(arguments) ?? configuration.chunkTime
        if let limit = try arguments.bytes("--memory-limit") { configuration.memoryLimit = limit }
        configuration.verify = try arguments.choice("--verify", among: MigrateCommand.verifyModes) ?? .full
        configuration.jobs = try VerifyCommand.jobs(arguments)
        configuration.takesSnapshot = !arguments.has("--no-snapshot")
        configuration.snapshotFolder = arguments.value("--snapshot-dir")?.fileURL
        configuration.snapshotLevel = try SnapshotOptions.level(arguments)
        configuration.restart = arguments.has("--restart")
        configuration.recovers = arguments.has("--recover")
        configuration.budget = try MigrateCommand.budget(arguments)
        configuration.holdsSwap = arguments.has("--hold-swap")
        try configuration.checkMemory()
        migration = StoreMigration(
            input: input, configuration: configuration, isDryRun: isDryRun, isRehearsal: isRehearsal,
            isTraced: arguments.has("--trace"), isVerbose: arguments.has(PlanRendering.verbose.name),
            progress: try arguments.choice("--progress", among: ProgressForm.allCases) ?? .auto)
        if stores.count > 1, configuration.output != nil {
            throw arguments.wrong("--output names one file for \(stores.count) stores.", "Run each by itself.")
        }
        if configuration.recovers, isDryRun || isRehearsal {
            throw arguments.wrong(
                "--recover has no meaning with \(isDryRun ? "--dry-run" : "--rehearse"), which change no store.",
                "Leave one of the two out.")
        }
        let snapshotOption = ["--snapshot-dir", "--snapshot-level"].first { arguments.isTyped($0) }
        if let snapshotOption, !configuration.takesSnapshot || configuration.output != nil {
            throw arguments.wrong(
                "\(snapshotOption) has no meaning with \(configuration.output == nil ? "--no-snapshot" : "--output").",
                "Leave one of the two out.")
        }
    }

    private static func budget(_ arguments: Arguments) throws(FerryError) -> Duration? {
        guard let text = arguments.value("--budget") else { return nil }
        guard let nanoseconds = Quantity.nanoseconds(text), nanoseconds > 0 else {
            throw arguments.wrong("--budget cannot be \"\(text)\".", "It is a time such as 500ms, 15s or 2min.")
        }
        return .nanoseconds(nanoseconds)
    }

    private static func chunkSize(_ arguments: Arguments) throws(FerryError) -> Configuration.ChunkSize {
        guard let text = arguments.value("--chunk-size"), text != "auto" else { return .automatic }
        guard let rows = Quantity.count(text), (1...100_000_000).contains(rows) else {
            throw arguments.wrong("--chunk-size cannot be \"\(text)\".", "It is a number of rows from 1 on, or auto.")
        }
        return .rows(Int(rows))
    }

    private static func size(_ option: String, _ arguments: Arguments) throws(FerryError) -> Int? {
        guard let text = arguments.value(option) else { return nil }
        guard let bytes = Quantity.bytes(text), (1 << 10...1 << 40).contains(bytes) else {
            throw arguments.wrong("\(option) cannot be \"\(text)\".", "It is a size from 1KiB on, such as 4MiB.")
        }
        return Int(bytes)
    }

    private static func chunkTime(_ arguments: Arguments) throws(FerryError) -> Duration? {
        guard let text = arguments.value("--chunk-time") else { return nil }
        guard let time = Quantity.nanoseconds(text), time >= 1_000_000 else {
            throw arguments.wrong(
                "--chunk-time cannot be \"\(text)\".", "It is a time from 1ms on, such as 500ms or 2s.")
        }
        return .nanoseconds(time)
    }

    func run(on console: Console, policies: [String: PolicyFactory]) throws -> ExitCode {
        let stop = StopRequest()
        let list = try StoreList(stores)
        try report?.check(list.stores)
        if !migration.isDryRun { InterruptWatch.start(stop, on: console) }
        if stores.count > 1 {
            return try MigrationSeries(migration: migration, list: list, report: report)
                .run(on: console, stop: stop, policies: policies)
        }
        let outcome = migration.run(on: console, stop: stop, policies: policies)
        outcome.show(on: console)
        report?.write(outcome, of: stores[0], on: console)
        return outcome.code
    }
}

/// The migration of one store as `migrate` was asked for it.
struct StoreMigration {
    var input: MigrationInput
    var configuration: Configuration
    let isDryRun: Bool
    let isRehearsal: Bool
    let isTraced: Bool
    let isVerbose: Bool
    let progress: ProgressForm
    /// What has the models and mapping models already; nil where they are not read yet.
    private var reader: Migrator?

    init(
        input: MigrationInput, configuration: Configuration, isDryRun: Bool, isRehearsal: Bool, isTraced: Bool,
        isVerbose: Bool, progress: ProgressForm
    ) {
        (self.input, self.configuration, self.progress) = (input, configuration, progress)
        (self.isDryRun, self.isRehearsal) = (isDryRun, isRehearsal)
        (self.isTraced, self.isVerbose) = (isTraced, isVerbose)
    }

    /// The same for another store.
    func of(_ store: String, budget: Duration?) -> StoreMigration {
        var migration = self
        migration.input.store = store.fileURL
        migration.configuration.budget = budget
        return migration
    }

    /// The same with the models and mapping models read, for several stores.
    func reading(_ policies: [String: PolicyFactory]) -> StoreMigration {
        var migration = self
        do {
            migration.reader = try input.migrator(policies)
        } catch {
            // What keeps them from being read is told with each store.
        }
        return migration
    }

    /// Runs it; what keeps it from its end is an outcome, too.
    func run(on console: Console, stop: StopRequest, policies: [String: PolicyFactory]) -> StoreOutcome {
        // The version that the plan found is told also when the run fails later.
        let seen = Locked<PlanReport?>(nil)
        let sampler = RunSampler()
        do {
            let migrator = try reader?.of(input.store) ?? input.migrator(policies)
            if isDryRun {
                let rendering = PlanRendering(
                    plan: try migrator.plan(configuration), isVerbose: isVerbose, config: input.configPath)
                return StoreOutcome(
                    kind: .plan, members: rendering.json, code: rendering.exitCode, text: rendering.text(width:))
            }
            let renderer = progress.renderer(on: console)
            defer { renderer.finish() }
            var configuration = configuration
            if isTraced { configuration.trace = Self.traceHook(console) }
            let (memoryLimit, isRehearsal) = (configuration.memoryLimit, isRehearsal)
            let onEvent: @Sendable (MigrationEvent) -> Void = { event in
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
            let rendering = try rendering(of: migrator, configuration, stop, onEvent)
            return StoreOutcome(
                kind: .migrate, members: rendering.json, besides: besides(seen.withLock { $0 }, sampler),
                code: .success, text: rendering.text(width:))
        } catch {
            let error = input.worded(error)
            let plan = seen.withLock { $0 }
            return StoreOutcome(
                MigrationFailure(error: error, plan: plan, store: configuration.output ?? input.store),
                besides: besides(plan, sampler))
        }
    }

    private func rendering(
        of migrator: Migrator, _ configuration: Configuration, _ stop: StopRequest,
        _ onEvent: @escaping @Sendable (MigrationEvent) -> Void
    ) throws -> MigrationRendering {
        guard isRehearsal else {
            return MigrationRendering(
                report: try migrator.migrate(configuration, stop: stop, onEvent: onEvent), isVerbose: isVerbose)
        }
        let rehearsal = try migrator.rehearse(configuration, stop: stop, onEvent: onEvent)
        guard let report = rehearsal.migration else {
            throw FerryError(.internalError, "The rehearsal ended without a report.")
        }
        return MigrationRendering(report: report, rehearsal: rehearsal, isVerbose: isVerbose)
    }

    /// What a report has besides: why the chain is as it is, the limit, and the run over its time.
    private func besides(_ plan: PlanReport?, _ sampler: RunSampler) -> [(String, JSON)] {
        let planned = plan.map { PlanRendering(plan: $0).json } ?? []
        return planned.filter { ["steps", "links", "notes"].contains($0.0) }
            + JSON.members(["memoryLimit": configuration.memoryLimit, "samples": sampler.samples.json])
    }

    private static func traceHook(_ console: Console) -> TraceHook {
        { event in
            let microseconds = Quantity.decimal(Double(event.nanoseconds) / 1_000, places: 1)
            console.note("trace \(event.kind.rawValue) \(microseconds) µs: \(event.text)")
        }
    }
}

/// How the migration of one store ended.
struct StoreOutcome {
    let kind: ReportPage.Kind
    /// What `--json` prints, the error included.
    let members: [(String, JSON)]
    /// What a report holds besides.
    let besides: [(String, JSON)]
    let code: ExitCode
    private let text: (Int) -> [String]
    private let failure: MigrationFailure?

    init(
        kind: ReportPage.Kind, members: [(String, JSON)], besides: [(String, JSON)] = [], code: ExitCode,
        text: @escaping (Int) -> [String]
    ) {
        (self.kind, self.members, self.besides, self.code, self.text) = (kind, members, besides, code, text)
        failure = nil
    }

    init(_ failure: MigrationFailure, besides: [(String, JSON)] = []) {
        kind = .migrate
        members = failure.members + JSON.members(["error": failure.error.json])
        self.besides = besides
        code = ExitCode(failure.error.code.consequence)
        text = { _ in [] }
        self.failure = failure
    }

    /// In a word, as the JSON has it.
    var word: String {
        let outcome = members.first { $0.0 == "outcome" }?.1.text
        return outcome ?? (code == .success ? "planned" : "refused")
    }

    func show(on console: Console) {
        if let failure { failure.show(on: console) } else { console.result(members, text: text) }
    }

    /// Text alone: of several stores the object for machines is one.
    func tell(on console: Console) {
        if console.isJSON { return }
        if let failure { failure.show(on: console) } else { for line in text(console.width) { console.say(line) } }
    }
}
