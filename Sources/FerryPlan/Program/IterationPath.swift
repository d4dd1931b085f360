package import FerryExpression
package import FerryMapping
package import FerryModel

/// The relationships that an iteration follows from `$source`, the last of which gives the elements.
package enum IterationPath {
    package static func relationships(of elements: Expression) -> [String]? {
        guard case .keyPath(let base, let steps) = elements else { return nil }
        switch base {
        case .variable("source"), .evaluatedObject: break
        default: return nil
        }
        var names: [String] = []
        for case .key(let name) in steps { names.append(name) }
        return names.count == steps.count ? names : nil
    }

    /// The entity of the elements, or nil when the mapping iterates over nothing or over JSON.
    package static func entity(of mapping: ResolvedEntityMapping, in model: ManagedObjectModel) -> String? {
        guard let iteration = mapping.iteration else { return nil }
        guard let names = relationships(of: iteration.elements) else {
            let checker = ExpressionChecker(scope: ExpressionScope(model: model, entity: mapping.source))
            do {
                guard case .object(let entity) = try checker.checkElements(iteration.elements) else { return nil }
                return entity
            } catch {
                // The mapping's check refused it, with its place.
                return nil
            }
        }
        var entity = mapping.source
        for name in names {
            guard let relationship = model.relationship(name, of: entity) else { return nil }
            entity = relationship.destinationEntity
        }
        return entity
    }
}
