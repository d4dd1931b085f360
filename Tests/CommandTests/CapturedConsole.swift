internal import Dispatch
internal import Ferry
internal import FerryBase
internal import Unsynced

@testable internal import FerryCommand

/// The output of a command, for assertions.
struct Captured: Sendable {
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

    /// Runs a command line on a thread of its own, whose working folder is the given one; nil if threads share theirs.
    static func run(_ words: [String], in folder: String) throws -> Captured? {
        let (done, captured) = (DispatchSemaphore(value: 0), Locked<Captured?>(nil))
        try WorkThread.start("ferry.command") {
            if ferry_enter_folder(folder) == 0 {
                let found = run(words, isJSON: words.prefix { $0 != "--" }.contains("--json"))
                captured.withLock { $0 = found }
            }
            done.signal()
        }
        done.wait()
        return captured.withLock { $0 }
    }

    private final class Texts: Sendable {
        let output = Locked("")
        let diagnostics = Locked("")
    }
}
