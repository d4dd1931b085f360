internal import Ferry
internal import FerryBase

@testable internal import FerryCommand

/// The output of a command, for assertions.
struct Captured {
    var exitCode: ExitCode
    var output: String
    var diagnostics: String

    /// Runs a command line inside this process, as on a terminal if a width is given.
    static func run(
        _ words: [String], isJSON: Bool = false, width: Int? = nil, policies: [String: PolicyFactory] = [:]
    ) -> Captured {
        let texts = Texts()
        let console = Console(
            isJSON: isJSON, isTerminal: false,
            output: Console.Stream(width: { width }) { text in texts.output.withLock { $0 += text } },
            diagnostics: Console.Stream(width: { width }) { text in texts.diagnostics.withLock { $0 += text } })
        let code = FerryCommand.run(words, on: console, policies: policies)
        return Captured(
            exitCode: code, output: texts.output.withLock { $0 }, diagnostics: texts.diagnostics.withLock { $0 })
    }

    private final class Texts: Sendable {
        let output = Locked("")
        let diagnostics = Locked("")
    }
}
