// The declarations of Apple's CoreData framework that Conformance uses: a system without the framework can type-check
// the sources against them (Conformance/typecheck). Nothing here runs.
@_exported import Foundation

public let NSSQLiteStoreType = "SQLite"
public let NSMigratePersistentStoresAutomaticallyOption = "NSMigratePersistentStoresAutomaticallyOption"

open class NSPropertyDescription: NSObject {
    open var name: String { fatalError() }
    open var isTransient: Bool { fatalError() }
}

public enum NSAttributeType: UInt, Sendable {
    case undefinedAttributeType = 0
    case booleanAttributeType = 800
    case doubleAttributeType = 500
    case floatAttributeType = 600
}

open class NSAttributeDescription: NSPropertyDescription {
    open var attributeType: NSAttributeType { fatalError() }
}

open class NSRelationshipDescription: NSPropertyDescription {
    open var isOrdered: Bool { fatalError() }
    open var destinationEntity: NSEntityDescription? { fatalError() }
}

open class NSEntityDescription: NSObject {
    open var name: String? { fatalError() }
    open var isAbstract: Bool { fatalError() }
    open var versionHash: Data { fatalError() }
    open var attributesByName: [String: NSAttributeDescription] { fatalError() }
    open var relationshipsByName: [String: NSRelationshipDescription] { fatalError() }
    open func isKindOf(entity: NSEntityDescription) -> Bool { fatalError() }
    open class func insertNewObject(
        forEntityName entityName: String, into context: NSManagedObjectContext
    ) -> NSManagedObject { fatalError() }
}

open class NSManagedObjectModel: NSObject {
    public init?(contentsOf url: URL) { fatalError() }
    open var entities: [NSEntityDescription] { fatalError() }
    open var entitiesByName: [String: NSEntityDescription] { fatalError() }
    open func isConfiguration(
        withName configuration: String?, compatibleWithStoreMetadata metadata: [String: Any]
    ) -> Bool { fatalError() }
}

open class NSManagedObjectID: NSObject {
    open var isTemporaryID: Bool { fatalError() }
    open func uriRepresentation() -> URL { fatalError() }
}

public protocol NSFetchRequestResult: NSObjectProtocol {}

open class NSManagedObject: NSObject, NSFetchRequestResult {
    open var objectID: NSManagedObjectID { fatalError() }
    open var entity: NSEntityDescription { fatalError() }
    open func value(forKey key: String) -> Any? { fatalError() }
    open func setValue(_ value: Any?, forKey key: String) { fatalError() }
}

open class NSFetchRequest<ResultType: NSFetchRequestResult>: NSObject {
    public init(entityName: String) { fatalError() }
    open var includesSubentities: Bool {
        get { fatalError() }
        set { fatalError() }
    }
    open var fetchLimit: Int {
        get { fatalError() }
        set { fatalError() }
    }
}

open class NSPersistentStore: NSObject {}

open class NSPersistentStoreCoordinator: NSObject {
    public init(managedObjectModel model: NSManagedObjectModel) { fatalError() }
    open func addPersistentStore(
        ofType storeType: String, configurationName configuration: String?, at storeURL: URL?,
        options: [AnyHashable: Any]? = nil
    ) throws -> NSPersistentStore { fatalError() }
    open func remove(_ store: NSPersistentStore) throws {}
    open class func metadataForPersistentStore(
        ofType storeType: String, at url: URL, options: [AnyHashable: Any]? = nil
    ) throws -> [String: Any] { fatalError() }
}

public enum NSManagedObjectContextConcurrencyType: UInt, Sendable {
    case privateQueueConcurrencyType = 1
    case mainQueueConcurrencyType = 2
}

open class NSManagedObjectContext: NSObject {
    public init(concurrencyType type: NSManagedObjectContextConcurrencyType) { fatalError() }
    open var persistentStoreCoordinator: NSPersistentStoreCoordinator? {
        get { fatalError() }
        set { fatalError() }
    }
    public func fetch<Result: NSFetchRequestResult>(_ request: NSFetchRequest<Result>) throws -> [Result] {
        fatalError()
    }
    public func performAndWait<Result>(_ block: () throws -> Result) rethrows -> Result { fatalError() }
    open func delete(_ object: NSManagedObject) { fatalError() }
    open func save() throws { fatalError() }
}

public enum NSEntityMappingType: UInt, Sendable {
    case undefinedEntityMappingType = 0
    case customEntityMappingType = 1
    case transformEntityMappingType = 5
}

open class NSPropertyMapping: NSObject {
    open var name: String?
    open var valueExpression: NSExpression?
    public override init() { fatalError() }
}

open class NSEntityMapping: NSObject {
    open var name: String!
    open var mappingType: NSEntityMappingType
    open var sourceEntityName: String?
    open var sourceEntityVersionHash: Data?
    open var destinationEntityName: String?
    open var destinationEntityVersionHash: Data?
    open var sourceExpression: NSExpression?
    open var attributeMappings: [NSPropertyMapping]?
    open var relationshipMappings: [NSPropertyMapping]?
    public override init() { fatalError() }
}

open class NSMappingModel: NSObject {
    open var entityMappings: [NSEntityMapping]!
    public override init() { fatalError() }
    public init?(contentsOf url: URL?) { fatalError() }
    open class func inferredMappingModel(
        forSourceModel sourceModel: NSManagedObjectModel, destinationModel: NSManagedObjectModel
    ) throws -> NSMappingModel { fatalError() }
}

open class NSMigrationManager: NSObject {
    public init(sourceModel: NSManagedObjectModel, destinationModel: NSManagedObjectModel) { fatalError() }
    open func migrateStore(
        from sourceURL: URL, sourceType sStoreType: String, options sOptions: [AnyHashable: Any]? = nil,
        with mappings: NSMappingModel?, toDestinationURL dURL: URL, destinationType dStoreType: String,
        destinationOptions dOptions: [AnyHashable: Any]? = nil
    ) throws { fatalError() }
}

/// Foundation outside of Apple's systems has no expressions in text.
open class NSExpression: NSObject {
    public init(format expressionFormat: String, argumentArray arguments: [Any]) { fatalError() }
}
