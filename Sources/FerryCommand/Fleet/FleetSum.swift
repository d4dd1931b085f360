package import FerryBase

/// The sum of any number of migration reports; its size does not grow with their number.
package struct FleetSum: CommandReport, Sendable {
    static let title = "Many migrations"

    /// The sum of one outcome, reason or loss; the rows of a loss are the lost values, or objects.
    struct Tally: Sendable {
        var stores: Int64 = 0
        var rows: Int64 = 0
        var seconds = 0.0
        var resumed: Int64 = 0
        /// The first stores, in the order of reading.
        var examples: [String] = []
    }

    /// A store with a long migration time.
    struct Slow: Sendable {
        var store: String
        var seconds: Double
        var rows: Int64
    }

    /// Ferry has few outcomes and reasons; a file with other words must not fill the memory.
    private static let mostKinds = 100
    private static let mostExamples = 5
    private static let mostSlow = 10
    private static let other = "other"

    private(set) var reports: Int64 = 0
    private(set) var outcomes: [String: Tally] = [:]
    /// By outcome and error code.
    private(set) var reasons: [String: Tally] = [:]
    /// By `Entity.property`, or the entity of lost objects.
    private(set) var losses: [String: Tally] = [:]
    private(set) var slowest: [Slow] = []
    private(set) var peakResidentBytes: Int64?
    /// Reports that are empty, truncated or too large; a killed process leaves the first two kinds.
    private(set) var broken = Tally()
    /// Files and folders that could not be read.
    private(set) var unreadable: Int64 = 0
    /// The first unreadable files and folders, each with its error.
    private(set) var unreadableExamples: [(path: String, error: FerryError)] = []
    /// The worst exit code of the unreadable files.
    private(set) var exitCode = ExitCode.success
    /// Files that are not reports.
    private(set) var otherFiles: Int64 = 0

    package init() {}

    /// Adds one object of `migrate --json`, or the object of several stores; returns whether the object is a report.
    package mutating func take(_ report: JSON) -> Bool {
        if case .array(let stores) = report["stores"] {
            for store in stores { _ = take(store) }
            return true
        }
        guard let outcome = report["outcome"].text, let store = report["store"].text else { return false }
        let rows = Self.rows(report)
        let seconds = max(0, report["wallSeconds"].number ?? 0) + max(0, report["earlierSeconds"].number ?? 0)
        reports += 1
        Self.add(store, to: &outcomes, outcome, rows, seconds, isResumed: report["resumed"].isTrue)
        if let code = report["error"]["code"].text {
            Self.add(store, to: &reasons, "\(outcome) \(code)", rows, seconds, isResumed: report["resumed"].isTrue)
        }
        addLosses(of: report, store)
        if let peak = report["peakResidentBytes"].whole { peakResidentBytes = max(peak, peakResidentBytes ?? 0) }
        if seconds > (slowest.count < Self.mostSlow ? 0 : slowest.last?.seconds ?? 0) {
            slowest.append(Slow(store: store, seconds: seconds, rows: rows))
            slowest.sort { ($1.seconds, $0.store) < ($0.seconds, $1.store) }
            if slowest.count > Self.mostSlow { slowest.removeLast() }
        }
        return true
    }

    private mutating func addLosses(of report: JSON, _ store: String) {
        let lost = report["losses"].elements.compactMap { loss in
            loss["entity"].text.map { entity in
                (
                    name: [entity, loss["property"].text].compactMap { $0 }.joined(separator: "."),
                    number: max(0, loss["rows"].whole ?? 0)
                )
            }
        }
        for (name, own) in lost.groups(by: \.name) {
            Self.add(store, to: &losses, name, own.map(\.number).clampedSum, 0, isResumed: false)
        }
    }

    package mutating func takeBroken(_ path: String) {
        broken.stores += 1
        if broken.examples.count < Self.mostExamples { broken.examples.append(path) }
    }

    package mutating func takeUnreadable(_ path: String, _ error: FerryError) {
        unreadable += 1
        if unreadableExamples.count < Self.mostExamples { unreadableExamples.append((path, error)) }
        exitCode = ExitCode.worst(of: [exitCode, ExitCode(error.code.consequence)])
    }

    package mutating func takeOther() { otherFiles += 1 }

    /// The rows of the migrated store: the rows that the last step wrote.
    private static func rows(_ report: JSON) -> Int64 {
        let mappings = report["entityMappings"].elements
        let last = mappings.compactMap { $0["step"].whole }.max()
        return mappings.filter { $0["step"].whole == last }.compactMap { $0["written"].whole }.clampedSum
    }

    private static func add(
        _ store: String, to tallies: inout [String: Tally], _ kind: String, _ rows: Int64, _ seconds: Double,
        isResumed: Bool
    ) {
        let kind = tallies[kind] == nil && tallies.count >= mostKinds ? other : String(kind.prefix(200))
        var tally = tallies[kind] ?? Tally()
        tally.stores += 1
        tally.rows = [tally.rows, rows].clampedSum
        tally.seconds += seconds
        if isResumed { tally.resumed += 1 }
        if tally.examples.count < mostExamples { tally.examples.append(store) }
        tallies[kind] = tally
    }

    private static let order = ["failed", "refused", "resumable", "migrated", "copied", "rehearsed", "upToDate"]
    static let reasonColumns: [TableColumn] = [
        .text("Outcome"), .text("Reason"), .number("Stores"), .text("For example"),
    ]
    static let words = ["upToDate": "up to date", "resumable": "stopped"]

    /// The outcomes; those that need a person's attention come first.
    private var sorted: [(outcome: String, tally: Tally)] {
        outcomes.map { (outcome: $0.key, tally: $0.value) }.inOrder { one, next in
            let places = [one, next].map { Self.order.firstIndex(of: $0.outcome) ?? Self.order.count }
            return places[0] == places[1] ? one.outcome < next.outcome : places[0] < places[1]
        }
    }

    /// Those of most stores first.
    private static func sorted(_ tallies: [String: Tally]) -> [(name: String, tally: Tally)] {
        tallies.inOrder { ($1.value.stores, $0.key) < ($0.value.stores, $1.key) }.map { ($0.key, $0.value) }
    }

    private var sortedReasons: [(outcome: String, code: String, tally: Tally)] {
        Self.sorted(reasons).map { kind, tally in
            let words = kind.split(separator: " ", maxSplits: 1).map(String.init)
            return (words[0], words.count > 1 ? words[1] : "", tally)
        }
    }

    static let lossColumns: [TableColumn] = [
        .text("Lost"), .number("Stores"), .number("Number"), .text("For example"),
    ]

    package var json: JSON {
        [
            "reports": reports, "rows": outcomes.values.map(\.rows).clampedSum,
            "seconds": outcomes.values.map(\.seconds).reduce(0, +), "peakResidentBytes": peakResidentBytes,
            "outcomes": JSON.list(sorted) {
                [
                    "outcome": $0.outcome, "stores": $0.tally.stores, "rows": $0.tally.rows,
                    "seconds": $0.tally.seconds, "resumed": $0.tally.resumed,
                ]
            },
            "reasons": JSON.list(sortedReasons) {
                [
                    "outcome": $0.outcome, "code": $0.code, "stores": $0.tally.stores, "examples": $0.tally.examples,
                ]
            },
            "losses": JSON.list(Self.sorted(losses)) {
                [
                    "name": $0.name, "stores": $0.tally.stores, "number": $0.tally.rows,
                    "examples": $0.tally.examples,
                ]
            },
            "slowest": JSON.list(slowest) { ["store": $0.store, "seconds": $0.seconds, "rows": $0.rows] },
            "broken": broken.stores, "brokenExamples": broken.examples, "otherFiles": otherFiles,
            "unreadable": unreadable,
            "unreadableExamples": JSON.list(unreadableExamples) { ["path": $0.path] + $0.error.json },
        ]
    }

    package var report: Report {
        func stores(_ words: [String]) -> Int64 { words.compactMap { outcomes[$0]?.stores }.clampedSum }
        let (failed, refused, stopped) = (stores(["failed"]), stores(["refused"]), stores(["resumable"]))
        let done = stores(["migrated", "copied", "upToDate", "rehearsed"])
        let words = [(failed, "failed"), (refused, "refused"), (stopped, "stopped")].filter { $0.0 > 0 }
            .map { "\($0.grouped) \($1)" }
        let kind: Report.Verdict =
            failed + refused + unreadable > 0 ? .bad : stopped + broken.stores > 0 ? .caution : .good
        let verdict = (["\(done.grouped) of \(reports.counting("store")) done"] + words).joined(separator: ", ") + "."
        let numbers = ["Stores", "Objects", "Time", "Resumed"].map(TableColumn.number)
        var parts: [Report.Part] = [.space, .facts(margin: 13, facts)]
        if !outcomes.isEmpty {
            let rows = sorted.map { outcome, tally in
                [
                    Self.words[outcome] ?? outcome, tally.stores.grouped, tally.rows.grouped,
                    Quantity.durationText(seconds: tally.seconds), tally.resumed.grouped,
                ]
            }
            parts += [.heading("Outcomes"), .table([.text("Outcome")] + numbers, rows)]
        }
        if !reasons.isEmpty {
            let rows = sortedReasons.map { outcome, code, tally in
                [Self.words[outcome] ?? outcome, code, tally.stores.grouped, tally.examples.first ?? ""]
            }
            parts += [.heading("Reasons"), .table(Self.reasonColumns, rows)]
        }
        if !losses.isEmpty {
            let rows = Self.sorted(losses).map { name, tally in
                [name, tally.stores.grouped, tally.rows.grouped, tally.examples.first ?? ""]
            }
            parts += [.heading("Losses"), .table(Self.lossColumns, rows)]
        }
        if slowest.count > 1 {
            let rows = slowest.map {
                [$0.store, Quantity.durationText(seconds: $0.seconds), $0.rows.grouped]
            }
            parts += [
                .heading("Longest"), .table([.text("Store"), .number("Time"), .number("Objects")], rows),
            ]
        }
        parts += Report.Part.titled("Incomplete reports, as a killed process leaves them", broken.examples)
        let rest = unreadable - Int64(unreadableExamples.count)
        parts += Report.Part.titled(
            "\(unreadable.counting("path")) could not be read",
            unreadableExamples.map { "\($0.path): \($0.error.message)" } + (rest > 0 ? ["and \(rest) more"] : []))
        return Report(Self.title, kind, verdict, parts)
    }

    private var facts: [(label: String, value: String?)] {
        [
            ("Reports", reports.grouped), ("Objects", outcomes.values.map(\.rows).clampedSum.grouped),
            ("Total time", Quantity.durationText(seconds: outcomes.values.map(\.seconds).reduce(0, +))),
            ("Peak memory", peakResidentBytes.map { Quantity.sizeText($0) }),
            ("Incomplete", broken.stores > 0 ? broken.stores.counting("file") : nil),
        ]
    }
}
