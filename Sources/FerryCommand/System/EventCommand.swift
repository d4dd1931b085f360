internal import Ferry
internal import FerryBase
internal import Foundation

/// The command of `--on-event`, which `/bin/sh -c` runs at each event of a migration, on the thread of the event.
///
/// Values come to it in its environment alone, so that no name of a store or a version becomes a part of the command.
final class EventCommand: Sendable {
    /// Every variable of the command; those without a value are empty.
    static let variables = [
        "EVENT", "STORE", "FROM", "TO", "PHASE", "STEP", "STEPS", "OUTCOME", "CODE", "MESSAGE", "SNAPSHOT",
    ]

    private let command: String
    private let stop: StopRequest
    private let console: Console
    private let known: Locked<[String: String]>

    init(_ command: String, store: String, stop: StopRequest, console: Console) {
        (self.command, self.stop, self.console) = (command, stop, console)
        known = Locked(["STORE": store])
    }

    func take(_ event: MigrationEvent) {
        switch event {
        case .planned(let plan):
            known.withLock {
                $0["FROM"] = plan.chain.first
                $0["TO"] = plan.chain.last
                $0["STEPS"] = String(plan.steps.count)
            }
            run("planned", [:])
        case .phase(let phase, let step):
            // After the swap a stop would come too late.
            run(
                "phase", ["PHASE": phase.rawValue, "STEP": step.map { String($0) } ?? ""],
                isStopping: phase != .cleanUp)
        case .warning(let warning): run("warning", ["CODE": warning.code.rawValue, "MESSAGE": warning.message])
        case .finished(let report):
            var values = ["OUTCOME": report.outcome.rawValue, "FROM": report.from, "TO": report.to]
            values["SNAPSHOT"] = report.snapshot?.filePath
            run("finished", values, isStopping: false)
        case .progress: break
        }
    }

    /// The event of a migration that ended with an error.
    func end(_ error: FerryError) {
        run("failed", ["CODE": error.code.name, "MESSAGE": error.message], isStopping: false)
    }

    private func run(_ event: String, _ values: [String: String], isStopping: Bool = true) {
        let values = known.withLock { $0 }.merging(values) { $1 }.merging(["EVENT": event]) { $1 }
        guard let problem = ChildProcess.problem(of: command, with: environment(values), stop: stop) else { return }
        let message =
            "The command of --on-event \(problem) at the event \(event)"
            + (values["PHASE"].map { " (\($0))." } ?? ".")
        guard isStopping else { return console.warn(message) }
        stop.request(
            FerryError(
                .eventCommandFailed, message + " The migration was stopped and the store is unchanged.",
                remedy: "Check the command's output above, and run the same command again to continue."))
    }

    /// The environment of this process with the command's variables, as `NAME=VALUE`.
    private func environment(_ values: [String: String]) -> [String] {
        let own = Self.variables.map { ("FERRY_\($0)", values[$0] ?? "") }
        return ProcessInfo.processInfo.environment.merging(own) { $1 }.map { "\($0)=\($1)" }
    }
}
