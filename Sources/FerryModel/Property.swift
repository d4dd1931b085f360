/// The type of an attribute, by Core Data's public codes.
package enum AttributeType: Int, Sendable, Hashable, CaseIterable {
    case undefined = 0
    case integer16 = 100
    case integer32 = 200
    case integer64 = 300
    case decimal = 400
    case double = 500
    case float = 600
    case string = 700
    case boolean = 800
    case date = 900
    case binary = 1000
    case uuid = 1100
    case uri = 1200
    case transformable = 1800
    case objectID = 2000
    case composite = 2100

    package var isInteger: Bool { self == .integer16 || self == .integer32 || self == .integer64 }
    package var isNumeric: Bool {
        isInteger || self == .decimal || self == .double || self == .float || self == .boolean
    }
}

/// The default value of an attribute, as its type stores it.
package enum DefaultValue: Sendable, Hashable {
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob([UInt8])
}

package struct Attribute: Sendable, Hashable {
    package var name: String
    package var type: AttributeType
    package var isOptional: Bool
    package var isTransient: Bool
    package var defaultValue: DefaultValue?
    package var allowsExternalStorage: Bool
    package var preservesValueAfterDeletion: Bool
    /// `indexed="YES"` of older files.
    package var isIndexed: Bool
    /// The derivation expression's text, for derived attributes.
    package var derivationExpression: String?
    /// The name of the composite in ``ManagedObjectModel/composites``.
    package var compositeName: String?
    package var renamingIdentifier: String?
    package var versionHashModifier: String?
    package var valueTransformerName: String?
    package var valueClassName: String?
    package var userInfo: [String: String]
    package var validation = AttributeValidation()
    /// What an archive holds under keys that nothing here stands for; only for archiving the model again.
    package var archived: [String: ArchivedValue] = [:]

    package init(
        name: String, type: AttributeType, isOptional: Bool = false, isTransient: Bool = false,
        defaultValue: DefaultValue? = nil, allowsExternalStorage: Bool = false,
        preservesValueAfterDeletion: Bool = false, isIndexed: Bool = false, derivationExpression: String? = nil,
        compositeName: String? = nil, renamingIdentifier: String? = nil, versionHashModifier: String? = nil,
        valueTransformerName: String? = nil, valueClassName: String? = nil, userInfo: [String: String] = [:]
    ) {
        self.name = name
        self.type = type
        self.isOptional = isOptional
        self.isTransient = isTransient
        self.defaultValue = defaultValue
        self.allowsExternalStorage = allowsExternalStorage
        self.preservesValueAfterDeletion = preservesValueAfterDeletion
        self.isIndexed = isIndexed
        self.derivationExpression = derivationExpression
        self.compositeName = compositeName
        self.renamingIdentifier = renamingIdentifier
        self.versionHashModifier = versionHashModifier
        self.valueTransformerName = valueTransformerName
        self.valueClassName = valueClassName
        self.userInfo = userInfo
    }

    package var isDerived: Bool { derivationExpression != nil }
}

package struct Relationship: Sendable, Hashable {
    package enum DeleteRule: Int, Sendable, Hashable {
        case noAction = 0
        case nullify = 1
        case cascade = 2
        case deny = 3
    }

    package var name: String
    package var destinationEntity: String
    package var inverseName: String?
    /// The entity that declares the inverse; may be an ancestor of the destination.
    package var inverseEntity: String?
    package var isOptional: Bool
    package var isTransient: Bool
    package var isOrdered: Bool
    package var minCount: Int
    /// 1 for to-one; 0 (or a model made in code: −1 or the largest integer) for unbounded to-many.
    package var maxCount: Int
    package var deleteRule: DeleteRule
    package var renamingIdentifier: String?
    package var versionHashModifier: String?
    package var userInfo: [String: String]

    package init(
        name: String, destinationEntity: String, inverseName: String? = nil, inverseEntity: String? = nil,
        isOptional: Bool = false, isTransient: Bool = false, isOrdered: Bool = false, minCount: Int = 0,
        maxCount: Int = 1, deleteRule: DeleteRule = .nullify, renamingIdentifier: String? = nil,
        versionHashModifier: String? = nil, userInfo: [String: String] = [:]
    ) {
        self.name = name
        self.destinationEntity = destinationEntity
        self.inverseName = inverseName
        self.inverseEntity = inverseEntity
        self.isOptional = isOptional
        self.isTransient = isTransient
        self.isOrdered = isOrdered
        self.minCount = minCount
        self.maxCount = maxCount
        self.deleteRule = deleteRule
        self.renamingIdentifier = renamingIdentifier
        self.versionHashModifier = versionHashModifier
        self.userInfo = userInfo
    }

    package var isToMany: Bool { maxCount != 1 }
}
