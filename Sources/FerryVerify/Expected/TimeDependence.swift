internal import FerryBase
internal import FerryExpression
internal import FerryMapping

extension Expression {
    /// Whether `now()` is a part of it, or a number that is drawn by the run's time.
    var asksForTime: Bool {
        if case .predefined("now", _) = self { return true }
        if case .predefined(let selector, _) = self, selector.hasPrefix("random") { return true }
        return parts.contains(where: \.asksForTime)
    }
}

extension Predicate {
    /// Whether `now()` is a part of it.
    var asksForTime: Bool { parts.contains(where: \.asksForTime) }
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
