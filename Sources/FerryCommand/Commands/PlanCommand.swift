internal import Ferry
internal import FerryBase

struct PlanCommand: PolicyCommand {
    static let syntax = Syntax(
        "plan", summary: "Show what a migration would do (read-only).",
        discussion: "Shows the store's version, the chain of versions to the target, and the work of each step. "
            + "If the migration would be refused, lists the reasons (exit 2), each with what to do about it.",
        operands: [MigrationInput.store],
        options: MigrationInput.options + [
            .flag("--check", "Also scan the rows, as a migration does before it starts."),
            .flag("--sql", "Print the statements of each step as an SQL script with comments."),
            .value("--budget", "TIME", "Warn if a unit of work takes longer than this (15s, 2min)."),
            PlanRendering.verbose, ReportFile.option,
        ],
        common: [
            "--models", "--mappings", "--to", "--chain", "--check", "--sql", "--verbose", "--report", "--json",
        ],
        example: "ferry plan App.sqlite --models App.xcdatamodeld --mappings Mappings --to \"App 3\"")

    let arguments: Arguments

    func run(on console: Console, policies: [String: PolicyFactory]) throws -> ExitCode {
        let input = try MigrationInput(arguments)
        do {
            return try ReportFile(from: arguments).written(PlanRendering.title, of: input.store.filePath) {
                let migrator = try input.migrator(policies)
                var configuration = input.configuration
                // A check answers as the migration will.
                if arguments.has("--check"), !arguments.has("--accept-loss") { configuration.losses = .refuse }
                configuration.budget = try arguments.time("--budget", "a time such as 500ms, 15s or 2min")
                let plan = try migrator.plan(configuration, checksRows: arguments.has("--check"))
                var rendering = PlanRendering(plan, arguments)
                if arguments.has("--sql"), plan.refusals.allSatisfy({ $0.code == .lossRefused }) {
                    let statements = StatementRendering(steps: try migrator.statements(input.configuration))
                    rendering.details.statements = statements.steps
                    rendering.printsStatements = true
                    console.result(rendering.json, verbatim: statements.text.joined(separator: "\n"))
                } else {
                    console.result(rendering.json, text: rendering.report.text(width:))
                    let isReported = arguments.value(ReportFile.option.name) != nil && plan.refusals.isEmpty
                    if isReported { rendering.details = PlanDetails(migrator, input.configuration) }
                }
                return (rendering, rendering.exitCode)
            }
        } catch {
            throw input.worded(error)
        }
    }
}
