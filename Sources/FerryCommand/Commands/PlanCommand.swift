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
            PlanRendering.verbose,
        ],
        example: "ferry plan App.sqlite --models App.xcdatamodeld --mappings Mappings --to \"App 3\"")

    private let input: MigrationInput
    private let checksRows: Bool
    private let isVerbose: Bool
    private let showsStatements: Bool

    init(from arguments: Arguments) throws(FerryError) {
        input = try MigrationInput(from: arguments)
        checksRows = arguments.has("--check")
        showsStatements = arguments.has("--sql")
        isVerbose = arguments.has(PlanRendering.verbose.name)
    }

    func run(on console: Console, policies: [String: PolicyFactory]) throws -> ExitCode {
        do {
            let migrator = try input.migrator(policies)
            let plan = try migrator.plan(input.configuration, checksRows: checksRows)
            if showsStatements, plan.refusals.isEmpty {
                let statements = StatementRendering(steps: try migrator.statements(input.configuration))
                let rendering = PlanRendering(plan: plan, isVerbose: isVerbose, config: input.configPath)
                console.result(
                    rendering.json + [("sql", statements.json)], verbatim: statements.text.joined(separator: "\n"))
                return .success
            }
            return PlanCommand.show(plan, isVerbose: isVerbose, config: input.configPath, on: console)
        } catch {
            throw input.worded(error)
        }
    }

    static func show(_ plan: PlanReport, isVerbose: Bool, config: String?, on console: Console) -> ExitCode {
        let rendering = PlanRendering(plan: plan, isVerbose: isVerbose, config: config)
        console.result(rendering.json, text: rendering.text(width:))
        return plan.refusals.isEmpty ? .success : .refused
    }
}
