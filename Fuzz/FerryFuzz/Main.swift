import Foundation

/// The fuzzer; see its README for the commands.
@main
enum Main {
    static func main() {
        do {
            exit(try run(CommandLine.arguments) ? 0 : 1)
        } catch {
            FileHandle.standardError.write(Data("ferry-fuzz: \(error)\n".utf8))
            exit(64)
        }
    }

    private static func run(_ arguments: [String]) throws -> Bool {
        let rest = arguments.dropFirst(2)
        switch arguments.dropFirst().first {
        case "readers":
            let words = try Words(rest)
            let names = words.text("--reader")?.split(separator: ",").map(String.init)
            let readers = try names?.map(reader(named:)) ?? FuzzReaders.all
            return try ReaderRun(
                executions: try words.number("--executions") ?? 100_000,
                seconds: try words.number("--seconds").map(Double.init),
                seed: UInt64(try words.number("--seed") ?? Int.random(in: 1...Int(Int32.max))), corpus: words.corpus,
                findings: words.text("--findings") ?? ".build/fuzz", readers: readers, program: arguments[0]
            ).run()
        case "worker":
            let words = Array(rest)
            guard words.count >= 5, let seed = UInt64(words[1]), let first = Int(words[2]), let count = Int(words[3])
            else { throw FuzzFailure("a worker is started by `readers`") }
            var worker = try Worker(
                reader(named: words[0]), seed: seed, folder: words[4], corpus: words.count > 5 ? words[5] : nil)
            try worker.run(from: first, count: count)
            return true
        case "replay":
            guard rest.count == 2, let name = rest.first, let path = rest.last,
                let input = FileManager.default.contents(atPath: path)
            else { throw FuzzFailure("replay READER FILE") }
            let folder = FileManager.default.temporaryDirectory.path + "/ferry-fuzz-\(UUID().uuidString)"
            defer { try? FileManager.default.removeItem(atPath: folder) }
            try Worker(reader(named: name), seed: 0, folder: folder, corpus: nil).replay([UInt8](input))
            return true
        case "program":
            let words = try Words(rest)
            guard let program = words.text("--ferry") else { throw FuzzFailure("--ferry PATH is missing.") }
            return try ProgramRun(
                program: program, runs: try words.number("--runs") ?? 1_000,
                seconds: try words.number("--seconds").map(Double.init),
                seed: UInt64(try words.number("--seed") ?? Int.random(in: 1...Int(Int32.max))), corpus: words.corpus,
                findings: words.text("--findings") ?? ".build/fuzz"
            ).run()
        default:
            throw FuzzFailure(
                "readers | program | replay; the readers are \(FuzzReaders.all.map { $0.name }.joined(separator: ", "))"
            )
        }
    }

    private static func reader(named name: String) throws -> any FuzzReader.Type {
        guard let reader = FuzzReaders.named(name) else { throw FuzzFailure("there is no reader `\(name)`") }
        return reader
    }
}
