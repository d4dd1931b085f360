package import FerryBase
package import FerryModel

/// What mapping models mean for two given model versions: the resolved step, and what stands in its way.
package struct MappingResolution: Sendable {
    package var step: ResolvedStep
    /// What makes the step impossible, in the order of the entity mappings; empty when it can run.
    package var problems: [FerryError]
    package var needsRowCheck: [RowCheck]
    package var needsEmptySource: [EmptyCheck] = []
    package var needsUniqueValues: [UniquenessCheck] = []

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

// What only the rows of the source can decide: values that the preflight looks up in the store.
extension MappingResolution {
    /// A mandatory property that an entity mapping leaves without a value; harmless while its source has no rows.
    package struct RowCheck: Sendable, Hashable {
        package var entityMapping: String
        /// The source entity.
        package var source: String
        /// The destination entity.
        package var entity: String
        /// The attribute or relationship.
        package var attribute: String
        /// Whether the source may have rows that the mapping leaves out.
        package var isConditional: Bool

        package init(
            entityMapping: String, source: String, entity: String, attribute: String, isConditional: Bool = false
        ) {
            self.entityMapping = entityMapping
            self.source = source
            self.entity = entity
            self.attribute = attribute
            self.isConditional = isConditional
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

    /// A source attribute that fills a mandatory one; harmless while it has a value in every row.
    package struct ValueCheck: Sendable, Hashable {
        package var entityMapping: String
        package var source: String
        package var sourceAttribute: String
        /// Whether the source's own version lets it be empty.
        package var isOptional: Bool
        /// The entity and the attribute that it fills, and the version that requires a value.
        package var entity: String
        package var attribute: String
        package var version: String

        package init(
            entityMapping: String, source: String, sourceAttribute: String, isOptional: Bool, entity: String,
            attribute: String, version: String
        ) {
            self.entityMapping = entityMapping
            self.source = source
            self.sourceAttribute = sourceAttribute
            self.isOptional = isOptional
            self.entity = entity
            self.attribute = attribute
            self.version = version
        }

        /// The refusal for rows without a value.
        package func problem(rows: Int64) -> FerryError {
            let place = FerryError.Place(entityMapping: entityMapping, entity: entity, property: attribute)
            guard isOptional else {
                return FerryError(
                    .damagedSource,
                    "\(source).\(sourceAttribute) is mandatory in the store's own version, but has no value in "
                        + "\(rows.counting("row")), and \(entity).\(attribute) of version \(version) is filled from it.",
                    remedy: "Repair these rows with the app, or restore a backup of the store.", place: place)
            }
            return FerryError(
                .mandatoryValue,
                "\(source).\(sourceAttribute) has no value in \(rows.counting("row")), and \(entity).\(attribute), which is filled "
                    + "from it, is mandatory in version \(version).",
                remedy: "Give \(attribute) an expression that stands in, in a mapping model to version \(version).",
                place: place)
        }
    }

    /// A source entity whose counterpart is abstract; harmless while it has no rows.
    package struct EmptyCheck: Sendable, Hashable {
        package var entityMapping: String
        /// The source entity.
        package var source: String
        /// The abstract destination entity.
        package var destination: String

        package init(entityMapping: String, source: String, destination: String) {
            self.entityMapping = entityMapping
            self.source = source
            self.destination = destination
        }

        /// The refusal, once the source is known to have rows.
        package func problem(rows: Int64) -> FerryError {
            FerryError(
                .badMapping,
                "\(source) has \(rows.counting("row")), but its destination entity \(destination) is abstract and has no objects.",
                remedy: "Map the objects of \(source) to a subentity of \(destination) in a mapping file.",
                place: .init(entityMapping: entityMapping, entity: destination))
        }
    }

    /// A uniqueness constraint that the source did not have; harmless while no two rows break it.
    package struct UniquenessCheck: Sendable, Hashable {
        /// Where a constrained value comes from: a source attribute, a default value, or the default where it is nil.
        package struct Value: Sendable, Hashable {
            package var attribute: String?
            package var defaultValue: DefaultValue?

            package init(attribute: String?, defaultValue: DefaultValue?) {
                self.attribute = attribute
                self.defaultValue = defaultValue
            }
        }

        /// What one entity mapping brings.
        package struct Source: Sendable, Hashable {
            /// The source entity, without its subentities.
            package var entity: String
            /// In the order of ``UniquenessCheck/attributes``.
            package var values: [Value]

            package init(entity: String, values: [Value]) {
                self.entity = entity
                self.values = values
            }
        }

        /// The destination entity that declares the constraint.
        package var entity: String
        package var attributes: [String]
        /// One for each entity mapping whose objects the constraint ranges over.
        package var sources: [Source]

        /// The refusal for duplicates that were found.
        ///
        /// - Parameters:
        ///   - values: How many values occur more than once.
        ///   - rows: How many rows have one of these values.
        /// - Returns: The refusal, with both counts.
        package func problem(values: Int64, rows: Int64) -> FerryError {
            let list = attributes.map { "\"\($0)\"" }.joined(separator: ", ")
            // What mappings of two entities make stays apart.
            let merging =
                sources.count == 1
                ? "or merge them in a mapping file with \"unique\": [\(list)]."
                : "merge those of one entity in a mapping file with \"unique\": [\(list)], or leave some out with \"where\"."
            return FerryError(
                .notUnique,
                "\(entity) is to be unique by \(attributes.joined(separator: ", ")), but \(rows.counting("row")) share "
                    + "\(values.counting("value")).",
                remedy: "Remove the duplicates with the app, \(merging)",
                place: .init(entity: entity, property: attributes.first))
        }
    }
}
