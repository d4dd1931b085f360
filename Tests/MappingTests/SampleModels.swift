import FerryBase
import FerryExpression
import FerryMapping
import FerryModel

extension Attribute {
    static func string(_ name: String) -> Attribute { Attribute(name: name, type: .string, isOptional: true) }
    static func integer(_ name: String) -> Attribute { Attribute(name: name, type: .integer64, isOptional: true) }
}

extension Relationship {
    static func toOne(_ name: String, _ entity: String, inverse: String?) -> Relationship {
        Relationship(
            name: name, destinationEntity: entity, inverseName: inverse, inverseEntity: inverse.map { _ in entity },
            isOptional: true)
    }

    static func toMany(_ name: String, _ entity: String, inverse: String?) -> Relationship {
        Relationship(
            name: name, destinationEntity: entity, inverseName: inverse, inverseEntity: inverse.map { _ in entity },
            isOptional: true, maxCount: 0)
    }
}

func version(_ name: String, _ entities: [Entity]) -> ModelVersion {
    ModelVersion(
        name: name, bundle: "Model", path: "\(name).xcdatamodel", isCurrent: false,
        model: ManagedObjectModel(versionIdentifiers: [], entities: entities), hashes: [:])
}

/// The source of most resolution tests: books with readers and a text attribute with JSON.
let library = version(
    "Model1",
    [
        Entity(
            name: "Book",
            attributes: [.string("title"), .string("authorName"), .string("json"), .integer("pages")],
            relationships: [.toMany("users", "User", inverse: "books"), .toOne("shelf", "Shelf", inverse: "books")]),
        Entity(
            name: "User", attributes: [.string("name")], relationships: [.toMany("books", "Book", inverse: "users")]),
        Entity(
            name: "Shelf", attributes: [.string("name")], relationships: [.toMany("books", "Book", inverse: "shelf")]),
    ])

func mapping(
    _ source: String?, _ destination: String?, name: String? = nil, filter: String? = nil,
    iteration: EntityMapping.Iteration? = nil, unique: [String] = [], isAutomatic: Bool = true,
    attributes: [String: AttributeRule] = [:], relationships: [String: RelationshipRule] = [:], policy: String? = nil
) throws -> EntityMapping {
    EntityMapping(
        name: name ?? EntityMapping.derivedName(source: source, destination: destination), source: source,
        destination: destination, filter: try filter.map { try Predicate.parse($0) }, iteration: iteration,
        unique: unique, isAutomatic: isAutomatic, attributes: attributes, relationships: relationships,
        policyClassName: policy)
}

func mappingModel(_ mappings: [EntityMapping], name: String = "Step") -> MappingModel {
    MappingModel(
        name: name, path: "/maps/\(name).json", sourceVersion: "Model1", destinationVersion: "Model2",
        entityMappings: mappings)
}

func value(_ text: String) throws -> AttributeRule { .value(try Expression.parse(text)) }

func destinations(_ mapping: String, _ from: String) throws -> RelationshipRule {
    .destinations(ofMapping: mapping, from: try Expression.parse(from))
}

func resolve(_ mappings: [EntityMapping], from source: ModelVersion = library, to destination: ModelVersion)
    -> MappingResolution
{
    MappingResolution.resolve(source: source, destination: destination, mappingModels: [mappingModel(mappings)])
}
