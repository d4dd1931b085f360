/// The scope and the result of a verification.
public struct VerificationSummary: Sendable, Hashable, Codable {
    public var mode: VerifyMode
    /// Rows compared; none of a table that the migration does not write.
    public var checked: Int64 = 0
    /// Values that cannot be recomputed: a policy's code made them, or only Core Data derives them.
    public var notRecomputed: Int64 = 0
    public var differences: [Difference] = []
    /// Tables, views, triggers and indexes that are neither Core Data's nor the source's, as `trigger name`.
    ///
    /// Of a store alone, those that are not Core Data's. Nil if they were not looked for.
    public var added: [String]?

    package init(mode: VerifyMode = .none) { self.mode = mode }

    /// One kind of difference; the example is a location (table and key), never a value.
    public struct Difference: Sendable, Hashable, Codable {
        public var check: VerificationCheck
        public var entity: String?
        /// The property, for differences of one: that of the source whose values or links are missing, or that of the new
        /// store which breaks a rule.
        public var property: String?
        public var count: Int64
        public var example: String?

        package init(
            check: VerificationCheck, entity: String?, property: String? = nil, count: Int64, example: String?
        ) {
            (self.check, self.entity, self.property) = (check, entity, property)
            (self.count, self.example) = (count, example)
        }

        /// The check with what it found in words: `links of Post.author (3)`.
        package var title: String {
            let subject = entity.map { " of \($0)\(property.map { "." + $0 } ?? "")" } ?? ""
            return "\(check)\(subject) (\(count))"
        }
    }
}

/// A rule that holds for a store; a later version may add more.
public struct VerificationCheck: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public var description: String { rawValue }

    /// Tables, columns, indexes and triggers are those of the model.
    public static let schema = Self(rawValue: "schema")
    /// Metadata are those of the new version, and keep the store's own entries.
    public static let metadata = Self(rawValue: "metadata")
    /// Values that an app has set in the header of its store are unchanged.
    public static let header = Self(rawValue: "header")
    /// SQLite's own check of the file.
    public static let integrity = Self(rawValue: "integrity")
    /// Every index has an entry for each row, in its place, and no other.
    public static let indexes = Self(rawValue: "indexes")
    /// The recorded highest key is not below a key in use.
    ///
    /// `Z_MAX`
    public static let keys = Self(rawValue: "keys")
    /// The counts of the run balance.
    public static let counts = Self(rawValue: "counts")
    /// Every row is of an entity of its table.
    ///
    /// `Z_ENT`
    public static let entityNumbers = Self(rawValue: "entityNumbers")
    /// Every foreign key refers to a row of a fitting entity.
    public static let references = Self(rawValue: "references")
    /// Mandatory and unique values, and the minimum and maximum counts of relationships.
    public static let constraints = Self(rawValue: "constraints")
    /// Values and triggers of derived attributes.
    public static let derivedAttributes = Self(rawValue: "derivedAttributes")
    /// R-Trees are as the model requires, with the right entries.
    public static let rTrees = Self(rawValue: "rTrees")
    /// Every value outside the database has its file.
    public static let externalFiles = Self(rawValue: "externalFiles")
    /// External files have, byte for byte, the contents from before the migration.
    public static let externalContents = Self(rawValue: "externalContents")
    /// No two values name one external file unless they did before.
    public static let sharedFiles = Self(rawValue: "sharedFiles")
    /// An app's own tables and objects, and persistent history, are carried over.
    public static let carriedObjects = Self(rawValue: "carriedObjects")
    /// Every value is the result of the mapping models.
    public static let rows = Self(rawValue: "rows")
    /// Every relationship is the result of the mapping models, positions included.
    public static let relationships = Self(rawValue: "relationships")
    /// Every link of the source whose objects both live on is there, or was told as a loss.
    public static let links = Self(rawValue: "links")
    /// Every value of the source that no rule copies was told as a loss, or as computed anew.
    public static let values = Self(rawValue: "values")

    public static let all: [Self] = [
        schema, metadata, header, integrity, indexes, keys, counts, entityNumbers, references, constraints,
        derivedAttributes, rTrees, externalFiles, externalContents, sharedFiles, carriedObjects, rows, relationships,
        links, values,
    ]
}
