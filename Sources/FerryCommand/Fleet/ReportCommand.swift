internal import Ferry
internal import FerryBase

struct ReportCommand: Command {
    static let name = "report"

    let arguments: Arguments

    func run(on console: Console) throws -> ExitCode {
        let (folders, report) = (arguments.operands, try ReportFile.named(by: arguments))
        try report?.check()
        var sum = FleetSum()
        for folder in folders {
            try FileLayer().checkExists(folder, as: "file or folder")
            ReportFolder(path: folder).add(to: &sum)
        }
        guard sum.reports > 0 || sum.broken.stores > 0 || sum.unreadable > 0 else {
            throw FerryError(
                .notFound, "There is no migration report in \(folders.joined(separator: ", ")).",
                remedy: "Name the folder with the output of migrate --report or migrate --json.")
        }
        console.result(sum.json, text: sum.text(width:))
        try report?.write(sum)
        return sum.exitCode
    }
}

struct ReportFolder {
    let path: String
    var files = FileLayer()

    /// GNU parallel's folders are four deep; symbolic links are not followed, so that no loop occurs.
    private static let mostDepth = 16
    /// Bytes; a report is as large as its models, not as its store.
    private static let mostBytes: Int64 = 16 << 20

    /// Adds the reports in the folder and its subfolders; the sum names unreadable files.
    func add(to sum: inout FleetSum) { add(path, depth: 0, to: &sum) }

    private func add(_ path: String, depth: Int, to sum: inout FleetSum) {
        do {
            let isLink = try depth > 0 && files.isSymbolicLink(path)
            guard !isLink, let stat = try files.attributesIfPresent(path) else { return sum.takeOther() }
            guard stat.isDirectory else { return try add(path, stat, to: &sum) }
            guard depth <= Self.mostDepth else { return }
            try files.forEachEntry(in: path) { add("\(path)/\($0.name)", depth: depth + 1, to: &sum) }
        } catch {
            sum.takeUnreadable(path, FerryError.wrapping(error, on: path))
        }
    }

    private func add(_ path: String, _ stat: FileAttributes, to sum: inout FleetSum) throws {
        guard stat.isRegularFile else { return sum.takeOther() }
        // GNU parallel and Slurm name a process's output like this; an empty output means that the process was killed.
        let hasOutputName = path.hasSuffix(".json") || path.hasSuffix("/stdout") || path.hasSuffix(".out")
        let firstBytes = try files.open(path).read(count: Int(min(stat.size, 64)), at: 0)
        guard firstBytes.starts(with: ReportFile.jsonSign.utf8) else {
            if hasOutputName, stat.size == 0 { sum.takeBroken(path) } else { sum.takeOther() }
            return
        }
        guard stat.size <= Self.mostBytes, let report = JSON.read(try files.read(path, limit: Int(Self.mostBytes)))
        else { return sum.takeBroken(path) }
        if !sum.take(report) { sum.takeOther() }
    }
}

/// The sum of any number of migration reports; its size does not grow with their number.
struct FleetSum: CommandReport, Sendable {
    static let title = "Many migrations"
    static let words = ["upToDate": "up to date", "resumable": "stopped"]

    /// The sum of one outcome, reason or loss; the rows of a loss are the lost values, or objects.
    struct Tally: Sendable {
        fileprivate(set) var stores: Int64 = 0
        fileprivate(set) var rows: Int64 = 0
        fileprivate(set) var seconds = 0.0
        fileprivate(set) var resumed: Int64 = 0
        fileprivate(set) var examples: [String] = []

        fileprivate mutating func add(_ store: String, rows: Int64 = 0, seconds: Double = 0, isResumed: Bool = false) {
            stores += 1
            self.rows = [self.rows, rows].clampedSum
            self.seconds += seconds
            resumed += isResumed ? 1 : 0
            if examples.count < mostExamples { examples.append(store) }
        }
    }

    private static let mostExamples = 5
    private static let mostSlow = 10

    private(set) var reports: Int64 = 0
    private var outcomes: [String: Tally] = [:]
    private var reasons: [String: Tally] = [:]
    /// By `Entity.property`, or the entity of lost objects.
    private var losses: [String: Tally] = [:]
    private var slowest: [(store: String, seconds: Double, rows: Int64)] = []
    private var peakResidentBytes: Int64?
    /// Reports that are empty, truncated or too large; a killed process leaves the first two kinds.
    private(set) var broken = Tally()
    /// Files and folders that could not be read, and the first of them, each with its error.
    private(set) var unreadable: Int64 = 0
    private var unreadableExamples: [(path: String, error: FerryError)] = []
    private(set) var exitCode = ExitCode.success
    private var otherFiles: Int64 = 0

    /// Adds one object of `migrate --json`, or the object of several stores; returns whether the object is a report.
    mutating func take(_ report: JSON) -> Bool {
        if case .array(let stores) = report["stores"] {
            for store in stores { _ = take(store) }
            return true
        }
        guard let outcome = report["outcome"].text, let store = report["store"].text else { return false }
        let (rows, isResumed) = (Self.rows(report), report["resumed"].isTrue)
        let seconds = max(0, report["wallSeconds"].number ?? 0) + max(0, report["earlierSeconds"].number ?? 0)
        reports += 1
        Self.sum(outcome, in: &outcomes) { $0.add(store, rows: rows, seconds: seconds, isResumed: isResumed) }
        if let code = report["error"]["code"].text {
            Self.sum("\(outcome) \(code)", in: &reasons) { $0.add(store) }
            let known = FerryError.Code.all.first { $0.name == code }?.consequence ?? .init(rawValue: outcome)
            exitCode = ExitCode.worst(of: [exitCode, ExitCode(known ?? .failed)])
        }
        let lost = report["losses"].elements.filter { $0["entity"].text != nil }
        for (name, own) in lost.groups(by: { [$0["entity"], $0["property"]].compactMap(\.text) }) {
            let rows = own.map { max(0, $0["rows"].whole ?? 0) }.clampedSum
            Self.sum(name.joined(separator: "."), in: &losses) { $0.add(store, rows: rows) }
        }
        if let peak = report["peakResidentBytes"].whole { peakResidentBytes = max(peak, peakResidentBytes ?? 0) }
        if seconds > 0 { slowest.append((store, seconds, rows)) }
        slowest = Array(slowest.inOrder { ($1.seconds, $0.store) < ($0.seconds, $1.store) }.prefix(Self.mostSlow))
        return true
    }

    mutating func takeBroken(_ path: String) { broken.add(path) }

    mutating func takeUnreadable(_ path: String, _ error: FerryError) {
        unreadable += 1
        if unreadableExamples.count < Self.mostExamples { unreadableExamples.append((path, error)) }
        exitCode = ExitCode.worst(of: [exitCode, ExitCode(error.code.consequence)])
    }

    mutating func takeOther() { otherFiles += 1 }

    /// The rows of the migrated store: the rows that the last step wrote.
    private static func rows(_ report: JSON) -> Int64 {
        let mappings = report["entityMappings"].elements
        let last = mappings.compactMap { $0["step"].whole }.max()
        return mappings.filter { $0["step"].whole == last }.compactMap { $0["written"].whole }.clampedSum
    }

    /// Adds to a kind; Ferry has few of them, and a file with other words must not fill the memory.
    private static func sum(_ kind: String, in tallies: inout [String: Tally], _ add: (inout Tally) -> Void) {
        let isOther = tallies[kind] == nil && tallies.count >= 100
        add(&tallies[isOther ? "other" : String(kind.prefix(200)), default: Tally()])
    }

    /// The outcomes; those that need a person's attention come first.
    private var sortedOutcomes: [(key: String, value: Tally)] {
        let order = ["failed", "refused", "resumable", "migrated", "copied", "rehearsed", "upToDate"]
        return outcomes.inOrder { one, next in
            let places = [one.key, next.key].map { order.firstIndex(of: $0) ?? order.count }
            return places[0] == places[1] ? one.key < next.key : places[0] < places[1]
        }
    }

    private static func sorted(_ tallies: [String: Tally]) -> [(key: String, value: Tally)] {
        tallies.inOrder { ($1.value.stores, $0.key) < ($0.value.stores, $1.key) }
    }

    private var sortedReasons: [(outcome: String, code: String, tally: Tally)] {
        Self.sorted(reasons).map { kind, tally in
            let outcome = kind.prefix { $0 != " " }
            return (String(outcome), String(kind.dropFirst(outcome.count + 1)), tally)
        }
    }

    var json: JSON {
        [
            "reports": reports, "rows": outcomes.values.map(\.rows).clampedSum,
            "seconds": outcomes.values.map(\.seconds).reduce(0, +), "peakResidentBytes": peakResidentBytes,
            "outcomes": JSON.list(sortedOutcomes) { outcome, tally in
                [
                    "outcome": outcome, "stores": tally.stores, "rows": tally.rows, "seconds": tally.seconds,
                    "resumed": tally.resumed,
                ]
            },
            "reasons": JSON.list(sortedReasons) { outcome, code, tally in
                ["outcome": outcome, "code": code, "stores": tally.stores, "examples": tally.examples]
            },
            "losses": JSON.list(Self.sorted(losses)) { name, tally in
                ["name": name, "stores": tally.stores, "number": tally.rows, "examples": tally.examples]
            },
            "slowest": JSON.list(slowest) { ["store": $0.store, "seconds": $0.seconds, "rows": $0.rows] },
            "broken": broken.stores, "brokenExamples": broken.examples, "otherFiles": otherFiles,
            "unreadable": unreadable,
            "unreadableExamples": JSON.list(unreadableExamples) { ["path": $0.path] + $0.error.json },
        ]
    }

    var report: Report {
        func stores(_ words: String...) -> Int64 { words.compactMap { outcomes[$0]?.stores }.clampedSum }
        let counts = [("failed", "failed"), ("refused", "refused"), ("resumable", "stopped")]
            .map { (stores($0.0), $0.1) }.filter { $0.0 > 0 }
        let done = stores("migrated", "copied", "upToDate", "rehearsed")
        let verdict =
            ["\(done.grouped) of \(reports.counting("store")) done"] + counts.map { "\($0.0.grouped) \($0.1)" }
        let kind: Emphasis =
            stores("failed", "refused") + unreadable > 0
            ? .bad : stores("resumable") + broken.stores > 0 ? .caution : .good
        let rest = unreadable - Int64(unreadableExamples.count)
        return Report(
            Self.title, kind, verdict.joined(separator: ", ") + ".",
            [.space, .facts(margin: 13, facts)] + tables
                + Report.Part.titled("Incomplete reports, as a killed process leaves them", broken.examples)
                + Report.Part.titled(
                    "\(unreadable.counting("path")) could not be read",
                    unreadableExamples.map { "\($0.path): \($0.error.message)" }
                        + (rest > 0 ? ["and \(rest) more"] : [])))
    }

    private var tables: [Report.Part] {
        let numbers = ["Stores", "Objects", "Time", "Resumed"].map(TableColumn.number)
        let all = sortedOutcomes.map { outcome, tally in
            [
                Self.words[outcome] ?? outcome, tally.stores.grouped, tally.rows.grouped,
                Quantity.durationText(seconds: tally.seconds), tally.resumed.grouped,
            ]
        }
        let reasons = sortedReasons.map { outcome, code, tally in
            [Self.words[outcome] ?? outcome, code, tally.stores.grouped, tally.examples.first ?? ""]
        }
        let lost = Self.sorted(losses).map { name, tally in
            [name, tally.stores.grouped, tally.rows.grouped, tally.examples.first ?? ""]
        }
        let longest = slowest.map { [$0.store, Quantity.durationText(seconds: $0.seconds), $0.rows.grouped] }
        return Report.Part.titled("Outcomes", [.text("Outcome")] + numbers, all)
            + Report.Part.titled(
                "Reasons", [.text("Outcome"), .text("Reason"), .number("Stores"), .below("For example")], reasons)
            + Report.Part.titled(
                "Losses", [.text("Lost"), .number("Stores"), .number("Number"), .below("For example")], lost)
            + Report.Part.titled(
                "Longest", [.text("Store"), .number("Time"), .number("Objects")], longest.count > 1 ? longest : [])
    }

    private var facts: [(label: String, value: String?)] {
        [
            ("Reports", reports.grouped), ("Objects", outcomes.values.map(\.rows).clampedSum.grouped),
            ("Total time", Quantity.durationText(seconds: outcomes.values.map(\.seconds).reduce(0, +))),
            ("Peak memory", peakResidentBytes.map(\.bytesInUnits)),
            ("Incomplete", broken.stores > 0 ? broken.stores.counting("file") : nil),
        ]
    }
}
