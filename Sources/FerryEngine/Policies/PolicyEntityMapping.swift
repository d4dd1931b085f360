internal import FerryExpression
internal import FerryMapping

/// An entity mapping as its policy sees it.
public final class PolicyEntityMapping {
    let resolved: ResolvedEntityMapping
    /// The attribute mappings, by the names of the destination's attributes.
    public let attributeMappings: [PolicyPropertyMapping]
    /// The relationship mappings, by the names of the destination's relationships.
    public let relationshipMappings: [PolicyPropertyMapping]

    public var name: String { resolved.name }
    public var sourceEntityName: String { resolved.source }
    public var destinationEntityName: String { resolved.destination }
    /// What the mapping model's author wrote beside the mapping.
    public var userInfo: [String: String] { resolved.userInfo }

    init(_ resolved: ResolvedEntityMapping) {
        self.resolved = resolved
        attributeMappings = resolved.attributes.map {
            PolicyPropertyMapping(name: $0.name, valueExpression: $0.expression?.description)
        }
        relationshipMappings = resolved.relationships.map {
            PolicyPropertyMapping(name: $0.name, valueExpression: $0.from.description)
        }
    }

    /// The attribute mapping of a destination attribute.
    public func attributeMapping(named name: String) -> PolicyPropertyMapping? {
        attributeMappings.first { $0.name == name }
    }

    /// Takes back what a policy set for one source object.
    func resetValues() {
        for mapping in attributeMappings where mapping.substitute != nil { mapping.substitute = nil }
    }
}

/// What an entity mapping gives to one property.
public final class PolicyPropertyMapping {
    public enum Substitute: Sendable, Hashable {
        case constant(MigrationValue)
        /// An expression in the language of mapping models, over `$source`.
        case expression(String)
    }

    public let name: String
    /// The expression of the mapping model as text; nil where the property keeps its default.
    public let valueExpression: String?
    /// Takes the expression's place for the source object at work; the next one begins with the mapping model's again.
    ///
    /// Set before the default policy makes the object. It has no effect on relationships.
    public var substitute: Substitute?

    init(name: String, valueExpression: String?) {
        self.name = name
        self.valueExpression = valueExpression
    }
}
