package import FerryBase
package import FerryModel

// What only the rows of the source can decide: values that the preflight looks up in the store.
extension MappingResolution {
    /// A mandatory property that an entity mapping leaves without a value; harmless while its source has no rows.
    package struct RowCheck: Sendable, Hashable {
        package var entityMapping: String
        /// The destination entity.
        package var entity: String
        /// The attribute or relationship.
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
                "\(source) has \(rows) rows, but its destination entity \(destination) is abstract and has no objects.",
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

        package init(entity: String, attributes: [String], sources: [Source]) {
            self.entity = entity
            self.attributes = attributes
            self.sources = sources
        }

        /// The refusal for duplicates that were found.
        ///
        /// - Parameters:
        ///   - values: How many values occur more than once.
        ///   - rows: How many rows have one of these values.
        /// - Returns: The refusal, with both counts.
        package func problem(values: Int64, rows: Int64) -> FerryError {
            let list = attributes.map { "\"\($0)\"" }.joined(separator: ", ")
            return FerryError(
                .notUnique,
                "\(entity) is to be unique by \(attributes.joined(separator: ", ")), but \(rows) rows share \(values) "
                    + "\(values == 1 ? "value" : "values").",
                remedy:
                    "Remove the duplicates with the app, or merge them in a mapping file with \"unique\": [\(list)].",
                place: .init(entity: entity, property: attributes.first))
        }
    }
}
