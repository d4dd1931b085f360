package import FerryBase
package import FerryModel

/// What mapping models mean for two given model versions: the resolved step, and what stands in its way.
package struct MappingResolution: Sendable {
    /// A mandatory attribute that an entity mapping leaves without a value; harmless while its source has no rows.
    package struct RowCheck: Sendable, Hashable {
        package var entityMapping: String
        /// The destination entity.
        package var entity: String
        package var attribute: String

        package init(entityMapping: String, entity: String, attribute: String) {
            self.entityMapping = entityMapping
            self.entity = entity
            self.attribute = attribute
        }

        /// The refusal, once the source is known to have rows.
        package var problem: FerryError {
            FerryError(
                .mandatoryValue,
                "Entity mapping \"\(entityMapping)\" gives no value to \(entity).\(attribute), which is mandatory and has "
                    + "no default value.",
                remedy: "Give it an expression in a mapping model, or a default value in the model.",
                place: .init(entityMapping: entityMapping, entity: entity, property: attribute))
        }
    }

    package var step: ResolvedStep
    /// What makes the step impossible, in the order of the entity mappings; empty when it can run.
    package var problems: [FerryError]
    package var needsRowCheck: [RowCheck]

    package init(step: ResolvedStep, problems: [FerryError], needsRowCheck: [RowCheck]) {
        self.step = step
        self.problems = problems
        self.needsRowCheck = needsRowCheck
    }

    /// Makes every automatic part of the mapping models explicit and checks all names against both models.
    ///
    /// A name that two mapping models give to entity mappings is qualified in the result: `MappingModel/Name`.
    package static func resolve(
        source: ModelVersion, destination: ModelVersion, mappingModels: [MappingModel]
    ) -> MappingResolution {
        var resolver = StepResolver(source: source, destination: destination, mappingModels: mappingModels)
        return resolver.resolve()
    }
}
