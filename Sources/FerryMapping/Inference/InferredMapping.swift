internal import FerryExpression
package import FerryModel

/// What follows from two model versions alone: Core Data's lightweight migration.
package struct InferredMapping: Sendable {
    /// A difference between the versions, and whether a mapping can be inferred over it.
    package struct Change: Sendable, Hashable {
        /// The destination's name of the entity; of a removed one the source's.
        package var entity: String
        package var property: String?
        package var kind: ModelDifference.Kind
        package var isInferable: Bool
        /// Why not; or, for what can be inferred, on which condition the store's rows pass.
        package var reason: String?

        package init(
            entity: String, property: String?, kind: ModelDifference.Kind, isInferable: Bool, reason: String?
        ) {
            self.entity = entity
            self.property = property
            self.kind = kind
            self.isInferable = isInferable
            self.reason = reason
        }
    }

    /// Nil when a change stands in its way.
    package var mappingModel: MappingModel?
    package var changes: [Change]

    /// The changes that no mapping can be inferred over.
    package var obstacles: [Change] { changes.filter { !$0.isInferable } }

    /// Infers the mapping of one version to another.
    ///
    /// Its entity mappings are named as Core Data names them: `IEM_Add_E`, `IEM_Remove_E`, `IEM_Copy_E`,
    /// `IEM_Transform_E`.
    package static func infer(source: ModelVersion, destination: ModelVersion) -> InferredMapping {
        let difference = ModelDifference(from: source.model, to: destination.model)
        let changes = InferenceRules(difference).verdicts()
        guard changes.allSatisfy(\.isInferable) else { return InferredMapping(mappingModel: nil, changes: changes) }
        let entityMappings = InferredEntityMappings(
            source: source, destination: destination, difference: difference)
        var mappingModel = MappingModel(
            name: "inferred", path: "inferred mapping", sourceVersion: source.qualifiedName,
            destinationVersion: destination.qualifiedName, entityMappings: entityMappings.all())
        mappingModel.isInferred = true
        mappingModel.warnings = entityMappings.losses()
        return InferredMapping(mappingModel: mappingModel, changes: changes)
    }
}

extension InferredMapping.Change {
    /// `Entity.property: reason`, for a refusal.
    package var sentence: String {
        let place = property.map { "\(entity).\($0)" } ?? entity
        return "\(place): \(reason ?? kind.rawValue)"
    }
}
