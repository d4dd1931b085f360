public import Ferry
internal import FerryBase

/// The command line of Ferry.
public enum FerryCommand {
    /// Runs one command line, without the program's name.
    ///
    /// - Parameters:
    ///   - arguments: The command line.
    ///   - policies: The migration policies that mapping models name, by their class names. A program of one's own that
    ///     is nothing but this call migrates stores whose mapping models have code.
    /// - Returns: The exit code for the shell.
    public static func run(arguments: [String], policies: [String: PolicyFactory] = [:]) -> Int32 {
        IgnoredSignals.ignore()
        let isJSON = arguments.prefix { $0 != "--" }.contains("--json")
        return run(arguments, on: Console(isJSON: isJSON), policies: policies).rawValue
    }

    /// Every command, in the order of help.
    static var commands: [any Command.Type] {
        [
            InspectCommand.self, DiffCommand.self, GraphCommand.self, HashesCommand.self, PlanCommand.self,
            MigrateCommand.self,
            StatusCommand.self, VerifyCommand.self, ReportCommand.self,
            SnapshotCreateCommand.self, SnapshotListCommand.self, SnapshotVerifyCommand.self,
            SnapshotRestoreCommand.self, SnapshotPruneCommand.self, RollbackCommand.self, MappingShowCommand.self,
            MappingInitCommand.self,
            MappingCheckCommand.self, GenerateCommand.self, TuneCommand.self,
            DemoCommand.self, ConfigInitCommand.self, CompletionsCommand.self, ManualCommand.self, HelpCommand.self,
            VersionCommand.self,
        ]
    }

    /// What each command takes, in the order of help: help, completions and manual pages are made of it.
    package static var table: [Syntax] { commands.map { $0.syntax } }

    /// What is typed after `ferry` for each command.
    package static var commandNames: [String] { table.map(\.name) }

    /// Runs one command line on a console; never throws.
    package static func run(
        _ words: [String], on console: Console, policies: [String: PolicyFactory] = [:]
    ) -> ExitCode {
        let console = console.colored(ColorChoice(in: words))
        let code = runAlone(words, on: console, policies: policies)
        guard let problem = console.outputProblem() else { return code }
        console.warn("Standard output could not be written, so what it holds is not whole: \(problem).")
        // Of what changes a store the exit code says what became of that.
        let changesFiles = writers.contains { name in
            words.first == name || words.prefix(2).joined(separator: " ") == name
        }
        return code == .success && !changesFiles ? .failed : code
    }

    /// The commands whose work is not what they print.
    private static let writers = [
        MigrateCommand.syntax.name, SnapshotCreateCommand.syntax.name, SnapshotRestoreCommand.syntax.name,
        SnapshotPruneCommand.syntax.name, RollbackCommand.syntax.name, GenerateCommand.syntax.name,
        DemoCommand.syntax.name, ConfigInitCommand.syntax.name,
    ]

    private static func runAlone(
        _ words: [String], on console: Console, policies: [String: PolicyFactory]
    ) -> ExitCode {
        do {
            guard let call = try CommandCall(words, among: commands) else {
                for line in HelpText.overview(table) { console.note(line) }
                throw FerryError(.usage, "A command is missing.", remedy: "Start with: ferry help")
            }
            return try call.run(on: console, policies: policies)
        } catch {
            let error = FerryError.from(error)
            console.fail(error)
            return ExitCode(error.code.consequence)
        }
    }
}
