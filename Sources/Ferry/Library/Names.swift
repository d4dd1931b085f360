// The types of settings, errors and events: `import Ferry` suffices, also for their members.
@_exported public import FerryBase
public import FerryEngine
package import FerryMapping
public import Foundation

// Types that migration policies use.
public typealias DefaultMigrationPolicy = FerryEngine.DefaultMigrationPolicy
public typealias DestinationObject = FerryEngine.DestinationObject
public typealias EntityMigrationPolicy = FerryEngine.EntityMigrationPolicy
public typealias MigrationManager = FerryEngine.MigrationManager
public typealias MigrationValue = FerryEngine.MigrationValue
public typealias PolicyEntityMapping = FerryEngine.PolicyEntityMapping
public typealias PolicyFactory = FerryEngine.PolicyFactory
public typealias PolicyFunction = FerryEngine.PolicyFunction
public typealias PolicyLookup = FerryEngine.PolicyLookup
public typealias PolicyPropertyMapping = FerryEngine.PolicyPropertyMapping
public typealias SourceObject = FerryEngine.SourceObject

extension KnownPolicies {
    /// The functions of registered policies, for mapping models.
    package init(registered policies: [String: PolicyFactory]) { self = PolicyRegistry(policies).known }
}

// The texts for Foundation and for the alerts of AppKit and UIKit. They are English.
extension FerryBase.FerryError: LocalizedError {
    public var errorDescription: String? { message }

    public var recoverySuggestion: String? { remedy.isEmpty ? nil : remedy.description }

    /// The message of the cause if that is an error of Ferry; messages of other errors may contain values of rows.
    public var failureReason: String? { (cause as? FerryBase.FerryError)?.message }
}
