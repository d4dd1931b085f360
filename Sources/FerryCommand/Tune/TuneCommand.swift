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
                result.note = "The store has the target version already: there is nothing to tune."
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
        let sizes = try arguments.value("--sizes", "a list of numbers from 1 on, such as 500,2000,10000") { text in
            let sizes = text.split(separator: ",", omittingEmptySubsequences: false).map { word in
                Quantity.count(String(word)).flatMap { (1...100_000_000).contains($0) ? Int($0) : nil }
            }
            return sizes.contains(nil) ? nil : Set(sizes.compactMap { $0 }).sorted()
        }
        return sizes ?? [500, 2_000, 10_000, 50_000]
    }

    // MARK: Measuring

    /// Measures each size in a process of its own, since a process has one peak of memory.
    ///
    /// - Returns: What a process that failed printed, which is handed on, and its exit code.
    private func measure(
        _ sizes: [Int], into result: inout TuneResult, on console: Console
    ) throws -> (report: JSON, code: ExitCode)? {
        try warmUp(result.store)
        // What ferry.json says is among the words; read again, its report would be each process's own.
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
                    let message = error["message"].text ?? "A process of one chunk size ended without a word."
                    console.note("ferry: \(message)")
                    if let remedy = error["remedy"].text, !remedy.isEmpty { console.note("       \(remedy)") }
                }
                let report: JSON = ["store": result.store, "error": error]
                return (report, code.flatMap { ExitCode(rawValue: $0) } ?? .failed)
            }
            guard let run = printed["runs"].elements.first else {
                throw FerryError(.internalError, "A process of one chunk size measured nothing.")
            }
            result.runs.append(run)
        }
        return nil
    }

    /// Reads the store once, so that the first size is not the one that waits for the disk.
    private func warmUp(_ store: String) throws {
        let file = try FileLayer().open(store)
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
