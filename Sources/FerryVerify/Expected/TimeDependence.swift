internal import FerryBase
internal import FerryExpression
internal import FerryMapping

extension Expression {
    /// Whether `now()` is a part of it.
    var asksForTime: Bool {
        switch self {
        case .predefined("now", _): true
        case .predefined(_, let arguments): arguments.contains(where: \.asksForTime)
        case .function(let receiver, _, let arguments): ([receiver] + arguments).contains(where: \.asksForTime)
        case .keyPath(let base, _): base.asksForTime
        case .json(let operand, _): operand.asksForTime
        case .constant, .evaluatedObject, .variable: false
        }
    }
}

extension Predicate {
    /// Whether `now()` is a part of it.
    var asksForTime: Bool {
        switch self {
        case .constant: false
        case .comparison(let comparison): comparison.left.asksForTime || comparison.right.asksForTime
        case .and(let parts), .or(let parts): parts.contains(where: \.asksForTime)
        case .not(let part): part.asksForTime
        }
    }
}

extension ResolvedStep {
    /// Without the run's `now()`, values that it gave are not compared; but what decides which objects there are must
    /// be known.
    ///
    /// - Throws: `unsupported` naming the entity mapping.
    func checkNeedsNoTime() throws(FerryError) {
        for mapping in entityMappings {
            let deciding = mapping.attributes.filter { mapping.unique.contains($0.name) }
            guard
                mapping.filter?.asksForTime == true || mapping.iteration?.elements.asksForTime == true
                    || mapping.relationships.contains(where: { $0.from.asksForTime })
                    || deciding.contains(where: { $0.expression?.asksForTime == true })
            else { continue }
            throw FerryError(
                .unsupported,
                "Which objects the entity mapping \(mapping.name) makes depends on now(), and the run's time is not known.",
                remedy: "Verify with the store's ferry-log.json beside it.",
                place: .init(entity: mapping.destination))
        }
    }
}
