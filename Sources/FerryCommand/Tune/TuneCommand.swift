internal import Ferry
internal import FerryBase
internal import Foundation

struct TuneCommand: PolicyCommand {
    static let name = "tune"

    let arguments: Arguments

    func run(on console: Console, policies: [String: PolicyFactory]) throws -> ExitCode {
        let input = try MigrationInput(arguments)
        var configuration = input.configuration
        configuration.verify = .none
        configuration.takesSnapshot = false
        try configuration.takeMemoryLimit(arguments)
        let sizes = try sizes()
        let time = try arguments.time("--chunk-time", "a duration, such as 500ms or 15s") ?? .milliseconds(500)
        let times = Int(try arguments.count("--runs", in: 1...100) ?? 3)
        let progress = try ProgressForm(arguments)
        var result = TuneResult(
            store: input.store.filePath, sample: try arguments.count("--sample", in: 1...Int64.max),
            chunkSeconds: time.inSeconds, memoryLimit: Int64(configuration.memoryLimit))
        return try ReportFile.named(by: arguments).written(TuneResult.title, of: result.store) {
            var code = ExitCode.success
            let migrator = try input.migrator(policies)
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
                configuration.chunkSize = .rows(size)
                let renderer = ProgressRenderer(progress, on: console)
                defer { renderer.finish() }
                renderer.plan(
                    RunOutline(steps: plan.steps.count, memoryLimit: configuration.memoryLimit, isRehearsal: true))
                let rehearsal = try migrator.rehearse(configuration, sample: result.sample, stop: stop) { event in
                    if case .phase(let phase, let step) = event { renderer.begin(phase, step: step) }
                    if case .progress(let update) = event { renderer.show(update) }
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
        try warmUp(result.store)
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
            let text = Data(lines.joined(separator: "\n").utf8)
            if stop.isRequested, code != 0 { break }
            guard code == 0 else {
                let failure = (JSON.read(Array(text)) ?? .null)["error"]
                let error = FerryError(
                    FerryError.Code.all.first { $0.name == failure["code"].text } ?? .internalError,
                    failure["message"].text ?? "A process ended without a report.",
                    remedy: Remedy(failure["remedy"].text ?? ""))
                if console.isJSON { console.handOn(lines) } else { console.note(error) }
                let report = FailureReport(error: error, store: result.store, title: TuneResult.title)
                return (report, code.flatMap { ExitCode(rawValue: $0) } ?? .failed)
            }
            let measurement = try JSONDecoder().decode(MeasuredSize.self, from: text)
            guard let run = measurement.runs.first else {
                throw FerryError(.internalError, "A process reported no measurements.")
            }
            measured[number % sizes.count].append(run)
            result.runs = measured.filter { !$0.isEmpty }.map(TuneResult.Run.init(medianOf:))
        }
        let count = measured.map(\.count).reduce(0, +)
        if count < all { result.note = "Stopped after \(count) of \(all) measurements." }
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

/// What a process that measured one size prints.
private struct MeasuredSize: Decodable { var runs: [TuneResult.Run] }
