/// Damage that a store had before its migration; a later version may add kinds.
public struct DamageKind: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public var description: String { rawValue }

    /// A foreign key that refers to no object, or to one of an entity other than the declared one.
    public static let danglingKey = Self(rawValue: "danglingKey")
    /// A one-to-one relationship whose inverse does not lead back.
    public static let oneSidedInverse = Self(rawValue: "oneSidedInverse")
    /// An entity number beside a foreign key that is not the entity of the object with that key.
    public static let wrongEntity = Self(rawValue: "wrongEntity")
    /// No position in an ordered relationship.
    public static let missingOrder = Self(rawValue: "missingOrder")
    /// A position in an ordered relationship that is not an integer.
    public static let wrongOrder = Self(rawValue: "wrongOrder")
    /// No value in a mandatory attribute.
    public static let missingValue = Self(rawValue: "missingValue")
    /// A to-many relationship with fewer or more objects than the model allows.
    public static let wrongCount = Self(rawValue: "wrongCount")
    /// A row whose entity does not belong to its table.
    ///
    /// `Z_ENT`
    public static let unknownEntity = Self(rawValue: "unknownEntity")
    /// A recorded highest key that is below the highest key in use.
    ///
    /// `Z_MAX`
    public static let lowMaximumKey = Self(rawValue: "lowMaximumKey")
    /// A value that names a missing external file.
    public static let missingFile = Self(rawValue: "missingFile")
    /// Persistent history of entities without a successor in the new version.
    public static let droppedHistory = Self(rawValue: "droppedHistory")
}

/// One kind of damage in the rows of an entity, or in the values of one of its properties.
public struct StoreDamage: Sendable, Hashable, Codable {
    public var kind: DamageKind
    public var entity: String
    public var property: String?
    public var rows: Int64

    package init(kind: DamageKind, entity: String, property: String? = nil, rows: Int64) {
        (self.kind, self.entity, self.property, self.rows) = (kind, entity, property, rows)
    }
}
