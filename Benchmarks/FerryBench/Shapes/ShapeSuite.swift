internal import BenchmarkHarness
internal import FerryBase
internal import Foundation

/// `ferry-bench shapes`: measures every shape, prints the table, and judges.
struct ShapeSuite {
    let words: CommandLineWords
    private let files = FileLayer()

    init(_ words: CommandLineWords) { self.words = words }

    /// - Returns: The exit code.
    func run() throws -> Int32 {
        let parent = words.folder ?? NSTemporaryDirectory()
        let folder = "\(parent)/ferry-bench-\(ProcessInfo.processInfo.processIdentifier)"
        try files.createDirectory(folder)
        // A failure leaves only temporary data behind; the first error is the one to report.
        defer { try? files.removeTree(folder) }
        let hasFixtures = try files.exists(ShapeFolder.fixtures)
        var results: [ShapeResult] = []
        for shape in ShapeCatalog.shapes(
            words.shapes, seeds: words.seeds ?? (words.isSmall ? 2 : 20), isSmall: words.isSmall)
        {
            guard hasFixtures || !shape.needsFixtures else {
                note("\(shape.name): skipped, the fixtures are not here; FERRY_FIXTURES may name their folder")
                continue
            }
            let result = try measure(shape, in: folder)
            note(line(result))
            results.append(result)
        }
        let table = ShapeTable(results)
        say(table.lines.joined(separator: "\n"))
        if let path = words.json { try write(results, to: path) }
        if let path = words.page { try ShapePage(table).write(to: path, files: files) }
        let misses = table.misses(
            in: words.isSmall ? [.peak, .verification] : ShapeColumn.allCases, isSmall: words.isSmall)
        say(misses.isEmpty ? "All limits hold." : "Limits missed:\n" + misses.map { "  \($0)" }.joined(separator: "\n"))
        return misses.isEmpty ? 0 : 1
    }

    private func measure(_ shape: Shape, in folder: String) throws -> ShapeResult {
        let rows = words.rows ?? 100_000
        let scale = Double(rows) / 100_000 * (words.isSmall ? shape.small ?? 1 : 1)
        let rounds = words.repetitions ?? (words.isSmall ? 1 : words.measuresGrowth ? 5 : 3)
        var result = try ShapeRun(shape, scale: scale, rounds: rounds, folder: folder, tool: words.tool).run()
        if words.measuresGrowth {
            let tenth = try ShapeRun(shape, scale: scale / 10, rounds: rounds, folder: folder, tool: words.tool).run()
            result.typicalPeakBytesOfTenth =
                tenth.failure == nil && tenth.refusal == nil ? tenth.typicalPeakBytes : nil
        }
        return result
    }

    private func line(_ result: ShapeResult) -> String {
        guard result.failure == nil else { return "\(result.name): \(result.failure ?? "")" }
        let figures = [ShapeColumn.peak, .verification].map { "\($0.title) \($0.text(result))" }
        return "\(result.name): \(Figure.time(result.seconds)), \(figures.joined(separator: ", "))"
    }

    private func write(_ results: [ShapeResult], to path: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        try files.replace(path, with: [UInt8](encoder.encode(results)))
    }

    private func say(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }
    private func note(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }
}
