internal import FerryPlan

/// The way of a property through the versions of a migration.
public struct PropertyLineage: Sendable, Hashable, Codable {
    public struct Stop: Sendable, Hashable, Codable {
        public var version: String
        /// The properties that its values reach in this version, as `Entity.property`; empty if they are lost.
        public var properties: [String]
        /// Whether a migration policy decides, so that nothing more is known before the run.
        public var isByPolicy: Bool
    }

    /// The property in the store's version, as `Entity.property`.
    public var property: String
    /// The versions in which it is renamed, moved, divided, joined or lost, in their order.
    public var stops: [Stop]
}

extension Migrator {
    /// The properties that do not keep their name and entity through all versions of the migration.
    ///
    /// - Parameter configuration: The settings of the migration.
    /// - Returns: The properties by name; empty if the store has the target version.
    /// - Throws: ``FerryError`` as ``plan(_:checksRows:)-76jl`` does.
    public func lineages(_ configuration: Configuration = Configuration()) throws -> [PropertyLineage] {
        try withRun(configuration) { run, store in
            (try run.planned(store, checksRows: false)?.plan.lineages ?? []).map { lineage in
                PropertyLineage(
                    property: lineage.property,
                    stops: lineage.stops.map {
                        .init(version: $0.version, properties: $0.properties, isByPolicy: $0.isByPolicy)
                    })
            }
        }
    }
}
