/// One thing that must hold for a store; there may be more in a later version.
public struct VerificationCheck: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public var description: String { rawValue }

    /// Tables, columns, indexes and triggers are those of the model.
    public static let schema = Self(rawValue: "schema")
    /// Metadata are those of the new version, and keep what is the store's own.
    public static let metadata = Self(rawValue: "metadata")
    /// What an app has set in the header of its store is still set.
    public static let header = Self(rawValue: "header")
    /// What SQLite checks of the file by itself.
    public static let integrity = Self(rawValue: "integrity")
    /// Every index has an entry for each row, in its place, and no other.
    public static let indexes = Self(rawValue: "indexes")
    /// The highest key that was handed out is not below one in use.
    ///
    /// `Z_MAX`
    public static let keys = Self(rawValue: "keys")
    /// The counts of the run balance.
    public static let counts = Self(rawValue: "counts")
    /// Every row is of an entity that its table holds.
    ///
    /// `Z_ENT`
    public static let entityNumbers = Self(rawValue: "entityNumbers")
    /// Every stored key leads to a row of a fitting entity.
    public static let references = Self(rawValue: "references")
    /// Mandatory and unique values, and the number of objects of relationships.
    public static let constraints = Self(rawValue: "constraints")
    /// Values and triggers of derived attributes.
    public static let derivedAttributes = Self(rawValue: "derivedAttributes")
    /// R-Trees are as the model asks for, with the right entries.
    public static let rTrees = Self(rawValue: "rTrees")
    /// Every value outside the database has its file.
    public static let externalFiles = Self(rawValue: "externalFiles")
    /// Files of values outside the database are, byte for byte, those of before.
    public static let externalContents = Self(rawValue: "externalContents")
    /// An app's own tables and objects, and persistent history, are carried over.
    public static let carriedObjects = Self(rawValue: "carriedObjects")
    /// Every value is the one that the mapping models yield.
    public static let rows = Self(rawValue: "rows")
    /// Every relationship is the one that the mapping models yield, positions included.
    public static let relationships = Self(rawValue: "relationships")

    /// Every check of this version.
    public static let all: [Self] = [
        schema, metadata, header, integrity, indexes, keys, counts, entityNumbers, references, constraints,
        derivedAttributes, rTrees, externalFiles, externalContents, carriedObjects, rows, relationships,
    ]
}
