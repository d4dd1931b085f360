/// What was wrong with a store before it was migrated; there may be more kinds in a later version.
public struct DamageKind: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public var description: String { rawValue }

    /// A key that leads to no object, or to one of another entity than is declared.
    public static let danglingKey = Self(rawValue: "danglingKey")
    /// A one-to-one relationship whose other side does not lead back.
    public static let oneSidedInverse = Self(rawValue: "oneSidedInverse")
    /// The number of an entity beside a key that is not the one of the object to which the key leads.
    public static let wrongEntity = Self(rawValue: "wrongEntity")
    /// No position in an ordered relationship.
    public static let missingOrder = Self(rawValue: "missingOrder")
    /// No value in a mandatory attribute.
    public static let missingValue = Self(rawValue: "missingValue")
    /// An object of an entity that is none of its table.
    ///
    /// `Z_ENT`
    public static let unknownEntity = Self(rawValue: "unknownEntity")
    /// A highest key that is below the highest one in use.
    ///
    /// `Z_MAX`
    public static let lowMaximumKey = Self(rawValue: "lowMaximumKey")
    /// A value that names an external file which is not there.
    public static let missingFile = Self(rawValue: "missingFile")
    /// Persistent history of entities that have no heir.
    public static let droppedHistory = Self(rawValue: "droppedHistory")
}
