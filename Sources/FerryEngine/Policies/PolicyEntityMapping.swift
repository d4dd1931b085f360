internal import FerryExpression
internal import FerryMapping

/// An entity mapping as its policy sees it.
public final class PolicyEntityMapping {
    let resolved: ResolvedEntityMapping
    /// Whether a policy may have set a value for one source object.
    @exclusivity(unchecked) private(set) var isSubstituted = false
    /// The attribute mappings, by the names of the destination's attributes.
    public let attributeMappings: [PolicyPropertyMapping]
    /// The relationship mappings, by the names of the destination's relationships.
    public let relationshipMappings: [PolicyPropertyMapping]

    public let name: String
    public let sourceEntityName: String
    public let destinationEntityName: String
    /// Whether the first object that is made of a source object has its key.
    let keepsPrimaryKeys: Bool
    /// What the mapping model's author wrote beside the mapping.
    public var userInfo: [String: String] { resolved.userInfo }

    init(_ resolved: ResolvedEntityMapping) {
        self.resolved = resolved
        name = resolved.name
        sourceEntityName = resolved.source
        destinationEntityName = resolved.destination
        keepsPrimaryKeys = resolved.policyKeepsPrimaryKeys
        attributeMappings = resolved.attributes.map {
            PolicyPropertyMapping(name: $0.name, valueExpression: $0.expression?.description)
        }
        relationshipMappings = resolved.relationships.map {
            PolicyPropertyMapping(name: $0.name, valueExpression: $0.from.description)
        }
        for mapping in attributeMappings { mapping.owner = self }
    }

    /// The attribute mapping of a destination attribute.
    public func attributeMapping(named name: String) -> PolicyPropertyMapping? {
        attributeMappings.first { $0.name == name }
    }

    fileprivate func substitutes() { isSubstituted = true }

    /// Takes back what a policy set for one source object.
    func resetValues() {
        guard isSubstituted else { return }
        for mapping in attributeMappings where mapping.substitute != nil { mapping.substitute = nil }
        isSubstituted = false
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
    public var substitute: Substitute? { didSet { owner?.substitutes() } }
    fileprivate weak var owner: PolicyEntityMapping?

    init(name: String, valueExpression: String?) {
        self.name = name
        self.valueExpression = valueExpression
    }
}
