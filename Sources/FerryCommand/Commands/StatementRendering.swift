internal import Ferry
internal import FerryBase

/// The statements of a plan as an SQL script with comments, and as JSON.
struct StatementRendering {
    let steps: [PlannedStatements]

    var json: JSON {
        .list(steps) { step in
            [
                "step": step.step, "from": step.from, "to": step.to, "inPlace": step.isInPlace,
                "groups": JSON.list(step.groups, json),
            ]
        }
    }

    private func json(_ group: PlannedStatements.Group) -> JSON {
        [
            "phase": group.phase?.rawValue, "reason": group.reason,
            "statements": JSON.list(group.statements) { statement in
                let parameters = statement.parameters.map { ($0.name, JSON.string($0.value)) }
                return [
                    "sql": statement.sql, "form": statement.form.rawValue, "parameters": JSON.object(parameters),
                ]
            },
        ]
    }

    /// The script; statements keep their own lines at any width.
    var text: [String] {
        if steps.isEmpty { return ["-- The store already has the target version: there is nothing to run."] }
        return steps.flatMap { lines(of: $0) }
    }

    private func lines(of step: PlannedStatements) -> [String] {
        var lines = step.step == 1 ? [] : [""]
        lines.append("-- Step \(step.step) of \(steps.count): \(Self.comment(step.from)) to \(Self.comment(step.to)).")
        if step.isInPlace {
            lines.append("-- In place, in one transaction; checks run before its COMMIT.")
        } else {
            lines += [
                "-- main is the new store, source the old one; scratch contains associations and lookups.",
                "-- A chunk contains the rows with keys above :low, up to :high; :last is the last key of all.",
            ]
        }
        for group in step.groups {
            lines += ["", "-- " + Self.comment(group.reason ?? "tables") + Self.form(of: group.statements)]
            for statement in group.statements {
                lines += (statement.sql + (statement.sql.hasSuffix(";") ? "" : ";"))
                    .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
                lines += statement.parameters.map { "--   \($0.name) = \(Self.comment($0.value))" }
            }
        }
        return lines
    }

    /// How a group's statements run, for its heading.
    private static func form(of statements: [PlannedStatements.Statement]) -> String {
        if statements.contains(where: { $0.form == .rows }) { return ", row by row" }
        return statements.contains { $0.form == .chunks } ? ", in chunks" : ""
    }

    /// A text for a comment of one line.
    private static func comment(_ text: String) -> String {
        String(text.map { $0.isNewline ? " " : $0 })
    }
}
