internal import Ferry
internal import FerryBase

struct PlanCommand: PolicyCommand {
    static let syntax = Syntax(
        "plan", summary: "Shows what a migration would do; touches nothing.",
        discussion: "Finds the store's version, the chain of versions to the target, and the work of each step. "
            + "What cannot be done is listed as a refusal (exit 2), each with what to do about it.",
        operands: [MigrationInput.store],
        options: MigrationInput.options + [
            .flag("--check", "Also scan the rows, as a migration does before it starts."),
            .flag("--sql", "Print the statements that each step will run, as an SQL script with comments."),
            PlanRendering.verbose, ReportFile.option,
        ],
        example: "ferry plan App.sqlite --models App.xcdatamodeld --mappings Mappings --to \"App 3\"")

    private let input: MigrationInput
    private let checksRows: Bool
    private let isVerbose: Bool
    private let showsStatements: Bool
    private let report: ReportFile?

    init(from arguments: Arguments) throws(FerryError) {
        input = try MigrationInput(from: arguments)
        checksRows = arguments.has("--check")
        showsStatements = arguments.has("--sql")
        isVerbose = arguments.has(PlanRendering.verbose.name)
        report = try ReportFile(from: arguments)
    }

    func run(on console: Console, policies: [String: PolicyFactory]) throws -> ExitCode {
        do {
            return try report.written(.plan, of: input.store.filePath) {
                let migrator = try input.migrator(policies)
                let plan = try migrator.plan(input.configuration, checksRows: checksRows)
                let rendering = PlanRendering(plan: plan, isVerbose: isVerbose, config: input.configPath)
                guard showsStatements, plan.refusals.isEmpty else {
                    console.result(rendering.json, text: rendering.text(width:))
                    return (rendering.json, rendering.exitCode)
                }
                let statements = StatementRendering(steps: try migrator.statements(input.configuration))
                let members = rendering.json + [("sql", statements.json)]
                console.result(members, verbatim: statements.text.joined(separator: "\n"))
                return (members, rendering.exitCode)
            }
        } catch {
            throw input.worded(error)
        }
    }
}
