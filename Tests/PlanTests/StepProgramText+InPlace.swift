import FerryMapping
import FerryModel
import FerryStore

@testable import FerryPlan

extension StepProgram {
    /// A program in place as text that changes only with it.
    func textInPlace(of step: ResolvedStep, from source: StoreLayout) -> String {
        var lines = ["tables"]
        for move in moves.tables {
            lines.append("  \(move.destination.name): \(move.text)")
            for rows in move.rows {
                lines.append(
                    "    \(step.entityMappings[rows.position].name), \(rows.numbers.old) to \(rows.numbers.new)")
                for slot in move.slots {
                    guard let value = slot.values[rows.position] else { continue }
                    lines.append("      \(slot.column.name): \(value.text(in: source))")
                }
            }
        }
        if !moves.joinTables.isEmpty { lines.append("join tables") }
        lines += moves.joinTables.map { "  \($0.destination.name): \($0.text)" }
        if !moves.droppedHistory.isEmpty { lines.append("dropped history") }
        lines += moves.droppedHistory.map { "  \(source.entitiesByNumber[$0] ?? ""): \($0)" }
        lines += ["statements"] + operations.filter(\.altersTables).flatMap(\.statements).map(\.text)
        let closing = operations.filter { !$0.altersTables }.flatMap(\.statements)
        if !closing.isEmpty { lines += ["closing"] + closing.map(\.text) }
        return (lines + ["written"] + moves.touched.sorted().map { "  \($0)" }).joined(separator: "\n") + "\n"
    }
}

extension TableMove {
    fileprivate var text: String {
        let old = source?.name ?? ""
        return switch way {
        case .alter: "\(old), altered"
        case .rebuild(let reason): "from \(old), since \(reason)"
        case .create: "empty"
        }
    }
}

extension JoinMove {
    fileprivate var text: String {
        switch way {
        case .alter(let old): "\(old.name), altered"
        case .rebuild(let old, _): "from \(old)"
        case .create: "empty"
        }
    }
}

extension SlotValue {
    fileprivate func text(in source: StoreLayout) -> String {
        var values = Parameters()
        return sql(in: source, &values) + values.values.text
    }
}

extension ProgramStatement {
    fileprivate var text: String {
        "  \(sql.text)\(sql.parameters.values.text)"
    }
}

extension [Parameters.Named] {
    fileprivate var text: String {
        isEmpty ? "" : " [\(map { "\($0.name) \($0.value.text)" }.joined(separator: ", "))]"
    }
}

extension Parameters.Value {
    fileprivate var text: String {
        switch self {
        case .stored(let value): "\(value)"
        case .now: "now"
        case .evaluator(let bound): "\(bound)"
        case .null: "nil"
        }
    }
}
