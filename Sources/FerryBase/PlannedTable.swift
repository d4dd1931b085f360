/// One table of a step's new version, or one of the old version that is dropped.
public struct PlannedTable: Sendable, Hashable, Codable {
    /// What a step does with a table; a later version may add more.
    public struct Treatment: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public var description: String { rawValue }

        /// Not one page of it is written.
        public static let kept = Self(rawValue: "kept")
        /// Its columns change, or the values of its rows.
        public static let altered = Self(rawValue: "altered")
        /// Its rows are made anew.
        public static let filled = Self(rawValue: "filled")
        /// The new version has no such table.
        public static let dropped = Self(rawValue: "dropped")
    }

    /// The name in the new version; of a dropped table the old one.
    public var name: String
    /// The root entity of its objects; nil for the table of a many-to-many relationship.
    public var entity: String?
    public var treatment: Treatment
    /// The reason why it is filled, in words that follow "because"; nil for another treatment.
    public var reason: String?

    package init(name: String, entity: String?, treatment: Treatment, reason: String? = nil) {
        (self.name, self.entity, self.treatment, self.reason) = (name, entity, treatment, reason)
    }
}
