internal import Ferry
internal import FerryBase

struct MigrateCommand: Command {
    static let name = "migrate"

    let arguments: Arguments

    func run(on console: Console) throws -> ExitCode {
        let migration = try StoreMigration(arguments)
        let report = try ReportPlace(from: arguments)
        let list = try StoreList(arguments.operands)
        try report?.check(list.stores, output: arguments.value("--output"))
        try migration.ask(before: list.stores, on: console)
        let stop = InterruptWatch.start(on: console)
        if arguments.operands.count > 1 {
            return try migration.run(list, report: report, on: console, stop: stop)
        }
        let outcome = migration.report(on: console, stop: stop)
        report?.write(outcome, of: list.stores[0], on: console)
        return outcome.code
    }
}

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
        configuration.losses.areAllowed = arguments.has("--rehearse") || arguments.has("--accept-loss")
        configuration.output = arguments.value("--output")?.fileURL
        configuration.chunks.size =
            try arguments.value("--chunk-size", "a number of rows (1 or more), or auto") { text in
                if text == "auto" { return .automatic }
                return Quantity.count(text).flatMap { (1...100_000_000).contains($0) ? .rows(Int($0)) : nil }
            } ?? .automatic
        configuration.chunks.time =
            try arguments.time("--chunk-time", "a time of at least 1ms, such as 500ms or 2s", from: 1_000_000)
            ?? configuration.chunks.time
        configuration.verification = try arguments.choice("--verify") ?? .full
        let snapshot: SnapshotChoice? = try arguments.choice("--snapshot")
        configuration.snapshots.form = snapshot.flatMap { .init(rawValue: $0.rawValue) } ?? .archive
        configuration.snapshots.folder = arguments.snapshotFolder
        configuration.restart = arguments.has("--restart")
        configuration.limits.budget = try arguments.time("--budget", "a time such as 500ms, 15s or 2min")
        configuration.limits.wait = try arguments.wait()
        configuration.holdsSwap = arguments.has("--hold-swap")
        try configuration.takeMemoryLimit(arguments)
        let stores = arguments.operands.count
        if stores > 1, configuration.output != nil {
            throw arguments.wrong("--output names one file for \(stores) stores.", "Run each by itself.")
        }
        let snapshotOption = ["--snapshot-dir", "--snapshot"].first { arguments.isTyped($0) }
        let isNone = snapshotOption == "--snapshot" && configuration.snapshots.form == .none
        if let snapshotOption, !isNone, configuration.snapshots.form == .none || configuration.output != nil {
            throw arguments.wrong(
                "\(snapshotOption) has no effect with \(configuration.output == nil ? "--snapshot none" : "--output").",
                "Leave one of the two out.")
        }
    }

    func of(_ store: String, budget: Duration?) -> StoreMigration {
        var migration = self
        migration.input.store = store.fileURL
        migration.configuration.limits.budget = budget
        return migration
    }

    /// The migration with the models and mapping models read once, for several stores.
    func reading() -> StoreMigration {
        var migration = self
        do {
            migration.reader = try input.migrator()
        } catch {
            // Each store's run reports the error.
        }
        return migration
    }

    func report(on console: Console, stop: StopRequest) -> any RunReport {
        let outcome = run(on: console, stop: stop)
        if console.isJSON { console.result(outcome.json) } else { outcome.show(on: console) }
        return outcome
    }

    /// Runs the migration; an error is an outcome, too.
    func run(on console: Console, stop: StopRequest) -> any RunReport {
        // A failed run also reports the version that the plan found.
        let seen = Locked<PlanReport?>(nil)
        var planned = ReportDetails()
        planned.memoryLimit = Int64(configuration.limits.memory)
        // Made before the migration, after which there is nothing left to plan.
        if arguments.value("--report") != nil { planned.take(try migrator(), configuration) }
        let made = Result { try migrator() }
        let sampler = RunSampler()
        func details() -> ReportDetails {
            var details = planned
            (details.plan, details.samples) = (seen.withLock { $0 }, sampler.samples)
            return details
        }
        let store = (configuration.output ?? input.store).filePath
        let command = arguments.value("--on-event").map { EventCommand($0, store: store, stop: stop, console: console) }
        do {
            let migrator = try made.get()
            let renderer = ProgressRenderer(progress, on: console)
            defer { renderer.finish() }
            var configuration = configuration
            if DeveloperSwitch.traces { configuration.trace = Self.traceHook(console) }
            let (memoryLimit, isRehearsal) = (configuration.limits.memory, isRehearsal)
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
            return MigrationRendering(run: report, rehearsal: rehearsal, details: details())
        } catch {
            let error = input.worded(error)
            command?.end(error)
            return FailureReport(error: error, store: store, details: details())
        }
    }

    private func migrator() throws -> Migrator { try reader?.of(input.store) ?? input.migrator() }

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
        let limit = try arguments.value("--memory-limit", "a size, such as 32MiB") { text in
            Quantity.bytes(text).flatMap { $0 > 0 ? Int(exactly: $0) : nil }
        }
        limits.memory = limit ?? limits.memory
        try checkMemory()
        ProcessMemory.keep(MemoryBudget(limit: limits.memory))
    }
}

/// The question on a terminal before a store is migrated in place for the first time.
///
/// Without a terminal nothing is asked: scripts run as before.
extension StoreMigration {
    /// - Throws: `.declined` if the answer is not yes.
    func ask(before stores: [String], on console: Console) throws {
        guard console.canAsk, !console.isJSON, !console.isQuiet, !arguments.has("--yes"), !isRehearsal,
            configuration.output == nil
        else { return }
        let first = stores.filter(isFirstRun)
        guard let lines = try question(first, of: stores) else { return }
        for line in lines { console.note(line) }
        console.draw("Continue? [y/N] ")
        let answer = readLine()?.lowercased() ?? ""
        guard answer.hasPrefix("y") else {
            throw FerryError(
                .declined, "The migration was not confirmed, and nothing was changed.",
                remedy: "Answer y, or add --yes. To see the plan: ferry plan, with the same options.")
        }
    }

    /// Whether no run on the store has ended or is unfinished; for a store that cannot be read the migration reports why.
    private func isFirstRun(_ store: String) -> Bool {
        do {
            return try StoreFiles(store.fileURL).status().state == .none && StoreFiles(store.fileURL).history().isEmpty
        } catch {
            return false
        }
    }

    /// Nil if nothing would be changed: the migration then says so itself.
    private func question(_ first: [String], of stores: [String]) throws -> [String]? {
        guard let store = first.first else { return nil }
        let wayBack = Template.messages.lines(configuration.snapshots.form != .none ? "way back" : "no way back")
        guard stores.count == 1 else {
            let counts = ["count": Int64(first.count).grouped, "all": Int64(stores.count).grouped]
            return Template.messages.lines("first runs", counts) + wayBack
        }
        let plan: PlanReport
        do {
            plan = try input.migrator().plan(configuration)
        } catch {
            return nil
        }
        guard plan.refusals.isEmpty, !plan.isUpToDate, let from = plan.chain.first, let to = plan.chain.last else {
            return nil
        }
        let time = plan.estimatedTime.flatMap { $0 >= .seconds(1) ? ", about \(Quantity.durationText($0))" : nil } ?? ""
        let values = ["store": store, "from": from, "to": to, "rows": plan.rows.counting("row"), "time": time]
        let losses = plan.losses.isEmpty ? [] : [plan.losses.sentence]
        return Template.messages.lines("first run", values) + losses + wayBack
    }
}

extension StoreMigration {
    /// Migrates all stores of a list and returns the worst exit code; after a stop the later stores stay unchanged.
    func run(_ list: StoreList, report: ReportPlace?, on console: Console, stop: StopRequest) throws -> ExitCode {
        for (path, first) in list.repeated {
            console.warn("\(path) is the same store as \(first), and is migrated once.")
        }
        let migration = reading()
        let start = Clock.nanoseconds()
        var outcomes: [JSON] = []
        var codes: [ExitCode] = []
        var words: [String: Int64] = [:]
        // A call for one store does at least one unit of work, and so does a call for several stores. Else calls whose
        // budget is spent on checking the finished stores would repeat forever.
        var hasWorked = false
        for (index, store) in list.stores.enumerated() {
            console.say(Emphasis.heading.mark("\(store) (\(index + 1) of \(list.stores.count))"))
            let budget = configuration.limits.budget.map { $0 - .nanoseconds(Clock.nanoseconds(since: start)) }
            let outcome: any RunReport
            if stop.isRequested || (hasWorked && budget.map { $0 <= .zero } == true) {
                outcome = notBegun(store)
            } else {
                outcome = migration.of(store, budget: budget.map { max($0, .nanoseconds(1)) })
                    .run(on: console, stop: stop)
            }
            if !console.isJSON { outcome.show(on: console) }
            console.say()
            report?.write(outcome, of: store, on: console)
            if console.isJSON { outcomes.append(outcome.json) }
            codes.append(outcome.code)
            words[outcome.word, default: 0] += 1
            if !["upToDate", "refused"].contains(outcome.word) { hasWorked = true }
        }
        let sum = words.inOrder { $0.key < $1.key }.map { "\($0.value) \(FleetSum.words[$0.key] ?? $0.key)" }
        console.result(
            ["stores": outcomes],
            text: ["\(Int64(list.stores.count).counting("store")): \(sum.joined(separator: ", "))."])
        return ExitCode.worst(of: codes)
    }

    private func notBegun(_ store: String) -> any RunReport {
        let error = FerryError(
            .interrupted, "\(store) was not started: the command stopped before it.",
            remedy: "\(action: .again).")
        return FailureReport(error: error, store: store, details: ReportDetails(samples: RunSamples()))
    }
}

struct StoreList {
    private(set) var stores: [String] = []
    /// Further paths of a store, and the store's first path.
    private(set) var repeated: [(path: String, first: String)] = []

    /// Takes paths, of which several may name one store, also through a link.
    ///
    /// - Throws: `fileFailed` if a path's attributes cannot be read.
    init(_ paths: [String]) throws(FerryError) {
        var known: [[UInt64]: String] = [:]
        for path in paths {
            // The migration of a missing store reports it.
            guard let attributes = try FileLayer().attributesIfPresent(path) else {
                if stores.contains(path) { repeated.append((path, path)) } else { stores.append(path) }
                continue
            }
            let key = [attributes.device, attributes.inode]
            if let first = known[key] { repeated.append((path, first)) } else { stores.append(path) }
            known[key] = known[key] ?? path
        }
    }
}
