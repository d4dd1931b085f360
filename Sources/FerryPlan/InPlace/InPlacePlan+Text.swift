package import FerryMapping
internal import FerryModel
internal import FerryStore

extension InPlacePlan {
    /// The plan as text that changes only with the plan, for tests and for reading.
    package func text(of step: ResolvedStep) -> String {
        var lines = ["tables"]
        for move in tables {
            lines.append("  \(move.destination.name): \(move.text)")
            for rows in move.rows {
                lines.append(
                    "    \(step.entityMappings[rows.position].name), \(rows.numbers.old) to \(rows.numbers.new)")
                for slot in move.slots {
                    guard let value = slot.values[rows.position] else { continue }
                    lines.append("      \(slot.column.name): \(value.text)")
                }
            }
        }
        if !joinTables.isEmpty { lines.append("join tables") }
        lines += joinTables.map { "  \($0.destination.name): \($0.text)" }
        if !droppedHistory.isEmpty { lines.append("dropped history") }
        lines += droppedHistory.map { "  \($0.entity): \($0.sql)" }
        lines += ["statements"] + statements.map(\.text)
        if !closing.isEmpty { lines += ["closing"] + closing.map(\.text) }
        return (lines + ["written"] + touched.sorted().map { "  \($0)" }).joined(separator: "\n") + "\n"
    }
}

extension TableMove {
    fileprivate var text: String {
        let old = source?.name ?? ""
        return switch way {
        case .alter: "\(old), altered"
        case .rebuild(let reason): "from \(old), since \(reason)"
        case .split: "beside \(old)"
        case .create: "empty"
        }
    }
}

extension JoinMove {
    fileprivate var text: String {
        switch way {
        case .alter(let old): "\(old.name), altered"
        case .rebuild(let old, _): "from \(old.name)"
        case .keys(let rows): "from " + rows.map { "\($0.table).\($0.key) of \($0.number)" }.joined(separator: ", ")
        case .create: "empty"
        }
    }
}

extension SlotValue {
    fileprivate var text: String {
        var values = Parameters()
        return sql(&values) + values.values.text
    }
}

extension ProgramStatement {
    fileprivate var text: String {
        "  \(sql.text)\(sql.parameters.values.text)" + (countedEntity.map { ", counts \($0)" } ?? "")
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
        case .deep(let deep): "\(deep)"
        case .null: "nil"
        }
    }
}
