internal import Ferry
internal import FerryBase

struct MigrateCommand: PolicyCommand {
    static let name = "migrate"

    static let verifyModes: [VerifyMode] = [.full, .quick, .none]

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
        let snapshot = try arguments.choice("--snapshot", among: SnapshotChoice.forms + [.none])
        configuration.takesSnapshot = snapshot != SnapshotChoice.none
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
        let isNone = snapshotOption == "--snapshot" && snapshot == SnapshotChoice.none
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
        var planned = ReportDetails()
        planned.memoryLimit = Int64(configuration.memoryLimit)
        // Made before the migration, after which there is nothing left to plan.
        if arguments.value("--report") != nil { planned.take(try migrator(policies), configuration) }
        let sampler = RunSampler()
        func details() -> ReportDetails {
            var details = planned
            (details.plan, details.samples) = (seen.withLock { $0 }, sampler.samples)
            return details
        }
        let store = (configuration.output ?? input.store).filePath
        let command = arguments.value("--on-event").map { EventCommand($0, store: store, stop: stop, console: console) }
        do {
            let migrator = try migrator(policies)
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
                case .progress(let update): renderer.show(update)
                case .warning(let warning): renderer.warn(warning)
                case .finished: break
                }
            }
            let rehearsal = try isRehearsal ? migrator.rehearse(configuration, stop: stop, onEvent: onEvent) : nil
            let report =
                try rehearsal.map { $0.migration }
                ?? migrator.migrate(configuration, stop: stop, onEvent: onEvent)
            guard let report else {
                throw FerryError(.internalError, "The rehearsal ended without a report.")
            }
            let rendering = MigrationRendering(run: report, rehearsal: rehearsal, details: details())
            return StoreOutcome(report: rendering, code: .success, word: rendering.outcome)
        } catch {
            let error = input.worded(error)
            command?.end(error)
            return StoreOutcome(FailureReport(error: error, store: store, details: details()))
        }
    }

    private func migrator(_ policies: [String: PolicyFactory]) throws -> Migrator {
        try reader?.of(input.store) ?? input.migrator(policies)
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
            "--memory-limit", "a size, such as 32MiB", in: 1...Int64.max)
        if let limit { memoryLimit = limit }
        try checkMemory()
        ProcessMemory.keep(MemoryBudget(limit: memoryLimit))
    }
}

/// The end of one store's migration.
struct StoreOutcome {
    let report: any CommandReport
    let code: ExitCode
    /// The outcome in one word, as in the JSON.
    let word: String

    init(report: any CommandReport, code: ExitCode, word: String) {
        (self.report, self.code, self.word) = (report, code, word)
    }

    init(_ failure: FailureReport) {
        self.init(report: failure, code: ExitCode(failure.error.code.consequence), word: failure.outcome.word)
    }

    func show(_ console: Console) {
        if let failure = report as? FailureReport { return failure.show(on: console) }
        for line in report.text(width: console.width) { console.say(line) }
    }
}
