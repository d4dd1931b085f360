internal import Ferry
internal import FerryBase

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

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
        migration.input.store = URL(filePath: store)
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
            + [("memoryLimit", .integer(configuration.memoryLimit)), ("samples", sampler.samples.json)]
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
        members = failure.members + [("error", failure.error.json)]
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
