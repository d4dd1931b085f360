public import Ferry
internal import FerryBase

/// The command line of Ferry.
public enum FerryCommand {
    /// Runs one command line, without the program's name.
    ///
    /// - Parameters:
    ///   - arguments: The command line.
    ///   - policies: The migration policies that mapping models name, by class name. A program that consists of this
    ///     call migrates stores whose mapping models have code.
    /// - Returns: The exit code for the shell.
    public static func run(arguments: [String], policies: [String: PolicyFactory] = [:]) -> Int32 {
        IgnoredSignals.ignore()
        ProcessMemory.begin()
        let isJSON = arguments.prefix { $0 != "--" }.contains("--json")
        let own = CommandLine.arguments.first.map(ShellWord.quoted)
        return named.withValue(policies.isEmpty ? program : own ?? program) {
            run(arguments, on: Console(isJSON: isJSON), policies: policies).rawValue
        }
    }

    /// The program in commands to paste: one with policies of its own, since `ferry` does not have them.
    static var program: String { named.get() }
    static let named = TaskLocal(wrappedValue: "ferry")
    static func isCommand(_ line: some StringProtocol) -> Bool { line.hasPrefix(program + " ") }

    static var commands: [any Command.Type] {
        [
            InspectCommand.self, DiffCommand.self, GraphCommand.self, VerifyCommand.self, PlanCommand.self,
            MigrateCommand.self, RepairCommand.self, StatusCommand.self, ControlCommand.self, TuneCommand.self,
            ReportCommand.self, RollbackCommand.self, SnapshotCreateCommand.self, SnapshotListCommand.self,
            SnapshotPruneCommand.self, MappingShowCommand.self, MappingInitCommand.self, MappingCheckCommand.self,
            GenerateCommand.self, DemoCommand.self, ModelExportCommand.self, ConfigInitCommand.self,
            CompletionsCommand.self, ManualCommand.self, HelpCommand.self,
        ]
    }

    static var commandNames: [String] { Syntax.table.map(\.name) }

    /// These are in the last lines of the list of commands.
    static var setup: [String] { Syntax.table.filter { $0.group == "Setup" }.map(\.name) }

    static func run(
        _ words: [String], on console: Console, policies: [String: PolicyFactory] = [:]
    ) -> ExitCode {
        let code = runAlone(words, on: console, policies: policies)
        guard let problem = console.outputProblem() else { return code }
        console.warn("Standard output could not be written and is incomplete: \(problem).")
        // The exit code of a command that changes files is about the files.
        let changesFiles = Syntax.table.contains { $0.changesFiles && words.starts(with: $0.words) }
        return code == .success && !changesFiles ? .failed : code
    }

    private static func runAlone(
        _ words: [String], on console: Console, policies: [String: PolicyFactory]
    ) -> ExitCode {
        if words.first == "__complete" {
            for line in Completion.lines(for: Array(words.dropFirst())) { console.say(line) }
            return .success
        }
        if words.first(where: { $0 != "--json" }) == "--version" {
            console.result(["version": FerryVersion.text], text: ["ferry \(FerryVersion.text)"])
            return .success
        }
        do {
            guard let call = try CommandCall(words, among: commands) else {
                for line in HelpText.overview() { console.note(line) }
                throw FerryError(.usage, "A command is missing.", remedy: "Run: ferry help")
            }
            return try call.run(on: console, policies: policies)
        } catch {
            let error = FerryError.from(error)
            console.fail(error)
            return ExitCode(error.code.consequence)
        }
    }
}
