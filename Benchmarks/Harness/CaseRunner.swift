internal import FerryBase

/// Measures a case: its sides alternate in each repetition, so that a disturbance of the machine affects all of them.
package struct CaseRunner: Sendable {
    private let process: SampleProcess
    private let folder: String
    private let tool: String?
    private let files = FileLayer()
    private let note: @Sendable (String) -> Void

    /// - Parameters:
    ///   - process: Runs the samples.
    ///   - folder: An existing folder; the runner adds one folder per case, and removes it again.
    ///   - tool: The released program, for cases that measure whole commands.
    ///   - note: Receives a line about each piece of work.
    package init(
        process: SampleProcess, folder: String, tool: String? = nil,
        note: @escaping @Sendable (String) -> Void
    ) {
        self.process = process
        self.folder = folder
        self.tool = tool
        self.note = note
    }

    /// - Parameters:
    ///   - benchmark: The case.
    ///   - rows: The rows of the case's main entity.
    ///   - repetitions: The number of samples per side.
    /// - Returns: All figures.
    /// - Throws: The error of a sample.
    package func run(_ benchmark: any BenchmarkCase, rows: Int, repetitions: Int) throws -> CaseResult {
        precondition(repetitions > 0, "a case is measured at least once")
        let points = benchmark.points(rows: rows)
        var rounds = [Round](repeating: Round(points: points), count: repetitions)
        let place = "\(folder)/\(benchmark.name)"
        // Points with the same number of rows share their data.
        for size in Set(points.map(\.rows)).sorted() {
            let data = "\(place)/data"
            try files.createDirectory(place)
            try files.createDirectory(data)
            let same = points.filter { $0.rows == size }
            note("\(benchmark.name): making the data for \(size) rows")
            _ = try process.run(.init(benchmark: benchmark.name, side: nil, point: same[0], data: data, work: place))
            for point in same { try measure(benchmark, point, place, data, &rounds) }
            try files.removeTree(place)
        }
        return CaseResult(benchmark, rounds: rounds)
    }

    private func measure(
        _ benchmark: any BenchmarkCase, _ point: BenchPoint, _ place: String, _ data: String, _ rounds: inout [Round]
    ) throws {
        let title = "\(benchmark.name)\(point.label.isEmpty ? "" : " \(point.label)")"
        // The counting runs also warm the cache for the first repetition.
        for side in benchmark.sides where side.isCounted {
            note("\(title): counting \(side.name)")
            let sample = try sample(benchmark, side, point, place, data, isCounting: true)
            for index in rounds.indices { rounds[index].setCounted(sample, of: side.name, at: point) }
        }
        for index in rounds.indices {
            note("\(title): \(index + 1) of \(rounds.count)")
            // The order alternates, so that the pending writes of one side do not always slow down the same other side.
            let order = index % 2 == 0 ? benchmark.sides : benchmark.sides.reversed()
            for side in order {
                let sample = try sample(benchmark, side, point, place, data, isCounting: false)
                rounds[index].set(sample, of: side.name, at: point)
            }
        }
    }

    private func sample(
        _ benchmark: any BenchmarkCase, _ side: Side, _ point: BenchPoint, _ place: String, _ data: String,
        isCounting: Bool
    ) throws -> Sample {
        let work = "\(place)/work"
        try files.removeTree(work)
        try files.createDirectory(work)
        let request = SampleProcess.Request(
            benchmark: benchmark.name, side: side.name, point: point, data: data, work: work, isCounting: isCounting,
            tool: tool)
        guard let sample = try process.run(request) else {
            throw FerryError(.internalError, "\(benchmark.name): \(side.name) returned no sample.")
        }
        try files.removeTree(work)
        return sample
    }
}
