internal import FerryBase
internal import Foundation

/// Runs pieces of work in processes of their own: this program again, with arguments for internal use.
///
/// Each piece has its own peak of memory and inherits no cache, free list or open file from the piece before.
package struct SampleProcess: Sendable {
    /// The first argument that makes the program run one piece of work instead of the whole suite.
    package static let word = "__sample"
    /// The prefix of the sample on the child's standard output.
    private static let mark = "sample: "

    private let program: String

    package init(program: String) { self.program = program }

    /// The work of a child.
    package struct Request: Sendable, Equatable {
        package var benchmark: String
        /// Nil: make the data.
        package var side: String?
        package var point: BenchPoint
        package var data: String
        package var work: String
        package var isCounting: Bool
        /// The released program, for cases that measure whole commands; nil: the child itself does the command's work.
        package var tool: String?

        package init(
            benchmark: String, side: String?, point: BenchPoint, data: String, work: String, isCounting: Bool = false,
            tool: String? = nil
        ) {
            self.benchmark = benchmark
            self.side = side
            self.point = point
            self.data = data
            self.work = work
            self.isCounting = isCounting
            self.tool = tool
        }

        package var words: [String] {
            [
                SampleProcess.word, benchmark, side ?? "-", point.label, String(point.rows), String(point.parameter),
                data, work, isCounting ? "counting" : "timed", tool ?? "-",
            ]
        }

        /// Nil when the words are not a request.
        package init?(words: [String]) {
            guard words.count == 10, words[0] == SampleProcess.word, let rows = Int(words[4]),
                let parameter = Int(words[5])
            else { return nil }
            self.init(
                benchmark: words[1], side: words[2] == "-" ? nil : words[2],
                point: BenchPoint(words[3], rows: rows, parameter: parameter), data: words[6], work: words[7],
                isCounting: words[8] == "counting", tool: words[9] == "-" ? nil : words[9])
        }
    }

    /// Does the work in a new process and waits for it.
    ///
    /// - Returns: The child's sample; nil when the child only made data.
    /// - Throws: ``FerryError`` when the child failed; the child's own message is on standard error.
    package func run(_ request: Request) throws -> Sample? {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = request.words
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationReason == .exit, process.terminationStatus == 0 else {
            throw FerryError(
                .internalError,
                "\(request.benchmark): \(request.side ?? "making its data") failed at \(request.point.rows) rows.")
        }
        guard let line = text.split(separator: "\n").last(where: { $0.hasPrefix(Self.mark) }) else { return nil }
        return try JSONDecoder().decode(Sample.self, from: Data(line.dropFirst(Self.mark.count).utf8))
    }

    /// Does the requested work in the child, and prints the sample.
    package static func answer(_ request: Request, cases: [any BenchmarkCase]) throws {
        guard let benchmark = cases.first(where: { $0.name == request.benchmark }) else {
            throw FerryError(.usage, "There is no case \(request.benchmark).")
        }
        guard let side = request.side else { return try benchmark.prepare(request.point, in: request.data) }
        let probe = Probe(isCounting: request.isCounting, tool: request.tool)
        try benchmark.run(side, request.point, data: request.data, work: request.work, probe: probe)
        guard let sample = probe.sample else {
            throw FerryError(.internalError, "\(request.benchmark): \(side) measured nothing.")
        }
        let json = try JSONEncoder().encode(sample)
        FileHandle.standardOutput.write(Data((Self.mark + String(decoding: json, as: UTF8.self) + "\n").utf8))
    }
}
