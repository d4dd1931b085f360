internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import FerryCommand

/// Numbers on the command line that are too large for any run.
@Suite("Huge numbers")
struct HugeNumbersTests {
    @Test(
        "Every option with a number refuses too large values without a crash",
        arguments: [
            ("migrate none.sqlite --models none --memory-limit", "24MiB"),
            ("migrate none.sqlite --models none --chunk-size", "1"),
            ("migrate none.sqlite --models none --chunk-time", "1s"),
            ("migrate none.sqlite --models none --budget", "1s"),
            ("tune none.sqlite --models none --memory-limit", "24MiB"),
            ("tune none.sqlite --models none --sample", "10"), ("tune none.sqlite --models none --sizes", "10"),
            ("generate none --output new.sqlite --rows", "1"),
            ("generate none --output new.sqlite --rows 1 --seed", "1"),
            ("demo new --prepare --authors 1 --books", "1"),
        ])
    func options(_ command: String, _ good: String) {
        let words = command.split(separator: " ").map(String.init)
        for value in [
            "9223372036854775808", "-9223372036854775808", "9223372036854775807GiB", "9223372036854775807h", "1e400",
            "99999999999999999999999", "-1", "", "NaN",
        ] {
            let outcome = Captured.run(words + [value])
            #expect(outcome.exitCode == .usage, "\(command) \(value): \(outcome.exitCode) \(outcome.diagnostics)")
        }
        // The program accepts the highest number, or refuses it with a reason; the store of the command does not exist.
        for value in ["9223372036854775807", "9223372036854775807ms", good] where !command.hasPrefix("demo") {
            let outcome = Captured.run(words + [value])
            #expect(
                [ExitCode.refused, .usage].contains(outcome.exitCode),
                "\(command) \(value): \(outcome.exitCode) \(outcome.diagnostics)")
        }
    }

    @Test("The highest memory limit is refused on an existing store, which stays unchanged")
    func memoryLimit() throws {
        let folder = try TemporaryFolder()
        try ProgramTests.Library(folder: folder.path).prepare(books: 20)
        let store = folder.file("library/Library.sqlite")
        let before = try Data(contentsOf: URL(fileURLWithPath: store))
        let outcome = try FerryBinary.run(
            ["migrate", store, "--models", "library/Library.xcdatamodeld", "--memory-limit", "9223372036854775807"],
            in: folder.path)
        #expect(outcome.exitCode == 64 && outcome.diagnostics.contains("memory limit"), "\(outcome.diagnostics)")
        #expect(try Data(contentsOf: URL(fileURLWithPath: store)) == before)
    }
}
