package import FerryBase
package import FerryModel

/// What mapping models mean for two given model versions: the resolved step, and what stands in its way.
package struct MappingResolution: Sendable {
    package var step: ResolvedStep
    /// What makes the step impossible, in the order of the entity mappings; empty when it can run.
    package var problems: [FerryError]
    package var needsRowCheck: [RowCheck]
    package var needsEmptySource: [EmptyCheck]
    package var needsUniqueValues: [UniquenessCheck]

    package init(
        step: ResolvedStep, problems: [FerryError], needsRowCheck: [RowCheck], needsEmptySource: [EmptyCheck] = [],
        needsUniqueValues: [UniquenessCheck] = []
    ) {
        self.step = step
        self.problems = problems
        self.needsRowCheck = needsRowCheck
        self.needsEmptySource = needsEmptySource
        self.needsUniqueValues = needsUniqueValues
    }

    /// Makes every automatic part of the mapping models explicit and checks all names against both models.
    ///
    /// A name that two mapping models give to entity mappings is qualified in the result: `MappingModel/Name`.
    package static func resolve(
        source: ModelVersion, destination: ModelVersion, mappingModels: [MappingModel],
        policies: KnownPolicies = KnownPolicies()
    ) -> MappingResolution {
        var resolver = StepResolver(
            source: source, destination: destination, mappingModels: mappingModels, policies: policies)
        return WorkThread.withStack { resolver.resolve() }
    }
}
