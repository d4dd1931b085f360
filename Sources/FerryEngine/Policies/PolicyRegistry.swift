package import FerryMapping

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
