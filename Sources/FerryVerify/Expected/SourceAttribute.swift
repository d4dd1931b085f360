internal import FerryExpression
internal import FerryMapping
internal import FerryModel

/// An expression that is nothing but an attribute at the end of a path in the source.
struct SourceAttribute {
    var attribute: Attribute
    var object: Expression
    var isOwn: Bool

    init?(_ expression: Expression, _ mapping: ResolvedEntityMapping, _ model: ManagedObjectModel) {
        guard case .keyPath(let base, let steps) = expression, let keys = steps.keys,
            var entity = SourceAttribute.entity(of: base, mapping, model)
        else { return nil }
        // Relationships first; the other keys name an attribute, or an element of a composite.
        let hops = keys.prefix { name in
            guard let relationship = model.relationship(name, of: entity) else { return false }
            entity = relationship.destinationEntity
            return true
        }
        let name = keys.dropFirst(hops.count).joined(separator: ".")
        guard let attribute = model.attribute(name, of: entity), !attribute.isTransient, attribute.type != .composite
        else { return nil }
        self.attribute = attribute
        object = hops.isEmpty ? base : .keyPath(base, Array(steps.prefix(hops.count)))
        isOwn = hops.isEmpty && (base == .variable("source") || base == .evaluatedObject)
    }

    private static func entity(
        of base: Expression, _ mapping: ResolvedEntityMapping, _ model: ManagedObjectModel
    ) -> String? {
        switch base {
        case .evaluatedObject, .variable("source"): return mapping.source
        case .variable(let name):
            guard let iteration = mapping.iteration, iteration.variable == name,
                case .keyPath(let start, let steps) = iteration.elements,
                start == .variable("source") || start == .evaluatedObject
            else { return nil }
            var entity = mapping.source
            for case .key(let name) in steps {
                guard let relationship = model.relationship(name, of: entity) else { return nil }
                entity = relationship.destinationEntity
            }
            return entity
        default: return nil
        }
    }
}
