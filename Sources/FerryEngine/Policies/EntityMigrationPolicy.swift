internal import FerryBase
internal import FerryExpression
package import FerryMapping
internal import FerrySQLite

/// The code behind an entity mapping, in place of an `NSEntityMigrationPolicy`.
///
/// It has Core Data's hooks under Core Data's names; what it does not implement does what Core Data's own class does.
/// An implementation that would call `super` calls ``defaultPolicy`` instead:
///
/// ```swift
/// struct BookPolicy: EntityMigrationPolicy {
///     func createDestinationInstances(
///         forSource source: SourceObject, in mapping: PolicyEntityMapping, manager: MigrationManager
///     ) throws {
///         try defaultPolicy.createDestinationInstances(forSource: source, in: mapping, manager: manager)
///         let book = try manager.destinationInstances(
///             forEntityMappingName: mapping.name, sourceInstances: [source])[0]
///         try book.setValue(.string(source.string(forKey: "title") ?? "Untitled"), forKey: "heading")
///     }
/// }
/// ```
///
/// A run that was stopped goes on in another process, with another instance of the policy, and ``begin(_:with:)`` is
/// not called again. What later calls need belongs into ``MigrationManager/setUserInfo(_:forKey:)`` or a
/// ``MigrationManager/lookup(_:)``, not into properties. Everything that the hooks write is committed with the chunk.
public protocol EntityMigrationPolicy {
    /// Before the first object of the mapping.
    func begin(_ mapping: PolicyEntityMapping, with manager: MigrationManager) throws

    /// Makes what is to be made of one source object, and associates it.
    func createDestinationInstances(
        forSource source: SourceObject, in mapping: PolicyEntityMapping, manager: MigrationManager
    ) throws

    /// After the last object of the mapping.
    func endInstanceCreation(forMapping mapping: PolicyEntityMapping, manager: MigrationManager) throws

    /// Relates one object that is associated with the mapping, once all objects of all mappings are there.
    func createRelationships(
        forDestination destination: DestinationObject, in mapping: PolicyEntityMapping, manager: MigrationManager
    ) throws

    /// After the last object of the mapping is related.
    func endRelationshipCreation(forMapping mapping: PolicyEntityMapping, manager: MigrationManager) throws

    /// Once all objects are related.
    func performCustomValidation(forMapping mapping: PolicyEntityMapping, manager: MigrationManager) throws

    /// After everything else.
    func end(_ mapping: PolicyEntityMapping, manager: MigrationManager) throws

    /// What expressions can call: `FUNCTION($entityPolicy, "selector:", …)` by its selector, `$entityPolicy.key` by its
    /// key.
    var functions: [String: PolicyFunction] { get }
}

/// A function of a policy that expressions call.
///
/// The arguments come as SQLite holds them: a date in seconds since 2001-01-01 UTC, a Boolean as an integer, a UUID as
/// its 16 bytes.
public typealias PolicyFunction = (_ arguments: [MigrationValue]) throws -> MigrationValue

extension EntityMigrationPolicy {
    /// What Core Data's own class does, for an implementation that adds to it.
    public var defaultPolicy: DefaultMigrationPolicy { DefaultMigrationPolicy() }

    /// Does nothing.
    public func begin(_ mapping: PolicyEntityMapping, with manager: MigrationManager) throws {}

    /// Does what ``defaultPolicy`` does.
    public func createDestinationInstances(
        forSource source: SourceObject, in mapping: PolicyEntityMapping, manager: MigrationManager
    ) throws {
        try defaultPolicy.createDestinationInstances(forSource: source, in: mapping, manager: manager)
    }

    /// Does nothing.
    public func endInstanceCreation(forMapping mapping: PolicyEntityMapping, manager: MigrationManager) throws {}

    /// Does what ``defaultPolicy`` does.
    public func createRelationships(
        forDestination destination: DestinationObject, in mapping: PolicyEntityMapping, manager: MigrationManager
    ) throws {
        // Only where a type has no code of its own does this code run for it.
        manager.policyWithoutRelating = Self.self
        try defaultPolicy.createRelationships(forDestination: destination, in: mapping, manager: manager)
    }

    /// Does nothing.
    public func endRelationshipCreation(forMapping mapping: PolicyEntityMapping, manager: MigrationManager) throws {}

    /// Does nothing.
    public func performCustomValidation(forMapping mapping: PolicyEntityMapping, manager: MigrationManager) throws {}

    /// Does nothing.
    public func end(_ mapping: PolicyEntityMapping, manager: MigrationManager) throws {}

    public var functions: [String: PolicyFunction] { [:] }
}

/// What Core Data's own migration policy does.
public struct DefaultMigrationPolicy: EntityMigrationPolicy {
    public init() {}

    /// Inserts an object of the destination entity with the values of the attribute mappings, and associates it.
    public func createDestinationInstances(
        forSource source: SourceObject, in mapping: PolicyEntityMapping, manager: MigrationManager
    ) throws {
        let destination = try manager.insertDefault(forSource: source, in: mapping)
        try manager.associate(sourceInstance: source, withDestinationInstance: destination, for: mapping)
    }

    /// Sets the relationships that the relationship mappings give.
    public func createRelationships(
        forDestination destination: DestinationObject, in mapping: PolicyEntityMapping, manager: MigrationManager
    ) throws {
        try manager.relateDefault(destination, in: mapping)
    }
}

/// Makes one instance of a migration policy.
public typealias PolicyFactory = @Sendable () -> any EntityMigrationPolicy

/// The migration policies of a program, by the class names that mapping models use.
package struct PolicyRegistry: Sendable {
    private let factories: [String: PolicyFactory]
    /// Their names, and what they offer to expressions.
    package let known: KnownPolicies

    package init(_ factories: [String: PolicyFactory] = [:]) {
        self.factories = factories
        known = KnownPolicies(factories.mapValues { Set($0().functions.keys) })
    }

    /// A new instance of a policy.
    func make(_ name: String) -> (any EntityMigrationPolicy)? { factories[name]?() }
}

/// An entity mapping as its policy sees it.
public final class PolicyEntityMapping {
    let resolved: ResolvedEntityMapping
    /// Whether a policy may have set a value for one source object.
    @exclusivity(unchecked) private(set) var isSubstituted = false
    /// The attribute mappings, by the names of the destination's attributes.
    public let attributeMappings: [PolicyPropertyMapping]
    /// The relationship mappings, by the names of the destination's relationships.
    public let relationshipMappings: [PolicyPropertyMapping]

    public var name: String { resolved.name }
    public var sourceEntityName: String { resolved.source }
    public var destinationEntityName: String { resolved.destination }
    /// Whether the first object that is made of a source object has its key.
    let keepsPrimaryKeys: Bool
    /// What the mapping model's author wrote beside the mapping.
    public var userInfo: [String: String] { resolved.userInfo }

    init(_ resolved: ResolvedEntityMapping) {
        self.resolved = resolved
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
