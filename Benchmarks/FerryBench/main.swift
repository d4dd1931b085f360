internal import BenchmarkHarness
internal import FerryBase
internal import Foundation

let words = Array(CommandLine.arguments.dropFirst())
do {
    if let code = try ShapeChild.answer(words) { exit(code) }
    if let request = SampleProcess.Request(words: words) {
        // The cases measure what the program takes.
        beginProgram()
        try SampleProcess.answer(request, cases: Suite.cases)
        exit(0)
    }
    exit(try BenchmarkRun(words: CommandLineWords(words)).run())
} catch {
    FileHandle.standardError.write(Data("\(error)\n".utf8))
    exit((error as? FerryError)?.code == .usage ? 64 : 1)
}
