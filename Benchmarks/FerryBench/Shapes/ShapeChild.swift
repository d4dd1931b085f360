internal import BenchmarkHarness
internal import FerryBase
internal import FerryCommand
internal import Foundation

/// Work that has a process of its own: this program again, with arguments for internal use.
enum ShapeChild {
    static let word = "__shape"

    /// The arguments for making a shape's store.
    static func make(_ shape: Shape, scale: Double, in folder: String) -> [String] {
        [word, "make", shape.name, String(scale), folder]
    }

    /// No shape takes as long at its default size, unless something grows faster than its rows.
    static let secondsAtMost = 600.0

    /// The file that ``make(_:scale:in:)`` leaves in the folder: ``Shape/Input``.
    static func input(_ folder: String) -> String { "\(folder)/input.json" }

    /// The arguments for measuring a program, with ``MeasuredRun`` on standard output.
    static func measure(_ words: [String], output: String, errors: String, folder: String) -> [String] {
        [word, "measure", output, errors, folder] + words
    }

    /// The arguments that make this program Ferry, with the migration policy of the shapes.
    static let tool = [word, "tool"]

    /// Does the work that the arguments request.
    ///
    /// - Returns: The exit code; nil when the arguments request nothing here.
    static func answer(_ words: [String]) throws -> Int32? {
        guard words.first == word, words.count > 2 else { return nil }
        switch words[1] {
        case "make":
            guard words.count == 5, let shape = ShapeCatalog.shape(words[2]), let scale = Double(words[3]) else {
                return nil
            }
            let input = try shape.make(ShapeFolder(path: words[4], scale: scale))
            try FileLayer().replace(Self.input(words[4]), with: [UInt8](JSONEncoder().encode(input)))
        case "measure":
            guard words.count > 5 else { return nil }
            let program = words[5...].filter { word in
                guard word.hasPrefix("FERRY_EXECUTOR=") else { return true }
                setenv("FERRY_EXECUTOR", String(word.dropFirst("FERRY_EXECUTOR=".count)), 1)
                return false
            }
            let run = try MeasuredRun.of(
                program, output: words[2], errors: words[3], folder: words[4], limit: secondsAtMost)
            FileHandle.standardOutput.write(try JSONEncoder().encode(run))
        case "tool":
            return FerryCommand.run(arguments: Array(words[2...]), policies: ["TitlePolicy": { TitlePolicy() }])
        default: return nil
        }
        return 0
    }
}
