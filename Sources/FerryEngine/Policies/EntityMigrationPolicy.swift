internal import FerryExpression
package import FerryMapping

/// The code of an entity mapping, in place of an `NSEntityMigrationPolicy`.
///
/// The hooks have Core Data's names; a hook without an implementation does what `NSEntityMigrationPolicy` does. An
/// implementation that would call `super` calls ``defaultPolicy`` instead:
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
/// A stopped run resumes in another process, with another instance of the policy, and ``begin(_:with:)`` is not called
/// again. Values that later calls need belong in ``MigrationManager/setUserInfo(_:forKey:)`` or a
/// ``MigrationManager/lookup(_:)``, not in properties. SQLite commits everything that the hooks write with the chunk.
public protocol EntityMigrationPolicy {
    /// Runs before the first object of the mapping.
    func begin(_ mapping: PolicyEntityMapping, with manager: MigrationManager) throws

    /// Creates the destination objects of one source object, and associates them.
    func createDestinationInstances(
        forSource source: SourceObject, in mapping: PolicyEntityMapping, manager: MigrationManager
    ) throws

    /// Runs after the last object of the mapping.
    func endInstanceCreation(forMapping mapping: PolicyEntityMapping, manager: MigrationManager) throws

    /// Sets the relationships of one associated object, once all mappings have created their objects.
    func createRelationships(
        forDestination destination: DestinationObject, in mapping: PolicyEntityMapping, manager: MigrationManager
    ) throws

    /// Runs after the relationships of the mapping's last object.
    func endRelationshipCreation(forMapping mapping: PolicyEntityMapping, manager: MigrationManager) throws

    /// Runs once all relationships are set.
    func performCustomValidation(forMapping mapping: PolicyEntityMapping, manager: MigrationManager) throws

    /// Runs last.
    func end(_ mapping: PolicyEntityMapping, manager: MigrationManager) throws

    /// The functions of expressions: `FUNCTION($entityPolicy, "selector:", …)` by selector, `$entityPolicy.key` by key.
    var functions: [String: PolicyFunction] { get }
}

/// A function of a policy that expressions call.
///
/// The arguments have SQLite's form: a date in seconds since 2001-01-01 UTC, a Boolean as integer, a UUID as 16 bytes.
public typealias PolicyFunction = (_ arguments: [MigrationValue]) throws -> MigrationValue

extension EntityMigrationPolicy {
    /// The behaviour of `NSEntityMigrationPolicy`, for an implementation that adds to it.
    public var defaultPolicy: DefaultMigrationPolicy { DefaultMigrationPolicy() }

    /// Does nothing.
    public func begin(_ mapping: PolicyEntityMapping, with manager: MigrationManager) throws {}

    /// Calls ``defaultPolicy``.
    public func createDestinationInstances(
        forSource source: SourceObject, in mapping: PolicyEntityMapping, manager: MigrationManager
    ) throws {
        try defaultPolicy.createDestinationInstances(forSource: source, in: mapping, manager: manager)
    }

    /// Does nothing.
    public func endInstanceCreation(forMapping mapping: PolicyEntityMapping, manager: MigrationManager) throws {}

    /// Calls ``defaultPolicy``.
    public func createRelationships(
        forDestination destination: DestinationObject, in mapping: PolicyEntityMapping, manager: MigrationManager
    ) throws {
        // Runs only for a type without its own implementation.
        manager.policyWithoutRelationships = Self.self
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

/// The behaviour of `NSEntityMigrationPolicy`.
public struct DefaultMigrationPolicy: EntityMigrationPolicy {
    public init() {}

    /// Inserts an object of the destination entity with the values of the attribute mappings, and associates it.
    public func createDestinationInstances(
        forSource source: SourceObject, in mapping: PolicyEntityMapping, manager: MigrationManager
    ) throws {
        let destination = try manager.insertDefault(forSource: source, in: mapping)
        try manager.associate(sourceInstance: source, withDestinationInstance: destination, for: mapping)
    }

    /// Sets the relationships of the relationship mappings.
    public func createRelationships(
        forDestination destination: DestinationObject, in mapping: PolicyEntityMapping, manager: MigrationManager
    ) throws {
        try manager.relateDefault(destination, in: mapping)
    }
}

/// Makes one instance of a migration policy.
public typealias PolicyFactory = @Sendable () -> any EntityMigrationPolicy

/// The migration policies of an app, by the class names in mapping models.
package struct PolicyRegistry: Sendable {
    private let factories: [String: PolicyFactory]
    /// The policies' names and functions.
    package let known: KnownPolicies

    package init(_ factories: [String: PolicyFactory] = [:]) {
        self.factories = factories
        known = KnownPolicies(factories.mapValues { Set($0().functions.keys) })
    }

    func make(_ name: String) -> (any EntityMigrationPolicy)? { factories[name]?() }
}

/// The entity mapping of a policy.
public final class PolicyEntityMapping {
    let resolved: ResolvedEntityMapping
    /// Whether a policy may have replaced an expression for one source object.
    @exclusivity(unchecked) private(set) var isSubstituted = false
    /// The attribute mappings, by the names of the destination's attributes.
    public let attributeMappings: [PolicyPropertyMapping]
    /// The relationship mappings, by the names of the destination's relationships.
    public let relationshipMappings: [PolicyPropertyMapping]

    public var name: String { resolved.name }
    public var sourceEntityName: String { resolved.source }
    public var destinationEntityName: String { resolved.destination }
    /// Whether the first object of each source object keeps its `Z_PK`.
    let keepsPrimaryKeys: Bool
    /// The user info of the entity mapping in the mapping model.
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

    func resetValues() {
        guard isSubstituted else { return }
        for mapping in attributeMappings where mapping.substitute != nil { mapping.substitute = nil }
        isSubstituted = false
    }
}

/// The mapping of one property.
public final class PolicyPropertyMapping {
    public enum Substitute: Sendable, Hashable {
        case constant(MigrationValue)
        /// An expression in the language of mapping models, over `$source`.
        case expression(String)
    }

    public let name: String
    /// The text of the mapping model's expression; nil if the property keeps its default.
    public let valueExpression: String?
    /// Replaces the expression for the current source object; the next source object gets the expression again.
    ///
    /// Set the substitute before the default policy creates the object. Substitutes have no effect on relationships.
    public var substitute: Substitute? { didSet { owner?.substitutes() } }
    fileprivate weak var owner: PolicyEntityMapping?

    init(name: String, valueExpression: String?) {
        self.name = name
        self.valueExpression = valueExpression
    }
}
