internal import Ferry
internal import FerryBase

struct TuneCommand: PolicyCommand {
    static let syntax = Syntax(
        "tune", summary: "Rehearse a migration with several chunk sizes and recommend one.",
        discussion: """
            Copies the store's rows into a folder next to the store and discards them, once for each size, each time \
            in its own process. Shows rows per second, peak memory, the longest chunk, and the longest unit of work \
            between two commits, indexes included, which is the most that a kill loses. The store is not changed, but is locked against writers.
            Recommends the fastest size whose longest chunk stays within --chunk-time and whose peak memory stays within \
            --memory-limit; of sizes within 5% of the fastest, the smallest.
            """,
        operands: [MigrationInput.store],
        options: MigrationInput.options + [
            .value("--sizes", "N,N,…", "Rows per chunk. Default: 500,2000,10000,50000."),
            .value("--sample", "ROWS", "Number of rows to copy each time. Default: all of them."),
            .value("--chunk-time", "TIME", "Maximum duration of a chunk. Default: 500ms."),
            MigrateCommand.memoryLimit,
            ReportFile.option,
        ],
        common: [
            "--models", "--mappings", "--to", "--sizes", "--sample", "--chunk-time", "--memory-limit", "--report",
            "--json",
        ],
        example:
            "ferry tune App.sqlite --models App.xcdatamodeld --mappings Mappings --sample 200000 --report tune.html")

    let arguments: Arguments

    func run(on console: Console, policies: [String: PolicyFactory]) throws -> ExitCode {
        let input = try MigrationInput(arguments)
        var configuration = input.configuration
        configuration.verify = .none
        configuration.takesSnapshot = false
        try configuration.takeMemoryLimit(arguments)
        let sizes = try sizes()
        let time = try arguments.time("--chunk-time", "a duration, such as 500ms or 15s") ?? .milliseconds(500)
        var result = TuneResult(
            store: input.store.filePath, sample: try arguments.count("--sample", in: 1...Int64.max),
            judge: TuneResult.Judge(chunkSeconds: time.inSeconds, memoryLimit: Int64(configuration.memoryLimit)))
        return try ReportFile(from: arguments).written(.tune, of: result.store) {
            let migrator = try input.migrator(policies)
            let plan = try migrator.plan(configuration)
            if let refusal = plan.refusals.first { throw refusal }
            if plan.isUpToDate {
                result.note = "The store already has the target version: there is nothing to tune."
            } else if plan.steps.allSatisfy({ $0.mode == .inPlace }) {
                result.note =
                    "The store is migrated in place, in one transaction: it has no chunks, so there is nothing to tune."
            } else if let size = sizes.first, sizes.count == 1 {
                let stop = InterruptWatch.start(on: console)
                configuration.chunkSize = .rows(size)
                let rehearsal = try migrator.rehearse(configuration, sample: result.sample, stop: stop)
                result.runs = [TuneResult.run(of: size, rehearsal)]
            } else if let failure = try measure(sizes, into: &result, on: console) {
                return failure
            }
            console.result(result.json, text: result.text(width:))
            return (result.json, .success)
        }
    }

    private func sizes() throws(FerryError) -> [Int] {
        let sizes = try arguments.value("--sizes", "a list of positive numbers, such as 500,2000,10000") { text in
            let sizes = text.split(separator: ",", omittingEmptySubsequences: false).map { word in
                Quantity.count(String(word)).flatMap { (1...100_000_000).contains($0) ? Int($0) : nil }
            }
            return sizes.contains(nil) ? nil : Set(sizes.compactMap { $0 }).sorted()
        }
        return sizes ?? [500, 2_000, 10_000, 50_000]
    }

    /// Measures each size in a process of its own, since a process has one peak of memory; returns the first failure.
    private func measure(
        _ sizes: [Int], into result: inout TuneResult, on console: Console
    ) throws -> (report: JSON, code: ExitCode)? {
        try warmUp(result.store)
        // The words hold the values of ferry.json; a process that read it would also write its report.
        let words =
            ["\(ConfigFile.option.name)=\(ConfigFile.none)"]
            + arguments.words(without: ["--json", "--sizes", "--report", ConfigFile.option.name])
        for (index, size) in sizes.enumerated() {
            console.note("chunks of \(Int64(size).counting("row")) (\(index + 1) of \(sizes.count))")
            var child = try ChildProcess(
                ChildProcess.ownPath(), ["tune", "--sizes=\(size)", "--json"] + words, reading: .output)
            var lines: [String] = []
            while let line = child.line() { lines.append(line) }
            let code = child.wait()
            let printed = JSON.read(Array(lines.joined(separator: "\n").utf8)) ?? .null
            guard code == 0 else {
                let error = printed["error"]
                if console.isJSON {
                    console.handOn(lines)
                } else {
                    let message = error["message"].text ?? "A process ended without a report."
                    console.note("ferry: \(message)")
                    if let remedy = error["remedy"].text, !remedy.isEmpty { console.note("       \(remedy)") }
                }
                let report: JSON = ["store": result.store, "error": error]
                return (report, code.flatMap { ExitCode(rawValue: $0) } ?? .failed)
            }
            guard let run = printed["runs"].elements.first else {
                throw FerryError(.internalError, "A process reported no measurements.")
            }
            result.runs.append(run)
        }
        return nil
    }

    /// Reads the store once, so that the first size does not wait for the disk.
    private func warmUp(_ store: String) throws {
        let file = try FileLayer().open(store)
        let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
        defer { piece.deallocate() }
        var offset: Int64 = 0
        // Larger parts of a store do not stay in the cache.
        while offset < 1 << 30 {
            let count = try file.read(into: piece, at: offset)
            if count == 0 { return }
            offset += Int64(count)
        }
    }
}

/// The measurements of `tune` and its recommendation.
package struct TuneResult {
    let store: String
    let sample: Int64?
    let judge: Judge
    /// The JSON of each chunk size's run.
    var runs: [JSON] = []
    /// The reason for having no runs.
    var note: String?

    static func run(of chunkRows: Int, _ report: RehearsalReport) -> JSON {
        [
            "chunkRows": chunkRows, "rowsPerSecond": report.rowsPerSecond,
            "peakResidentBytes": report.peakResidentBytes, "longestChunkSeconds": report.longestChunk.inSeconds,
            "worstLostSeconds": report.longestUnit.inSeconds, "rows": report.rows,
        ]
    }

    /// The limits for a chunk size.
    package struct Judge {
        var chunkSeconds: Double
        var memoryLimit: Int64
        /// The least part of the highest speed that a smaller size must reach.
        private static let tolerance = 0.95

        package init(chunkSeconds: Double, memoryLimit: Int64) {
            (self.chunkSeconds, self.memoryLimit) = (chunkSeconds, memoryLimit)
        }

        /// The recommended rows in one chunk; nil if no size fits.
        package func recommended(_ runs: [JSON]) -> Int64? {
            let fitting = runs.filter { run in
                run["longestChunkSeconds"].number ?? 0 <= chunkSeconds
                    && run["peakResidentBytes"].whole ?? 0 <= memoryLimit
            }
            guard let quickest = fitting.compactMap({ $0["rowsPerSecond"].number }).max() else { return nil }
            return fitting.filter { $0["rowsPerSecond"].number ?? 0 >= quickest * Self.tolerance }
                .compactMap { $0["chunkRows"].whole }.min()
        }
    }

    var json: JSON {
        [
            "runs": runs, "recommended": judge.recommended(runs), "store": store, "sample": sample,
            "chunkSeconds": judge.chunkSeconds, "memoryLimit": judge.memoryLimit, "note": note,
        ]
    }

    func text(width: Int) -> [String] {
        if let note { return [note] }
        return TextTable(Self.columns, runs.map(Self.cells)).lines(width: width) + ["", Self.advice(json)]
    }

    static let columns = [
        "Chunk rows", "Rows", "Rows/s", "Peak memory", "Longest chunk", "Repeated after a kill",
    ].map(TableColumn.number)

    static func cells(_ run: JSON) -> [String] {
        [
            run["chunkRows"].countText(), run["rows"].countText(),
            run["rowsPerSecond"].number.map { Quantity.whole($0).grouped } ?? "?",
            run["peakResidentBytes"].sizeText ?? "?", run["longestChunkSeconds"].durationText ?? "?",
            run["worstLostSeconds"].durationText ?? "?",
        ]
    }

    static func advice(_ report: JSON) -> String {
        let bounds = [report["chunkSeconds"].durationText, report["memoryLimit"].sizeText].compactMap { $0 }
            .joined(separator: " and ")
        guard let recommended = report["recommended"].whole else {
            return "No size stays within \(bounds). Try smaller chunks, or allow more time or memory."
        }
        return "Recommended: --chunk-size \(recommended), within \(bounds)."
    }
}

extension ReportPage {
    func addTuning(to page: inout Page) {
        guard report["error"].isNull else { return }
        let runs = report["runs"].elements
        let recommended = report["recommended"].whole
        page.verdict(recommended == nil ? .caution : .good, report["note"].text ?? TuneResult.advice(report))
        guard !runs.isEmpty else { return }
        page.facts([
            (
                "Rows",
                report["sample"].whole.map { "the first \($0.grouped), copied once for each size" }
                    ?? "all, copied once for each size"
            )
        ])
        page.heading("Measured")
        page.table(
            TuneResult.columns, runs.map { TuneResult.cells($0).map(Markup.name) },
            best: recommended.flatMap { best in runs.firstIndex { $0["chunkRows"].whole == best } })
        page.heading("Over the chunk sizes")
        page.charts([
            chart("Rows per second", up: "rows per second", "rowsPerSecond", in: .rows),
            chart("Longest chunk", up: "time", "longestChunkSeconds", in: .seconds, limit: report["chunkSeconds"]),
            chart("Peak memory", up: "bytes", "peakResidentBytes", in: .bytes, limit: report["memoryLimit"]),
        ])
    }

    /// A chart of one measure over the sizes, at even distances.
    private func chart(
        _ title: String, up: String, _ key: String, in unit: LineChart.Unit, limit: JSON = .null
    ) -> Markup {
        let values = report["runs"].elements.map { $0[key].number }
        let sizes = report["runs"].elements.map { $0["chunkRows"].countText() }
        func place(_ index: Int) -> Double {
            sizes.count > 1 ? 0.06 + 0.88 * Double(index) / Double(sizes.count - 1) : 0.5
        }
        // Every size has its point, but only seven labels have room.
        let every = (sizes.count + 6) / 7
        return LineChart(
            title: title, across: "rows per chunk", up: up, unit: unit,
            points: values.enumerated().map { (place($0.offset), $0.element) },
            ticks: sizes.enumerated().filter { $0.offset % every == 0 }.map { (place($0.offset), $0.element) },
            limit: limit.number, showsDots: true
        ).markup
    }
}
