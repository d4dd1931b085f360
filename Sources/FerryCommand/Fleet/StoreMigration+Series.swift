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
            let outcome: any RunReport
            if stop.isRequested || (hasWorked && budget.map { $0 <= .zero } == true) {
                outcome = notBegun(store)
            } else {
                outcome = migration.of(store, budget: budget.map { max($0, .nanoseconds(1)) })
                    .run(on: console, stop: stop, policies: policies)
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
    /// The paths, in the order of the command line.
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
