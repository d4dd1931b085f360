internal import FerryBase

/// The outcomes of all kills, phase by phase.
struct KillTally {
    private var outcomes: [(phase: Phase, job: KillJob.Kind, outcome: AimedKill.Outcome)] = []

    mutating func add(_ outcome: AimedKill.Outcome, of kill: AimedKill) {
        outcomes.append((kill.phase, kill.job.kind, outcome))
    }

    /// Returns the number of kills in a phase.
    func count(in phase: Phase) -> Int { outcomes.count { $0.phase == phase } }

    /// Returns the table of phases and outcomes, in Markdown.
    func lines(of phases: [Phase]) -> [String] {
        let headings =
            ["phase", "kills"] + AimedKill.Found.allCases.map(\.rawValue) + ["went on", "same destination"]
        var lines = [Self.row(headings), Self.row(headings.map { _ in "---" })]
        for phase in phases {
            lines.append(Self.row([phase.rawValue] + numbers(outcomes.filter { $0.phase == phase }.map(\.outcome))))
        }
        lines.append(Self.row(["all"] + numbers(outcomes.map(\.outcome))))
        let jobs = KillJob.Kind.allCases.map { kind in "\(kind.rawValue) \(outcomes.count { $0.job == kind })" }
        return lines + ["", "Kills by job: " + jobs.joined(separator: ", ") + "."]
    }

    private func numbers(_ outcomes: [AimedKill.Outcome]) -> [String] {
        let found = AimedKill.Found.allCases.map { kind in outcomes.count { $0.found == kind } }
        return ([outcomes.count] + found + [outcomes.count(where: \.isResumed), outcomes.count(where: \.endsTheSame)])
            .map(String.init)
    }

    private static func row(_ cells: [String]) -> String { "| " + cells.joined(separator: " | ") + " |" }
}
