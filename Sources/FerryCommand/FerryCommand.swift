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
        return run(arguments, on: Console(isJSON: isJSON), policies: policies).rawValue
    }

    /// Commands that belong together in the help.
    struct Group {
        let title: String
        let commands: [any Command.Type]
        var names: [String] { commands.map { $0.syntax.name } }
    }

    /// All commands, in the order of the help.
    static var groups: [Group] {
        [
            Group(
                title: "Look",
                commands: [
                    InspectCommand.self, DiffCommand.self, GraphCommand.self, VerifyCommand.self,
                ]),
            Group(
                title: "Migrate",
                commands: [
                    PlanCommand.self, MigrateCommand.self, RepairCommand.self, StatusCommand.self, ControlCommand.self,
                    TuneCommand.self, ReportCommand.self,
                ]),
            Group(
                title: "Roll back",
                commands: [
                    RollbackCommand.self, SnapshotCreateCommand.self, SnapshotListCommand.self,
                    SnapshotPruneCommand.self,
                ]),
            Group(
                title: "Mapping models",
                commands: [MappingShowCommand.self, MappingInitCommand.self, MappingCheckCommand.self]),
            Group(title: "Stores for tests", commands: [GenerateCommand.self, DemoCommand.self]),
            Group(
                title: "Setup",
                commands: [
                    ModelExportCommand.self, ConfigInitCommand.self, CompletionsCommand.self, ManualCommand.self,
                    HelpCommand.self,
                ]),
        ]
    }

    static var commands: [any Command.Type] { groups.flatMap(\.commands) }

    /// The syntax of each command, in the order of the help; help, completions and manual use it.
    package static var table: [Syntax] { commands.map { $0.syntax } }

    /// The words after `ferry` for each command.
    package static var commandNames: [String] { table.map(\.name) }

    /// Runs one command line on a console; never throws.
    package static func run(
        _ words: [String], on console: Console, policies: [String: PolicyFactory] = [:]
    ) -> ExitCode {
        let code = runAlone(words, on: console, policies: policies)
        guard let problem = console.outputProblem() else { return code }
        console.warn("Standard output could not be written and is incomplete: \(problem).")
        // The exit code of a command that changes files is about the files.
        let changesFiles = writers.contains { name in
            words.first == name || words.prefix(2).joined(separator: " ") == name
        }
        return code == .success && !changesFiles ? .failed : code
    }

    /// The commands whose result is files, not output.
    private static let writers = [
        MigrateCommand.syntax.name, RepairCommand.syntax.name, SnapshotCreateCommand.syntax.name,
        SnapshotPruneCommand.syntax.name, RollbackCommand.syntax.name, GenerateCommand.syntax.name,
        DemoCommand.syntax.name, ConfigInitCommand.syntax.name, ModelExportCommand.syntax.name,
    ]

    private static func runAlone(
        _ words: [String], on console: Console, policies: [String: PolicyFactory]
    ) -> ExitCode {
        if words.first == "__complete" {
            for line in Completion.lines(for: Array(words.dropFirst()), in: table) { console.say(line) }
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
