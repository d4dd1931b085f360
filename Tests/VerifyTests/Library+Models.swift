import FerryExpression
import FerryMapping
import FerryModel

extension Library {
    // MARK: Models

    private static func version(_ name: String, _ entities: [Entity]) -> ModelVersion {
        let model = ManagedObjectModel(versionIdentifiers: [name], entities: entities)
        return ModelVersion(
            name: name, bundle: "Library", path: "/\(name).xcdatamodel", isCurrent: false, model: model,
            hashes: VersionHash.hashes(of: model))
    }

    private static func attribute(
        _ name: String, _ type: AttributeType, optional: Bool = true, default value: DefaultValue? = nil
    ) -> Attribute {
        Attribute(name: name, type: type, isOptional: optional, defaultValue: value)
    }

    private static func relationship(
        _ name: String, to entity: String, inverse: String, toMany: Bool = false, ordered: Bool = false
    ) -> Relationship {
        Relationship(
            name: name, destinationEntity: entity, inverseName: inverse, inverseEntity: entity, isOptional: true,
            isOrdered: ordered, maxCount: toMany ? 0 : 1)
    }

    private static let vehicles = [
        Entity(name: "Vehicle", attributes: [attribute("wheels", .integer16)]),
        Entity(name: "Truck", superentity: "Vehicle", attributes: [attribute("payload", .double)]),
    ]

    private static let users = [
        Entity(
            name: "Profile", attributes: [attribute("bio", .string)],
            relationships: [relationship("user", to: "User", inverse: "profile")]),
        Entity(
            name: "Tag", attributes: [attribute("label", .string)],
            relationships: [relationship("tagged", to: "Book", inverse: "tags", toMany: true)]),
    ]

    private static let first = version(
        "First",
        [
            Entity(
                name: "Book",
                attributes: [
                    attribute("title", .string, optional: false), attribute("price", .double),
                    attribute("pages", .integer32), attribute("authorName", .string), attribute("json", .string),
                    attribute("published", .date),
                ],
                relationships: [
                    relationship("user", to: "User", inverse: "books"),
                    relationship("tags", to: "Tag", inverse: "tagged", toMany: true, ordered: true),
                ]),
            Entity(
                name: "User", attributes: [attribute("name", .string)],
                relationships: [
                    relationship("books", to: "Book", inverse: "user", toMany: true, ordered: true),
                    relationship("profile", to: "Profile", inverse: "user"),
                ]),
        ] + users + vehicles)

    private static let second = version(
        "Second",
        [
            Entity(
                name: "Artist", attributes: [attribute("name", .string), attribute("plays", .double)]),
            Entity(
                name: "Author", attributes: [attribute("name", .string, optional: false)],
                relationships: [relationship("books", to: "Book", inverse: "authors", toMany: true)],
                uniquenessConstraints: [["name"]]),
            Entity(
                name: "Book",
                attributes: [
                    attribute("heading", .string, optional: false), attribute("price", .double),
                    attribute("pages", .string), attribute("published", .date),
                    attribute("state", .integer16, optional: false, default: .integer(1)),
                ],
                relationships: [
                    relationship("user", to: "User", inverse: "books"),
                    relationship("tags", to: "Tag", inverse: "tagged", toMany: true, ordered: true),
                    relationship("authors", to: "Author", inverse: "books", toMany: true),
                    relationship("files", to: "File", inverse: "book", toMany: true, ordered: true),
                ],
                fetchIndexes: [FetchIndex(name: "byHeading", elements: [.init(property: "heading")])]),
            Entity(
                name: "File", attributes: [attribute("title", .string), attribute("owner", .string)],
                relationships: [
                    relationship("book", to: "Book", inverse: "files"),
                    relationship("user", to: "User", inverse: "files"),
                ]),
            Entity(
                name: "User", attributes: [attribute("name", .string)],
                relationships: [
                    relationship("books", to: "Book", inverse: "user", toMany: true, ordered: true),
                    relationship("files", to: "File", inverse: "user", toMany: true),
                    relationship("profile", to: "Profile", inverse: "user"),
                ]),
        ] + users + vehicles)

    // MARK: Mappings

    static func step() throws -> ResolvedStep {
        let mappings = [
            try keeping(
                "BookToBook", "Book", filter: "title != 'Draft'",
                [
                    "heading": "$source.title", "pages": "$source.pages", "price": "$source.price * 1.2",
                    "published": "$source.published", "state": nil,
                ],
                [
                    rule("authors", ["BookAuthor"], "$source", automatic: false),
                    rule("tags", ["TagToTag"], "$source.tags"), rule("user", ["UserToUser"], "$source.user"),
                ]),
            try keeping(
                "UserToUser", "User", ["name": "$source.name"],
                [rule("profile", ["ProfileToProfile"], "$source.profile")]),
            try keeping("ProfileToProfile", "Profile", ["bio": "$source.bio"], []),
            try keeping("TagToTag", "Tag", ["label": "$source.label"], []),
            try making(
                "BookAuthor", "Book", "Author", filter: "authorName != nil", unique: ["name"],
                ["name": "$source.authorName"], []),
            try making(
                "BookFile", "User", "File", iteration: ("book", "$source.books"),
                ["owner": "$source.name", "title": "$book.title"],
                [
                    rule("book", ["BookToBook"], "$book", automatic: false),
                    rule("user", ["UserToUser"], "$source", automatic: false),
                ]),
            try making(
                "BookArtist", "Book", "Artist", filter: "$artist.name != 'Cy'",
                iteration: ("artist", "JSON($source.json, 'artists')"), unique: ["name"],
                ["name": "$artist.name", "plays": "$artist.plays"], []),
            try keeping("VehicleToVehicle", "Vehicle", ["wheels": "$source.wheels"], []),
            try keeping("TruckToTruck", "Truck", ["payload": "$source.payload", "wheels": "$source.wheels"], []),
        ]
        let placed = mappings.enumerated().map { $1.with(position: $0) }
        return ResolvedStep(source: first, destination: second, mappingModels: [], entityMappings: placed)
    }

    private static func keeping(
        _ name: String, _ entity: String, filter: String? = nil, _ attributes: [String: String?],
        _ relationships: [ResolvedRelationship]
    ) throws -> ResolvedEntityMapping {
        try mapping(name, entity, entity, filter, nil, [], attributes, relationships, keepsPrimaryKey: true)
    }

    private static func making(
        _ name: String, _ source: String, _ destination: String, filter: String? = nil,
        iteration: (String, String)? = nil, unique: [String] = [], _ attributes: [String: String?],
        _ relationships: [ResolvedRelationship]
    ) throws -> ResolvedEntityMapping {
        try mapping(
            name, source, destination, filter, iteration, unique, attributes, relationships, keepsPrimaryKey: false)
    }

    private static func mapping(
        _ name: String, _ source: String, _ destination: String, _ filter: String?, _ iteration: (String, String)?,
        _ unique: [String], _ attributes: [String: String?], _ relationships: [ResolvedRelationship],
        keepsPrimaryKey: Bool
    ) throws -> ResolvedEntityMapping {
        ResolvedEntityMapping(
            position: 0, mappingModel: 0, name: name, source: source, destination: destination,
            filter: try filter.map { try Predicate.parse($0) },
            iteration: try iteration.map { .init(variable: $0.0, elements: try Expression.parse($0.1)) },
            unique: unique,
            attributes: try attributes.sorted { $0.key < $1.key }.map {
                ResolvedAttribute(name: $0.key, expression: try $0.value.map { try Expression.parse($0) })
            },
            relationships: relationships, keepsPrimaryKey: keepsPrimaryKey)
    }

    private static func rule(
        _ name: String, _ mappings: [String], _ from: String, automatic: Bool = true
    ) throws -> ResolvedRelationship {
        ResolvedRelationship(
            name: name, mappings: mappings, from: try Expression.parse(from), isAutomatic: automatic)
    }
}
