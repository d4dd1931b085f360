/// The way of a property through the versions of a migration.
public struct PropertyLineage: Sendable, Hashable, Codable {
    public struct Stop: Sendable, Hashable, Codable {
        public var version: String
        /// The properties that its values reach in this version, as `Entity.property`; empty if they are lost.
        public var properties: [String]
        /// Whether a migration policy decides, so that nothing more is known before the run.
        public var isByPolicy: Bool

        package init(version: String, properties: [String], isByPolicy: Bool) {
            (self.version, self.properties, self.isByPolicy) = (version, properties, isByPolicy)
        }
    }

    /// The property in the store's version, as `Entity.property`.
    public var property: String
    /// The versions in which it is renamed, moved, divided, joined or lost, in their order.
    public var stops: [Stop]

    package init(property: String, stops: [Stop]) { (self.property, self.stops) = (property, stops) }
}
