internal import Ferry
internal import FerryBase

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

/// What `tune` measured, and what it recommends.
package struct TuneResult {
    let store: String
    let sample: Int64?
    let judge: Judge
    var runs: [Run] = []
    /// Why there are no runs.
    var note: String?

    package init(store: String, sample: Int64?, judge: Judge) {
        self.store = store
        self.sample = sample
        self.judge = judge
    }

    /// One chunk size.
    package struct Run: Decodable {
        package var chunkRows: Int
        package var rows: Int64
        package var rowsPerSecond: Double?
        package var peakResidentBytes: Int64?
        package var longestChunkSeconds: Double
        package var worstLostSeconds: Double

        package init(
            chunkRows: Int, rows: Int64, rowsPerSecond: Double?, peakResidentBytes: Int64?, longestChunkSeconds: Double,
            worstLostSeconds: Double
        ) {
            self.chunkRows = chunkRows
            self.rows = rows
            self.rowsPerSecond = rowsPerSecond
            self.peakResidentBytes = peakResidentBytes
            self.longestChunkSeconds = longestChunkSeconds
            self.worstLostSeconds = worstLostSeconds
        }

        init(chunkRows: Int, _ report: RehearsalReport) {
            self.init(
                chunkRows: chunkRows, rows: report.rows, rowsPerSecond: report.rowsPerSecond,
                peakResidentBytes: report.peakResidentBytes, longestChunkSeconds: report.longestChunk.inSeconds,
                worstLostSeconds: report.longestUnit.inSeconds)
        }

        /// Reads what a process of one size printed.
        init(from lines: [String]) throws {
            struct Printed: Decodable { var runs: [Run] }
            let printed = try JSONDecoder().decode(Printed.self, from: Data(lines.joined(separator: "\n").utf8))
            guard let run = printed.runs.first else {
                throw FerryError(.internalError, "A process of one chunk size measured nothing.")
            }
            self = run
        }
    }

    /// What a size must keep to.
    package struct Judge {
        var chunkSeconds: Double
        var memoryLimit: Int64
        /// How much slower than the quickest a smaller size may be.
        private static let tolerance = 0.95

        package init(chunkSeconds: Double, memoryLimit: Int64) {
            self.chunkSeconds = chunkSeconds
            self.memoryLimit = memoryLimit
        }

        func fits(_ run: Run) -> Bool {
            run.longestChunkSeconds <= chunkSeconds && run.peakResidentBytes ?? 0 <= memoryLimit
        }

        /// The rows of the size to take; nil when none fits.
        package func recommended(_ runs: [Run]) -> Int? {
            let fitting = runs.filter { fits($0) && $0.rowsPerSecond != nil }
            guard let quickest = fitting.compactMap(\.rowsPerSecond).max() else { return nil }
            return fitting.filter { $0.rowsPerSecond ?? 0 >= quickest * Self.tolerance }.map(\.chunkRows).min()
        }
    }

    struct Failure: Decodable { var message, remedy: String }

    /// The error in what a process printed.
    static func error(in lines: [String]) -> Failure? {
        struct Printed: Decodable { var error: Failure }
        do {
            return try JSONDecoder().decode(Printed.self, from: Data(lines.joined(separator: "\n").utf8)).error
        } catch {
            return nil
        }
    }

    // MARK: Showing

    var recommended: Int? { judge.recommended(runs) }

    var json: [(String, JSON)] {
        let runs = runs.map { run in
            JSON.object([
                ("chunkRows", .integer(run.chunkRows)), ("rowsPerSecond", .number(run.rowsPerSecond)),
                ("peakResidentBytes", .integer(run.peakResidentBytes)),
                ("longestChunkSeconds", .number(run.longestChunkSeconds)),
                ("worstLostSeconds", .number(run.worstLostSeconds)), ("rows", .integer(run.rows)),
            ])
        }
        return [
            ("runs", .array(runs)), ("recommended", .integer(recommended)), ("store", .string(store)),
            ("sample", .integer(sample)), ("chunkSeconds", .number(judge.chunkSeconds)),
            ("memoryLimit", .integer(judge.memoryLimit)), ("note", .string(note)),
        ]
    }

    func text(width: Int) -> [String] {
        if let note { return [note] }
        var table = TextTable(
            TuneResult.header, [.right, .right, .right, .right, .right, .right])
        for run in runs { table.add(TuneResult.cells(run)) }
        return table.lines(width: width) + ["", advice]
    }

    static let header = ["Chunk rows", "Rows", "Rows/s", "Peak memory", "Longest chunk", "Redone after a kill"]

    static func cells(_ run: Run) -> [String] {
        [
            Quantity.grouped(Int64(run.chunkRows)), Quantity.grouped(run.rows),
            run.rowsPerSecond.map { Quantity.grouped(Quantity.whole($0)) } ?? "?",
            run.peakResidentBytes.map { Quantity.sizeText($0) } ?? "?",
            Quantity.durationText(seconds: run.longestChunkSeconds),
            Quantity.durationText(seconds: run.worstLostSeconds),
        ]
    }

    var advice: String {
        let bounds = "\(Quantity.durationText(seconds: judge.chunkSeconds)) and \(Quantity.sizeText(judge.memoryLimit))"
        guard let recommended else {
            return "No size keeps within \(bounds); smaller chunks, or more time or memory, may."
        }
        return "Recommended: --chunk-size \(recommended), within \(bounds)."
    }
}
