package import FerryBase
package import FerryModel

/// Mapping models resolved for two model versions: the step, and the problems that prevent it.
package struct MappingResolution: Sendable {
    package var step: ResolvedStep
    /// The problems that prevent the step, in the order of the entity mappings.
    package var problems: [FerryError]
    package var needsRowCheck: [RowCheck]
    package var needsEmptySource: [EmptyCheck] = []
    package var needsUniqueValues: [UniquenessCheck] = []

    /// Makes every automatic part of the mapping models explicit and checks all names against both models.
    ///
    /// Entity mappings of one name in two mapping models are qualified in the result: `MappingModel/Name`.
    package static func resolve(
        source: ModelVersion, destination: ModelVersion, mappingModels: [MappingModel],
        policies: KnownPolicies = KnownPolicies()
    ) -> MappingResolution {
        var resolver = StepResolver(
            source: source, destination: destination, mappingModels: mappingModels, policies: policies)
        return WorkThread.withStack { resolver.resolve() }
    }
}

// Conditions that only the rows of the source decide, and that the preflight checks in the store.
extension MappingResolution {
    /// A mandatory property that an entity mapping leaves without a value; allowed only while its source has no rows.
    package struct RowCheck: Sendable, Hashable {
        package var entityMapping: String
        package var source: String
        /// The destination entity.
        package var entity: String
        package var attribute: String
        /// The version in which the attribute is mandatory.
        package var version: String
        /// Whether the mapping may leave out rows of the source.
        package var isConditional: Bool

        /// The refusal, with the step's place in its chain (or nothing) and the key of an object.
        package func problem(_ step: String, key: Int64?) -> FerryError {
            FerryError(
                .mandatoryValue,
                "Entity mapping \"\(entityMapping)\" does not set \(entity).\(attribute), which is mandatory in version "
                    + "\(version)\(step) and has no default value\(key.map { " (such as for the object with key \($0))" } ?? "").",
                remedy: "Give it an expression in a mapping model, or a default value in the model.",
                place: .init(entityMapping: entityMapping, entity: entity, property: attribute, primaryKey: key))
        }
    }

    /// A source entity whose destination entity is abstract; allowed only while it has no rows.
    package struct EmptyCheck: Sendable, Hashable {
        package var entityMapping: String
        package var source: String
        package var destination: String

        package func problem(rows: Int64) -> FerryError {
            FerryError(
                .badMapping,
                "\(source) has \(rows.counting("row")), but its destination entity \(destination) is abstract and has no objects.",
                remedy: "Map the objects of \(source) to a subentity of \(destination) in a mapping file.",
                place: .init(entityMapping: entityMapping, entity: destination))
        }
    }

    /// A uniqueness constraint that the source did not have; allowed only while no two objects break it.
    package struct UniquenessCheck: Sendable, Hashable {
        /// The destination entity that declares the constraint.
        package var entity: String
        package var attributes: [Attribute]
        /// The entity mappings whose objects the constraint covers.
        package var mappings: [ResolvedEntityMapping]
        /// The entities that the constraint covers because they have the same columns.
        package var sharing: [String] = []
        /// The model files of the older and the newer version; empty if a version is not from one file.
        package var models: [String] = []

        package var names: [String] { attributes.map(\.name) }

        /// Whether another check, maybe of other versions, is about the same attributes.
        package func isSame(as other: UniquenessCheck) -> Bool { entity == other.entity && names == other.names }

        /// The refusal if so many values occur more than once, in so many rows.
        package func problem(values: Int64, rows: Int64) -> FerryError {
            let isOne = mappings.count == 1 && mappings[0].unique.isEmpty
            let entities = mappings.map(\.destination).distinct
            let unique = "\"unique\": [\(names.map { "\"\($0)\"" }.joined(separator: ", "))]"
            let merging =
                if isOne {
                    "or merge them in a mapping file with \(unique)."
                } else if entities.count == 1 {
                    "or merge them in a mapping file: give each entity mapping to \(entities[0]) \(unique)."
                } else {
                    "leave some out with \"where\", or merge those of one entity in a mapping file with \(unique); "
                        + "objects of different entities stay apart."
                }
            let others =
                sharing.isEmpty ? "" : ", with those of \(sharing.joined(separator: " and ")) in the same columns"
            return FerryError(
                .notUnique,
                "\(entity) must be unique by \(names.joined(separator: ", ")), but \(rows.counting("row")) share "
                    + "\(values.counting("value"))\(others).",
                remedy: "Remove the duplicates in the app, \(merging)",
                place: .init(
                    entity: entity, property: names.joined(separator: ","), models: isOne ? models : []))
        }
    }
}
