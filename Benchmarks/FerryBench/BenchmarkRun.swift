internal import BenchmarkHarness
internal import FerryBase
internal import FerrySQLite
internal import Foundation

/// One call of the program: measures, prints, writes files, and judges.
struct BenchmarkRun {
    let words: CommandLineWords
    private let files = FileLayer()

    /// - Returns: The exit code.
    func run() throws -> Int32 {
        switch words.job {
        case .help:
            say(CommandLineWords.usage)
            return 0
        case .list:
            for benchmark in Suite.cases { say("\(benchmark.name): \(benchmark.summary)") }
            say("\nshapes:")
            for shape in ShapeCatalog.named { say("\(shape.name): \(shape.summary)") }
            say("\(RandomShapes.prefix)N: models, and every second time a mapping, drawn by the seed N")
            return 0
        case .shapes: return try ShapeSuite(words).run()
        case .measure:
            _ = try measure(chosen(from: Suite.cases)) { (words.rows ?? $0.defaultRows, words.repetitions ?? 5) }
            return 0
        case .gate(let scale): return try judge(at: scale)
        }
    }

    // MARK: Measuring

    /// The cases that the command line names, else all that are available.
    private func chosen(from available: [any BenchmarkCase]) -> [any BenchmarkCase] {
        words.cases.isEmpty ? available : Suite.cases.filter { words.cases.contains($0.name) }
    }

    private func measure(
        _ cases: [any BenchmarkCase], size: (any BenchmarkCase) -> (rows: Int, repetitions: Int)
    ) throws -> [CaseResult] {
        let parent = words.folder ?? NSTemporaryDirectory()
        let folder = "\(parent)/ferry-bench-\(ProcessInfo.processInfo.processIdentifier)"
        try files.createDirectory(folder)
        // A failure leaves only temporary data behind; the first error is the one to report.
        defer { try? files.removeTree(folder) }
        let runner = CaseRunner(
            process: SampleProcess(program: try ProgramPath.own()), folder: folder, tool: words.tool
        ) { note in FileHandle.standardError.write(Data("\(note)\n".utf8)) }
        let tool = words.tool ?? "none: the library in this program does the work"
        say("The released program, for whole commands: \(tool).")
        var results: [CaseResult] = []
        for benchmark in cases {
            let size = size(benchmark)
            let result = try runner.run(benchmark, rows: size.rows, repetitions: size.repetitions)
            results.append(result)
            say(ResultTable(result).lines.joined(separator: "\n"))
            try draw(benchmark, result)
        }
        let suite = SuiteResult(
            libraries: try libraries(), program: words.tool.map(FileLayer.name), cases: results)
        if let path = words.json { try suite.write(to: path, files: files) }
        if let path = words.page { try files.replace(path, with: Array(ResultPage(suite).text.utf8)) }
        return results
    }

    private func draw(_ benchmark: any BenchmarkCase, _ result: CaseResult) throws {
        guard let folder = words.charts else { return }
        for chart in benchmark.charts {
            // A single point gives no drawing.
            guard let drawing = ChartDrawing(chart, of: result) else { continue }
            try files.createDirectory(folder)
            try files.replace("\(folder)/\(chart.name).svg", with: Array(drawing.text.utf8))
        }
    }

    private func libraries() throws -> [String: String] {
        let connection = try Connection(path: ":memory:", mode: .create)
        return ["sqlite": try connection.value("SELECT sqlite_version()")?.text ?? "", "zstd floor": ZstdTool.name]
    }

    /// Prints a text at once, so that tables appear case by case, also through a pipe.
    private func say(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }

    // MARK: Gates

    private func judge(at scale: Thresholds.Scale) throws -> Int32 {
        let cases = chosen(from: Suite.cases(of: scale))
        let results = try measure(cases) { Suite.size(of: scale, for: $0) }
        if words.isRecording {
            let exists = try files.exists(words.thresholds)
            var thresholds = exists ? try Thresholds.read(words.thresholds, files: files) : Thresholds()
            for result in results { thresholds.record(result, at: scale) }
            try thresholds.write(to: words.thresholds, files: files)
            say("\nRecorded the figures in \(words.thresholds).")
            return 0
        }
        let thresholds = try Thresholds.read(words.thresholds, files: files)
        var gate = Gate(results, thresholds: thresholds, scale: scale)
        for _ in 1...2 where !gate.failures.isEmpty {
            let failed = Set(gate.failures.map(\.benchmark))
            say("\nMeasured again, for a busy machine: \(failed.sorted().joined(separator: ", "))")
            let again = try measure(cases.filter { failed.contains($0.name) }) { Suite.size(of: scale, for: $0) }
            gate.takeBetter(of: Gate(again, thresholds: thresholds, scale: scale))
        }
        say("\nGates at \(scale.rawValue) scale")
        let table = gate.verdicts.map { verdict in
            [
                "\(verdict.benchmark): \(verdict.measure)", Figure.value(verdict.value, verdict.unit),
                verdict.limit.map { Figure.value($0, verdict.unit) } ?? "none yet", verdict.holds ? "" : "WORSE",
            ]
        }
        say(ResultTable.aligned([["gate", "now", "threshold", ""]] + table).joined(separator: "\n"))
        if !gate.unknown.isEmpty {
            say("\(gate.unknown.count) without a threshold; `ferry-bench gate --\(scale.rawValue) --record` sets it.")
        }
        say(gate.failures.isEmpty ? "All gates hold." : "\(gate.failures.count) failed.")
        return gate.failures.isEmpty ? 0 : 1
    }
}

/// The path of the running program.
enum ProgramPath {
    static func own() throws -> String {
        #if os(Linux)
            return try FileLayer().realPath("/proc/self/exe")
        #else
            guard let path = Bundle.main.executablePath else {
                throw FerryError(.fileFailed, "The running program cannot be found.")
            }
            return path
        #endif
    }
}
