internal import Ferry
internal import FerryBase

extension StoreMigration {
    /// Migrates all stores of a list and returns the worst exit code; after a stop the later stores stay unchanged.
    func run(
        _ list: StoreList, report: ReportPlace?, on console: Console, stop: StopRequest,
        policies: [String: PolicyFactory]
    ) throws -> ExitCode {
        for (path, first) in list.repeated {
            console.warn("\(path) is the same store as \(first), and is migrated once.")
        }
        let migration = reading(policies)
        let start = Clock.nanoseconds()
        var outcomes: [JSON] = []
        var codes: [ExitCode] = []
        var words: [String: Int64] = [:]
        // A call for one store does at least one unit of work, and so does a call for several stores. Else calls whose
        // budget is spent on checking the finished stores would repeat forever.
        var hasWorked = false
        for (index, store) in list.stores.enumerated() {
            console.say(Emphasis.heading.mark("\(store) (\(index + 1) of \(list.stores.count))"))
            let budget = migration.configuration.budget.map { $0 - .nanoseconds(Clock.nanoseconds(since: start)) }
            let outcome: StoreOutcome
            if stop.isRequested || (hasWorked && budget.map { $0 <= .zero } == true) {
                outcome = notBegun(store)
            } else {
                outcome = migration.of(store, budget: budget.map { max($0, .nanoseconds(1)) })
                    .run(on: console, stop: stop, policies: policies)
            }
            if !console.isJSON { outcome.show(console) }
            console.say()
            report?.write(outcome, of: store, on: console)
            if console.isJSON { outcomes.append(outcome.report.json) }
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

    private func notBegun(_ store: String) -> StoreOutcome {
        let error = FerryError(
            .interrupted, "\(store) was not started: the command stopped before it.",
            remedy: "\(action: .again).")
        return StoreOutcome(
            FailureReport(
                error: error, store: store, details: ReportDetails(samples: RunSamples())))
    }
}

struct StoreList {
    /// The paths, in the order of the command line.
    private(set) var stores: [String] = []
    /// Further paths of a store, and the store's first path.
    private(set) var repeated: [(path: String, first: String)] = []

    /// Takes paths, of which several may name one store, also through a link.
    ///
    /// - Throws: `fileFailed` if a path's attributes cannot be read.
    init(_ paths: [String]) throws(FerryError) {
        let files = FileLayer()
        struct Key: Hashable { var device: UInt64, inode: UInt64 }
        var known: [Key: String] = [:]
        var missing: Set<String> = []
        for path in paths {
            guard let attributes = try files.attributesIfPresent(path) else {
                // The migration of a missing store reports it.
                if missing.insert(path).inserted { stores.append(path) } else { repeated.append((path, path)) }
                continue
            }
            let key = Key(device: attributes.device, inode: attributes.inode)
            if let first = known[key] {
                repeated.append((path, first))
            } else {
                known[key] = path
                stores.append(path)
            }
        }
    }
}
