internal import FerryBase
internal import FerryExpression
internal import FerryMapping

extension Expression {
    /// Whether the expression contains `now()`, or a random number, which depends on `now()`.
    var dependsOnTime: Bool {
        contains { if case .predefined(let name, _) = $0 { name == "now" || name.hasPrefix("random") } else { false } }
    }
}

extension Predicate {
    var dependsOnTime: Bool { parts.contains(where: \.dependsOnTime) }
}

extension ResolvedStep {
    /// Checks that no object's existence depends on `now()`, since the run's time is not known.
    ///
    /// - Throws: `unsupported` naming the entity mapping.
    func checkNeedsNoTime() throws(FerryError) {
        for mapping in entityMappings {
            let deciding = mapping.attributes.filter { mapping.unique.contains($0.name) }
            guard
                mapping.filter?.dependsOnTime == true || mapping.iteration?.elements.dependsOnTime == true
                    || mapping.relationships.contains(where: { $0.from.dependsOnTime })
                    || deciding.contains(where: { $0.expression?.dependsOnTime == true })
            else { continue }
            throw FerryError(
                .unsupported,
                "Which objects the entity mapping \(mapping.name) creates depends on now(), and the time of the migration is not known.",
                remedy: "Verify with the store's ferry-log.json next to it.",
                place: .init(entity: mapping.destination))
        }
    }
}
