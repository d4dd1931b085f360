internal import Ferry
internal import FerryBase

struct TuneCommand: Command {
    static let name = "tune"

    let arguments: Arguments

    func run(on console: Console) throws -> ExitCode {
        let input = try MigrationInput(arguments)
        var configuration = input.configuration
        configuration.verification = .none
        configuration.snapshots.form = .none
        try configuration.takeMemoryLimit(arguments)
        let sizes = try sizes()
        let time = try arguments.time("--chunk-time", "a duration, such as 500ms or 15s") ?? .milliseconds(500)
        let times = Int(try arguments.count("--runs", in: 1...100) ?? 3)
        let progress = try ProgressForm(arguments)
        var result = TuneResult(
            store: input.store.filePath, sample: try arguments.count("--sample", in: 1...Int64.max),
            chunkSeconds: time.inSeconds, memoryLimit: Int64(configuration.limits.memory))
        return try ReportFile.named(by: arguments).written(TuneResult.title, of: result.store) {
            var code = ExitCode.success
            let migrator = try input.migrator()
            let plan = try migrator.plan(configuration)
            if let refusal = plan.refusals.first { throw refusal }
            if plan.isUpToDate {
                result.note = "The store already has the target version: there is nothing to tune."
            } else if plan.steps.allSatisfy({ $0.mode == .inPlace }) {
                result.note =
                    "The store is migrated in place, in one transaction: it has no chunks, so there is nothing to tune."
            } else if let size = sizes.first, sizes.count == 1, times == 1 {
                // Of several measurements, this is one process of many.
                let stop = InterruptWatch.start(on: console, notice: console.isJSON ? nil : Self.notice)
                configuration.chunks.size = .rows(size)
                let renderer = ProgressRenderer(progress, on: console)
                defer { renderer.finish() }
                renderer.plan(
                    RunOutline(steps: plan.steps.count, memoryLimit: configuration.limits.memory, isRehearsal: true))
                let isSample = result.sample != nil
                let rehearsal = try migrator.rehearse(configuration, sample: result.sample, stop: stop) { event in
                    if case .phase(let phase, let step) = event { renderer.begin(phase, step: step) }
                    if case .progress(var update) = event {
                        // The estimates are those of all rows.
                        if isSample { (update.total, update.fraction, update.timeLeft) = (nil, nil, nil) }
                        renderer.show(update)
                    }
                }
                result.runs = [TuneResult.Run(of: size, rehearsal)]
            } else {
                let stop = InterruptWatch.start(on: console, notice: Self.notice)
                let failure = try measure(sizes, times, into: &result, stop, progress, on: console)
                if let failure { return failure }
                code = stop.isRequested ? .resumable : .success
            }
            console.result(result.json, text: result.text(width:))
            return (result, code)
        }
    }

    private static let notice = "Stopping. Finished measurements are shown; press Ctrl-C again to stop at once."

    private func sizes() throws(FerryError) -> [Int] {
        let sizes = try arguments.value("--sizes", "a list of positive numbers, such as 500,2000,10000") { text in
            let sizes = text.split(separator: ",", omittingEmptySubsequences: false).map { word in
                Quantity.count(String(word)).flatMap { (1...100_000_000).contains($0) ? Int($0) : nil }
            }
            return sizes.contains(nil) ? nil : Set(sizes.compactMap { $0 }).sorted()
        }
        return sizes ?? [500, 2_000, 10_000, 50_000]
    }

    /// Measures each size several times, in a process of its own since a process has one peak of memory; returns the
    /// first failure, and none after a stop.
    private func measure(
        _ sizes: [Int], _ times: Int, into result: inout TuneResult, _ stop: StopRequest, _ progress: ProgressForm,
        on console: Console
    ) throws -> (report: any CommandReport, code: ExitCode)? {
        // The words hold the values of ferry.json; a process that read it would also write its report.
        let words =
            ["\("--config")=\(ConfigFile.none)"]
            + arguments.words(without: ["--json", "--sizes", "--runs", "--report", "--config"])
        var measured: [[TuneResult.Run]] = sizes.map { _ in [] }
        let all = times * sizes.count
        // All sizes in turn, so that what changes meanwhile concerns each of them.
        for number in 0..<all {
            let size = sizes[number % sizes.count]
            if stop.isRequested { break }
            if progress != .json, progress != .none {
                console.note("chunks of \(Int64(size).counting("row")) (\(number + 1) of \(all))")
            }
            var child = try ChildProcess(
                ChildProcess.ownPath(), ["tune", "--sizes=\(size)", "--runs=1", "--json"] + words, reading: .output)
            var lines: [String] = []
            while let line = child.line() { lines.append(line) }
            let code = child.wait()
            let printed = JSON.read(Array(lines.joined(separator: "\n").utf8)) ?? .null
            if stop.isRequested, code != 0 { break }
            guard code == 0, let run = printed["runs"].elements.first.map(TuneResult.Run.init) else {
                let failure = printed["error"]
                let error = FerryError(
                    FerryError.Code.all.first { $0.name == failure["code"].text } ?? .internalError,
                    failure["message"].text ?? "A process ended without a report.",
                    remedy: Remedy(failure["remedy"].text ?? ""))
                if console.isJSON { console.handOn(lines) } else { console.note(error) }
                let report = FailureReport(error: error, store: result.store, title: TuneResult.title)
                return (report, code.flatMap { ExitCode(rawValue: $0) } ?? .failed)
            }
            measured[number % sizes.count].append(run)
            result.runs = measured.filter { !$0.isEmpty }.map(TuneResult.Run.init(medianOf:))
        }
        let count = measured.map(\.count).reduce(0, +)
        if count < all { result.note = "Stopped after \(count) of \(all) measurements." }
        return nil
    }
}

struct TuneResult: CommandReport {
    static let title = "Chunk sizes"

    /// The measurements of one chunk size, under the names that they have in the JSON.
    struct Run: JSONConvertible, Sendable {
        var chunkRows: Int64
        var rowsPerSecond: Double?
        var peakResidentBytes: Int64?
        var longestChunkSeconds: Double
        /// The longest time between two commits, which a kill loses.
        var worstLostSeconds = 0.0
        var rows: Int64 = 0

        var json: JSON {
            [
                "chunkRows": chunkRows, "rowsPerSecond": rowsPerSecond, "peakResidentBytes": peakResidentBytes,
                "longestChunkSeconds": longestChunkSeconds, "worstLostSeconds": worstLostSeconds, "rows": rows,
            ]
        }

        fileprivate var cells: [String] {
            [
                chunkRows.grouped, rows.grouped, rowsPerSecond.map { Quantity.whole($0).grouped } ?? "?",
                peakResidentBytes.map(\.bytesInUnits) ?? "?",
                Quantity.durationText(seconds: longestChunkSeconds), Quantity.durationText(seconds: worstLostSeconds),
            ]
        }
    }

    /// The least part of the highest speed that a smaller size must reach.
    private static let tolerance = 0.95

    let store: String
    let sample: Int64?
    let chunkSeconds: Double
    let memoryLimit: Int64
    var runs: [Run] = []
    var note: String?

    /// The recommended rows in one chunk; nil if no size fits.
    var recommended: Int64? {
        let fitting = runs.filter { $0.longestChunkSeconds <= chunkSeconds && $0.peakResidentBytes ?? 0 <= memoryLimit }
        guard let quickest = fitting.compactMap(\.rowsPerSecond).max() else { return nil }
        return fitting.filter { $0.rowsPerSecond ?? 0 >= quickest * Self.tolerance }.map(\.chunkRows).min()
    }

    var json: JSON {
        [
            "runs": runs, "recommended": recommended, "store": store, "sample": sample,
            "chunkSeconds": chunkSeconds, "memoryLimit": memoryLimit, "note": note,
        ]
    }

    var report: Report {
        let rows = sample.map { "the first \($0.grouped) of each entity in each step; altered tables whole" } ?? "all"
        let parts: [Report.Part] = [
            .space,
            .table(
                Self.columns, runs.map(\.cells),
                best: recommended.flatMap { best in runs.firstIndex { $0.chunkRows == best } }),
            .space, .facts(margin: 7, [("Store", store), ("Rows", rows)]),
        ]
        return Report(
            Self.title, recommended == nil ? .caution : .good,
            [runs.isEmpty && note != nil ? nil : advice, note].compactMap { $0 }.joined(separator: " "),
            runs.isEmpty ? [] : parts)
    }

    private static let columns = [
        "Chunk rows", "Rows", "Rows/s", "Peak memory", "Longest chunk", "Lost by a kill",
    ].map(TableColumn.number)

    private var advice: String {
        let bounds = "\(Quantity.durationText(seconds: chunkSeconds)) and \(memoryLimit.bytesInUnits)"
        guard let recommended else {
            return "No size stays within \(bounds). Try smaller chunks, or allow more time or memory."
        }
        return "Recommended: --chunk-size \(recommended), within \(bounds)."
    }
}

extension TuneResult.Run {
    init(_ json: JSON) {
        self.init(
            chunkRows: json["chunkRows"].whole ?? 0, rowsPerSecond: json["rowsPerSecond"].number,
            peakResidentBytes: json["peakResidentBytes"].whole,
            longestChunkSeconds: json["longestChunkSeconds"].number ?? 0,
            worstLostSeconds: json["worstLostSeconds"].number ?? 0, rows: json["rows"].whole ?? 0)
    }

    init(of chunkRows: Int, _ report: RehearsalReport) {
        self.init(
            chunkRows: Int64(chunkRows), rowsPerSecond: report.rowsPerSecond,
            peakResidentBytes: report.peakResidentBytes, longestChunkSeconds: report.longestChunk.inSeconds,
            worstLostSeconds: report.longestUnit.inSeconds, rows: report.rows)
    }

    /// The run of the middle speed, with the middle of the longest chunks and the highest peak.
    init(medianOf runs: [TuneResult.Run]) {
        func middle(_ value: (TuneResult.Run) -> Double) -> Double { runs.map(value).sorted()[runs.count / 2] }
        self = runs.sorted { $0.rowsPerSecond ?? 0 < $1.rowsPerSecond ?? 0 }[runs.count / 2]
        longestChunkSeconds = middle(\.longestChunkSeconds)
        worstLostSeconds = middle(\.worstLostSeconds)
        peakResidentBytes = runs.compactMap(\.peakResidentBytes).max()
    }
}
