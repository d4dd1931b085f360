internal import Ferry
internal import FerryBase

struct TuneCommand: PolicyCommand {
    static let syntax = Syntax(
        "tune", summary: "Rehearses the plan at several chunk sizes and recommends one.",
        discussion: """
            Carries the store's rows into a folder beside the store and throws them away, once for each size, each time \
            in a process of its own. Tells rows a second, the peak of memory, the longest chunk, and the longest work \
            between two commits, indexes included, which a kill loses at worst. The store is not changed, but locked against writers.
            Recommended is the quickest size whose longest chunk stays within --chunk-time and whose peak stays within \
            --memory-limit; of sizes within a twentieth of the quickest, the smallest.
            """,
        operands: [MigrationInput.store],
        options: MigrationInput.options + [
            .value("--sizes", "N,N,…", "Rows in one chunk. Default: 500,2000,10000,50000."),
            .value("--sample", "ROWS", "Stop each time after so many of the store's rows. Default: all of it."),
            .value("--chunk-time", "TIME", "What a chunk may take. Default: 500ms."),
            MigrateCommand.memoryLimit,
            ReportFile.option,
        ],
        example:
            "ferry tune App.sqlite --models App.xcdatamodeld --mappings Mappings --sample 200000 --report tune.html")

    private let input: MigrationInput
    private var configuration: Configuration
    private let sizes: [Int]
    private let sample: Int64?
    private let judge: TuneResult.Judge
    private let report: ReportFile?
    /// The command line for a process of one size.
    private let words: [String]

    init(from arguments: Arguments) throws(FerryError) {
        input = try MigrationInput(from: arguments)
        var configuration = input.configuration
        configuration.verify = .none
        configuration.takesSnapshot = false
        if let limit = try arguments.bytes("--memory-limit") { configuration.memoryLimit = limit }
        try configuration.checkMemory()
        self.configuration = configuration
        sizes = try TuneCommand.sizes(arguments)
        sample = try arguments.count("--sample", in: 1...Int64.max)
        let time = try arguments.nanoseconds("--chunk-time") ?? 500_000_000
        judge = TuneResult.Judge(
            chunkSeconds: Double(time) / 1e9, memoryLimit: Int64(configuration.memoryLimit))
        report = try ReportFile(from: arguments)
        // What ferry.json says is among the words; read again, its report would be each process's own.
        words =
            ["tune", "--json", "\(ConfigFile.option.name)=\(ConfigFile.none)"]
            + arguments.words(without: ["--json", "--sizes", "--report", ConfigFile.option.name])
    }

    private static func sizes(_ arguments: Arguments) throws(FerryError) -> [Int] {
        guard let text = arguments.value("--sizes") else { return [500, 2_000, 10_000, 50_000] }
        let numbers = text.split(separator: ",", omittingEmptySubsequences: false).map { Quantity.count(String($0)) }
        let sizes = numbers.compactMap { $0 }.filter { (1...100_000_000).contains($0) }.map { Int($0) }
        guard sizes.count == numbers.count else {
            throw arguments.wrong(
                "--sizes cannot be \"\(text)\".", "It is a list of numbers from 1 on, such as 500,2000,10000.")
        }
        return Set(sizes).sorted()
    }

    func run(on console: Console, policies: [String: PolicyFactory]) throws -> ExitCode {
        try report.written(.tune, of: input.store.filePath) {
            let migrator = try input.migrator(policies)
            let plan = try migrator.plan(configuration)
            if let refusal = plan.refusals.first { throw refusal }
            var result = TuneResult(store: input.store.filePath, sample: sample, judge: judge)
            if plan.isUpToDate {
                result.note = "The store has the target version already: there is nothing to tune."
            } else if plan.steps.allSatisfy({ $0.mode == .inPlace }) {
                result.note =
                    "The store is migrated in place, in one transaction: it has no chunks, so there is nothing to tune."
            } else if let size = sizes.first, sizes.count == 1 {
                result.runs = [try measure(size, by: migrator, on: console)]
            } else if let failure = try measureEach(into: &result, on: console) {
                return failure
            }
            console.result(result.json, text: result.text(width:))
            return (result.json, .success)
        }
    }

    // MARK: Measuring

    /// One size in this process.
    private func measure(_ size: Int, by migrator: Migrator, on console: Console) throws -> TuneResult.Run {
        let stop = StopRequest()
        InterruptWatch.start(stop, on: console)
        var configuration = configuration
        configuration.chunkSize = .rows(size)
        return TuneResult.Run(chunkRows: size, try migrator.rehearse(configuration, sample: sample, stop: stop))
    }

    /// Each size in a process of its own, since a process has one peak of memory.
    ///
    /// - Returns: What a process that failed printed, which is handed on, and its exit code.
    private func measureEach(
        into result: inout TuneResult, on console: Console
    ) throws -> (members: [(String, JSON)], code: ExitCode)? {
        try warmUp()
        for (index, size) in sizes.enumerated() {
            console.note("chunks of \(Int64(size).counting("row")) (\(index + 1) of \(sizes.count))")
            var child = try ChildProcess(
                ChildProcess.ownPath(), [words[0], "--sizes=\(size)"] + words.dropFirst(), reading: .output)
            var lines: [String] = []
            while let line = child.line() { lines.append(line) }
            let code = child.wait()
            guard code == 0 else {
                try tellFailure(lines, on: console)
                let printed = JSON.read(Array(lines.joined(separator: "\n").utf8)) ?? .null
                return (
                    [("store", .string(result.store)), ("error", printed["error"])],
                    code.flatMap { ExitCode(rawValue: $0) } ?? .failed
                )
            }
            result.runs.append(try TuneResult.Run(from: lines))
        }
        return nil
    }

    private func tellFailure(_ lines: [String], on console: Console) throws {
        if console.isJSON { return console.handOn(lines) }
        let error = TuneResult.error(in: lines)
        console.note("ferry: \(error?.message ?? "A process of one chunk size ended without a word.")")
        if let remedy = error?.remedy, !remedy.isEmpty { console.note("       \(remedy)") }
    }

    /// Reads the store once, so that the first size is not the one that waits for the disk.
    private func warmUp() throws {
        let file = try FileLayer().open(input.store.filePath)
        let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
        defer { piece.deallocate() }
        var offset: Int64 = 0
        // More than this stays in no cache that matters here.
        while offset < 1 << 30 {
            let count = try file.read(into: piece, at: offset)
            if count == 0 { return }
            offset += Int64(count)
        }
    }
}
