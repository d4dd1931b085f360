import FerryBase
import FerryExpression
import FerryMapping
import FerryModel

/// The text form of a resolution, for goldens.
func text(of resolution: MappingResolution) -> String {
    let step = resolution.step
    var lines = ["\(step.source.qualifiedName) -> \(step.destination.qualifiedName)"]
    for mapping in step.entityMappings {
        var head = "\(mapping.name): \(mapping.source) -> \(mapping.destination)"
        if mapping.keepsPrimaryKey { head += ", keeps keys" }
        if let filter = mapping.filter { head += ", where \(filter)" }
        if let iteration = mapping.iteration { head += ", for each $\(iteration.variable) of \(iteration.elements)" }
        if !mapping.unique.isEmpty { head += ", unique by \(mapping.unique.joined(separator: ", "))" }
        lines.append(head)
        for attribute in mapping.attributes {
            lines.append("    \(attribute.name) = \(attribute.expression?.description ?? "default")")
        }
        for relationship in mapping.relationships {
            let mappings = relationship.mappings.joined(separator: ", ")
            lines.append(
                "    \(relationship.name) <- [\(mappings)] of \(relationship.from)"
                    + (relationship.isAutomatic ? "" : ", explicit"))
        }
    }
    lines += step.warnings.map { "warning: \($0.message)" }
    lines += resolution.needsRowCheck.map { "needs no rows: \($0.entityMapping): \($0.entity).\($0.attribute)" }
    lines += resolution.problems.map { "refused: \($0.code): \($0.message)" }
    return lines.joined(separator: "\n") + "\n"
}
