import FerryExpression
import FerryMapping
import FerryPlan
import FerryStore

extension StepProgram {
    /// The program in lines that stay the same as long as it does.
    func text(of step: ResolvedStep) -> String {
        var lines = ["keys"]
        for mapping in step.entityMappings {
            lines.append("  \(mapping.name): \(fills.keys[mapping.position].text(in: step))")
        }
        lines.append("columns")
        for mapping in step.entityMappings {
            lines.append("  \(mapping.name)")
            for column in fills.columns[mapping.position] { lines.append("    \(column.name): \(column.source.text)") }
        }
        lines.append("relationships")
        for assignment in fills.relationships {
            lines.append("  \(assignment.declared.title) in \(assignment.storage.text)")
            for contribution in assignment.contributions { lines.append("    \(contribution.text)") }
        }
        if !fills.joinTables.isEmpty { lines.append("join tables") }
        for fill in fills.joinTables {
            lines.append("  \(fill.table.name): " + (fill.origin.map { "as \($0.name)" } ?? fill.order.rawValue))
        }
        lines.append("operations")
        for operation in operations {
            lines.append("  \(operation.unit)")
        }
        return lines.joined(separator: "\n") + "\n"
    }
}

extension KeyRule {
    fileprivate func text(in step: ResolvedStep) -> String {
        var parts: [String] = []
        if !earlierMakers.isEmpty {
            parts.append("after those of " + earlierMakers.map { step.entityMappings[$0].name }.joined(separator: ", "))
        }
        if !counted.isEmpty { parts.append("counts those of " + counted.joined(separator: ", ")) }
        if storesAssociations { parts.append("associations") }
        return parts.isEmpty ? "-" : parts.joined(separator: "; ")
    }
}

extension ColumnSource {
    fileprivate var text: String {
        switch self {
        case .column(let column): column
        case .constant(let value): "constant \(value)"
        case .expression(let expression): "`\(expression.expression)`"
        }
    }
}

extension RelationshipContribution {
    fileprivate var text: String {
        var text = "\(mapping.name) to \(rule.mappings.joined(separator: ", ")), "
        text += origin.map { "from \($0.name) in \($0.storage.text)" } ?? "by a rule"
        switch key {
        case .afterRows: text += ", after the rows"
        case .column(let column): text += ", key \(column)"
        case .lookedUp: text += ", key looked up"
        case .counted: text += ", key counted"
        }
        let orders = [copied.related ? "related" : nil, copied.own ? "own" : nil].compactMap { $0 }
        return orders.isEmpty ? text : text + ", positions \(orders.joined(separator: ", "))"
    }
}

extension RelationshipStorage {
    fileprivate var text: String {
        switch self {
        case .foreignKey(let table, let column, _, _): "\(table).\(column)"
        case .inverseForeignKey(let table, let column, _, _), .inverseless(let table, let column):
            "\(table).\(column) of the other side"
        case .join(let table, let own, let other, _, _): "\(table) (\(own), \(other))"
        }
    }
}
