internal import Ferry
internal import FerryBase

struct PlanCommand: PolicyCommand {
    static let name = "plan"

    let arguments: Arguments

    func run(on console: Console, policies: [String: PolicyFactory]) throws -> ExitCode {
        let input = try MigrationInput(arguments)
        do {
            return try ReportFile.named(by: arguments).written(PlanRendering.title, of: input.store.filePath) {
                let migrator = try input.migrator(policies)
                var configuration = input.configuration
                // A check answers as the migration will.
                if arguments.has("--check"), !arguments.has("--accept-loss") { configuration.losses = .refuse }
                configuration.budget = try arguments.time("--budget", "a time such as 500ms, 15s or 2min")
                var plan = try migrator.plan(configuration, checksRows: arguments.has("--check"))
                plan.refusals = plan.refusals.map { $0.naming(store: plan.store.filePath, arguments) }
                var rendering = PlanRendering(plan: plan, config: arguments.configPath)
                if arguments.has("--sql"), plan.refusals.allSatisfy({ $0.code == .lossRefused }) {
                    let statements = StatementRendering(steps: try migrator.statements(input.configuration))
                    rendering.details.statements = statements.steps
                    rendering.printsStatements = true
                    console.result(rendering.json, verbatim: statements.text.joined(separator: "\n"))
                } else {
                    console.result(rendering.json, text: rendering.report.text(width:))
                    let isReported = arguments.value("--report") != nil && plan.refusals.isEmpty
                    if isReported { rendering.details.take(migrator, input.configuration) }
                }
                return (rendering, rendering.exitCode)
            }
        } catch {
            throw input.worded(error)
        }
    }
}
