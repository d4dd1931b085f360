import FerryBase
import FerryExpression
import FerryMapping
import FerryModel
import Testing

/// The changes for which a mapping can be inferred, on models of one or two entities.
@Suite("Inference")
struct InferenceTests {
    struct Change: Sendable, CustomTestStringConvertible {
        var title: String
        var from: [Entity]
        var to: [Entity]
        var kinds: [ModelDifference.Kind]
        /// The new value of the changed property, if there is one.
        var property: String?
        var value: String?
        var obstacle: String?
        var testDescription: String { title }

        init(
            _ title: String, _ from: [Entity], _ to: [Entity], _ kinds: [ModelDifference.Kind],
            property: String? = nil, value: String? = nil, obstacle: String? = nil
        ) {
            self.title = title
            self.from = from
            self.to = to
            self.kinds = kinds
            self.property = property
            self.value = value
            self.obstacle = obstacle
        }
    }

    private static func book(_ attributes: Attribute...) -> [Entity] { [Entity(name: "Book", attributes: attributes)] }

    private static func attribute(
        _ name: String, _ type: AttributeType = .string, isOptional: Bool = true, default value: DefaultValue? = nil,
        id: String? = nil, isTransient: Bool = false
    ) -> Attribute {
        Attribute(
            name: name, type: type, isOptional: isOptional, isTransient: isTransient, defaultValue: value,
            renamingIdentifier: id)
    }

    private static func shelf(_ books: Relationship?, _ shelf: Relationship?) -> [Entity] {
        [
            Entity(name: "Book", relationships: shelf.map { [$0] } ?? []),
            Entity(name: "Shelf", relationships: books.map { [$0] } ?? []),
        ]
    }

    private static func related(
        _ name: String, _ entity: String, inverse: String?, toMany: Bool = false, isOrdered: Bool = false,
        isOptional: Bool = true, id: String? = nil
    ) -> Relationship {
        Relationship(
            name: name, destinationEntity: entity, inverseName: inverse, inverseEntity: inverse.map { _ in entity },
            isOptional: isOptional, isOrdered: isOrdered, maxCount: toMany ? 0 : 1, renamingIdentifier: id)
    }

    private static let books = related("books", "Shelf", inverse: "shelf", toMany: true)

    static let attributeChanges: [Change] = [
        Change("an optional attribute is added", book(), book(attribute("a")), [.attributeAdded], property: "a"),
        Change(
            "a mandatory attribute with a default is added", book(),
            book(attribute("a", isOptional: false, default: .text("x"))), [.attributeAdded], property: "a"),
        Change(
            "an attribute is removed", book(attribute("a"), attribute("b")), book(attribute("b")),
            [.attributeRemoved], property: "b", value: "$source.b"),
        Change(
            "a mandatory attribute becomes optional", book(attribute("a", isOptional: false)), book(attribute("a")),
            [.attributeMadeOptional], property: "a", value: "$source.a"),
        Change(
            "an optional attribute becomes mandatory, with a default", book(attribute("a", .integer32)),
            book(attribute("a", .integer32, isOptional: false, default: .integer(7))),
            [.attributeMadeMandatory, .defaultValueChanged], property: "a", value: "ifnil:then:($source.a, 7)"),
        Change(
            "an optional attribute becomes mandatory, without a default", book(attribute("a")),
            book(attribute("a", isOptional: false)), [.attributeMadeMandatory], property: "a", value: "$source.a"),
        Change(
            "an attribute is renamed", book(attribute("a")), book(attribute("b", id: "a")), [.attributeRenamed],
            property: "b", value: "$source.a"),
        Change(
            "one identifier is kept over several names", book(attribute("b", id: "a")), book(attribute("c", id: "a")),
            [.attributeRenamed], property: "c", value: "$source.b"),
        Change(
            "an attribute is renamed to its first name again", book(attribute("b", id: "a")), book(attribute("a")),
            [.attributeRenamed], property: "a", value: "$source.b"),
        Change(
            "an attribute is renamed by its last name", book(attribute("b", id: "a")), book(attribute("c", id: "b")),
            [.attributeRenamed], property: "c", value: "$source.b"),
        Change(
            "an attribute is renamed and its name used again", book(attribute("a")),
            book(attribute("a"), attribute("b", id: "a")), [.attributeAdded, .attributeRenamed], property: "a"),
        Change(
            "the name of an earlier renaming is used again", book(attribute("b", id: "a")),
            book(attribute("a"), attribute("b", id: "a")), [.attributeAdded], property: "a"),
        Change(
            "a renaming identifier is given up", book(attribute("b", id: "a")), book(attribute("a"), attribute("b")),
            [.attributeAdded], property: "b", value: "$source.b"),
        Change(
            "two attributes change names", book(attribute("a"), attribute("b")),
            book(attribute("a", id: "b"), attribute("b", id: "a")), [.attributeRenamed, .attributeRenamed],
            property: "a", value: "$source.b"),
        Change(
            "an identifier that nothing has parts nothing", book(attribute("a")), book(attribute("a", id: "x")), [],
            property: "a", value: "$source.a"),
        Change(
            "another type under an identifier of its own is another attribute", book(attribute("a")),
            book(attribute("a", .date, id: "a2")), [.attributeAdded, .attributeRemoved], property: "a"),
        Change(
            "a text becomes a number", book(attribute("a")), book(attribute("a", .integer32)),
            [.attributeTypeChanged],
            obstacle: "Book.a: Source and destination attribute types are incompatible: string and integer32."),
        Change(
            "a number becomes a date", book(attribute("a", .double)), book(attribute("a", .date)),
            [.attributeTypeChanged],
            obstacle: "Book.a: Source and destination attribute types are incompatible: double and date."),
        Change(
            "a URI becomes a text", book(attribute("a", .uri)), book(attribute("a")), [.attributeTypeChanged],
            obstacle: "Book.a: Source and destination attribute types are incompatible: uri and string."),
        Change(
            "a transient attribute is stored", book(attribute("a", isTransient: true)), book(attribute("a")),
            [.attributeMadePersistent], property: "a"),
        Change(
            "an attribute is not stored any more", book(attribute("a")), book(attribute("a", isTransient: true)),
            [.attributeMadeTransient]),
        Change(
            "a transient attribute of another type is stored", book(attribute("a", .undefined, isTransient: true)),
            book(attribute("a")), [.attributeMadePersistent, .attributeTypeChanged], property: "a"),
        Change(
            "a default changes", book(attribute("a")), book(attribute("a", default: .text("x"))),
            [.defaultValueChanged], property: "a", value: "$source.a"),
    ]

    static let relationshipChanges: [Change] = [
        Change(
            "relationships are added", shelf(nil, nil), shelf(books, related("shelf", "Shelf", inverse: "books")),
            [.relationshipAdded, .relationshipAdded]),
        Change(
            "a relationship is removed", shelf(nil, related("shelf", "Shelf", inverse: nil)), shelf(nil, nil),
            [.relationshipRemoved]),
        Change(
            "a relationship is renamed", shelf(nil, related("shelf", "Shelf", inverse: nil)),
            shelf(nil, related("place", "Shelf", inverse: nil, id: "shelf")), [.relationshipRenamed],
            property: "place", value: "$source.shelf"),
        Change(
            "a to-one relationship becomes to-many", shelf(nil, related("shelf", "Shelf", inverse: nil)),
            shelf(nil, related("shelf", "Shelf", inverse: nil, toMany: true)), [.relationshipMadeToMany],
            property: "shelf", value: "$source.shelf"),
        Change(
            "a to-many relationship becomes to-one", shelf(nil, related("shelf", "Shelf", inverse: nil, toMany: true)),
            shelf(nil, related("shelf", "Shelf", inverse: nil)), [.relationshipMadeToOne],
            obstacle: "Book.shelf: A to-many relationship cannot become to-one: only one of several objects could "
                + "be kept."),
        Change(
            "a relationship becomes ordered", shelf(nil, related("shelf", "Shelf", inverse: nil, toMany: true)),
            shelf(nil, related("shelf", "Shelf", inverse: nil, toMany: true, isOrdered: true)),
            [.relationshipMadeOrdered], property: "shelf", value: "$source.shelf"),
        Change(
            "a relationship becomes unordered",
            shelf(nil, related("shelf", "Shelf", inverse: nil, toMany: true, isOrdered: true)),
            shelf(nil, related("shelf", "Shelf", inverse: nil, toMany: true)), [.relationshipMadeUnordered],
            property: "shelf", value: "$source.shelf"),
        Change(
            "a destination becomes its parent",
            shelf(nil, related("shelf", "Shelf", inverse: nil)) + [Entity(name: "Box", superentity: "Shelf")],
            [
                Entity(name: "Book", relationships: [related("shelf", "Place", inverse: nil)]),
                Entity(name: "Place"), Entity(name: "Shelf", superentity: "Place"),
                Entity(name: "Box", superentity: "Shelf"),
            ], [.destinationEntityChanged, .entityAdded, .entityMoved], property: "shelf", value: "$source.shelf"),
        Change(
            "a destination becomes another entity", shelf(nil, related("shelf", "Shelf", inverse: nil)),
            shelf(nil, related("shelf", "Book", inverse: nil)), [.destinationEntityChanged],
            obstacle: "Book.shelf: It may lead to objects of Shelf, which are not objects of its new destination Book."),
        Change(
            "a destination becomes a subentity",
            shelf(nil, related("shelf", "Shelf", inverse: nil)) + [Entity(name: "Box", superentity: "Shelf")],
            shelf(nil, related("shelf", "Box", inverse: nil)) + [Entity(name: "Box", superentity: "Shelf")],
            [.destinationEntityChanged],
            obstacle: "Book.shelf: It may lead to objects of Shelf, which are not objects of its new destination Box."),
        Change(
            "a subentity leaves the destination's hierarchy",
            shelf(nil, related("shelf", "Shelf", inverse: nil)) + [Entity(name: "Box", superentity: "Shelf")],
            shelf(nil, related("shelf", "Shelf", inverse: nil)) + [Entity(name: "Box")],
            [.entityMoved, .destinationEntityChanged],
            obstacle: "Book.shelf: It may lead to objects of Box, which are not objects of its new destination Shelf."),
    ]

    static let entityChanges: [Change] = [
        Change("an entity is added", book(), book() + [Entity(name: "Car")], [.entityAdded]),
        Change("an entity is removed", book() + [Entity(name: "Car")], book(), [.entityRemoved]),
        Change(
            "an entity is renamed", book(attribute("a")),
            [Entity(name: "Tome", attributes: [attribute("a")], renamingIdentifier: "Book")], [.entityRenamed]),
        Change(
            "an entity is renamed and its name used again", book(attribute("a")),
            [Entity(name: "Book"), Entity(name: "Tome", attributes: [attribute("a")], renamingIdentifier: "Book")],
            [.entityAdded, .entityRenamed]),
        Change(
            "an entity gets a new parent", book(attribute("a")),
            [Entity(name: "Thing"), Entity(name: "Book", superentity: "Thing", attributes: [attribute("a")])],
            [.entityMoved, .entityAdded]),
        Change(
            "a property moves up",
            [Entity(name: "Thing"), Entity(name: "Book", superentity: "Thing", attributes: [attribute("a")])],
            [Entity(name: "Thing", attributes: [attribute("a")]), Entity(name: "Book", superentity: "Thing")],
            [.attributeMoved, .attributeAdded], property: "a", value: "$source.a"),
        Change(
            "a property moves down",
            [Entity(name: "Thing", attributes: [attribute("a")]), Entity(name: "Book", superentity: "Thing")],
            [Entity(name: "Thing"), Entity(name: "Book", superentity: "Thing", attributes: [attribute("a")])],
            [.attributeMoved, .attributeRemoved], property: "a", value: "$source.a"),
        Change(
            "an entity leaves its hierarchy",
            [Entity(name: "Thing", attributes: [attribute("a")]), Entity(name: "Book", superentity: "Thing")],
            [Entity(name: "Thing", attributes: [attribute("a")])] + book(attribute("a")),
            [.entityMoved, .attributeMoved], property: "a", value: "$source.a"),
        Change(
            "hierarchies are merged", book() + [Entity(name: "Car")],
            [
                Entity(name: "Thing"), Entity(name: "Book", superentity: "Thing"),
                Entity(name: "Car", superentity: "Thing"),
            ],
            [.entityMoved, .entityMoved, .entityAdded],
            obstacle:
                "Book: The hierarchies of Book and Car are merged into one, and the keys of their objects collide."),
        Change(
            "an entity becomes abstract", book(), [Entity(name: "Book", isAbstract: true)], [.entityMadeAbstract]),
        Change(
            "a uniqueness constraint is added", book(attribute("a")),
            [Entity(name: "Book", attributes: [attribute("a")], uniquenessConstraints: [["a"]])],
            [.uniquenessConstraintsChanged], property: "a", value: "$source.a"),
        Change(
            "an index is added", book(attribute("a")),
            [
                Entity(
                    name: "Book", attributes: [attribute("a")],
                    fetchIndexes: [FetchIndex(name: "byA", elements: [.init(property: "a")])])
            ], [.indexesChanged], property: "a", value: "$source.a"),
    ]

    @Test("follows each change", arguments: attributeChanges + relationshipChanges + entityChanges)
    func infers(change: Change) throws {
        let (source, destination) = (hashed("Model1", change.from), hashed("Model2", change.to))
        let inferred = InferredMapping.infer(source: source, destination: destination)
        #expect(inferred.changes.map(\.kind) == change.kinds)
        guard let mappingModel = inferred.mappingModel else {
            #expect(inferred.obstacles.first?.sentence == change.obstacle)
            return
        }
        #expect(change.obstacle == nil)
        let resolution = MappingResolution.resolve(
            source: source, destination: destination, mappingModels: [mappingModel])
        #expect(resolution.problems.isEmpty)
        guard let property = change.property else { return }
        let mapping = try #require(resolution.step.entityMappings.first { $0.destination == "Book" })
        #expect(mapping.keepsPrimaryKey)
        let attribute = mapping.attributes.first { $0.name == property }?.expression
        let relationship = mapping.relationships.first { $0.name == property }?.from
        #expect((attribute ?? relationship)?.description == change.value)
    }

    @Test("converts between numbers of any type, and between no other types")
    func types() {
        for old in AttributeType.allCases {
            for new in AttributeType.allCases {
                let inferred = InferredMapping.infer(
                    source: hashed("Model1", Self.book(Self.attribute("a", old))),
                    destination: hashed("Model2", Self.book(Self.attribute("a", new))))
                let isInferable = old == new || old.isNumeric && new.isNumeric
                #expect((inferred.mappingModel != nil) == isInferable, "\(old) to \(new)")
            }
        }
    }

    @Test("names its entity mappings as Core Data does")
    func names() throws {
        let source = hashed(
            "Model1",
            Self.book(Self.attribute("a")) + [
                Entity(name: "Car"), Entity(name: "Gone"), Entity(name: "Base", isAbstract: true),
            ])
        let destination = hashed(
            "Model2", Self.book() + [Entity(name: "Car"), Entity(name: "New"), Entity(name: "Base", isAbstract: true)])
        let mappingModel = try #require(
            InferredMapping.infer(source: source, destination: destination).mappingModel)
        #expect(
            mappingModel.entityMappings.map(\.name) == [
                "IEM_Transform_Book", "IEM_Copy_Car", "IEM_Add_New", "IEM_Remove_Gone",
            ])
        #expect(mappingModel.isInferred && mappingModel.name == "inferred")
    }

    @Test("leaves decisions that need rows to the rows")
    func checks() throws {
        let source = hashed(
            "Model1", Self.book(Self.attribute("a"), Self.attribute("b", .integer16)) + [Entity(name: "Plan")])
        let destination = hashed(
            "Model2",
            [
                Entity(
                    name: "Book",
                    attributes: [
                        Self.attribute("a"), Self.attribute("b", .integer16, isOptional: false, default: .integer(1)),
                        Self.attribute("c", isOptional: false),
                    ], uniquenessConstraints: [["a"], ["a", "b"], ["c"]]),
                Entity(name: "Plan", isAbstract: true),
            ])
        let mappingModel = try #require(
            InferredMapping.infer(source: source, destination: destination).mappingModel)
        let resolution = MappingResolution.resolve(
            source: source, destination: destination, mappingModels: [mappingModel])
        #expect(resolution.problems.isEmpty)
        #expect(resolution.needsRowCheck.map(\.attribute) == ["c"])
        #expect(resolution.needsEmptySource.map(\.source) == ["Plan"])
        #expect(resolution.needsEmptySource.first?.problem(rows: 3).message.contains("3 rows") == true)
        #expect(resolution.needsUniqueValues.map(\.names) == [["a"], ["a", "b"], ["c"]])
        #expect(resolution.needsUniqueValues[1].mappings.map(\.source) == ["Book"])
        #expect(resolution.needsUniqueValues[0].problem(values: 2, rows: 5).code == .notUnique)
    }

    @Test("does not check a uniqueness constraint again that the source has")
    func keptConstraint() throws {
        let source = hashed(
            "Model1", [Entity(name: "Book", attributes: [Self.attribute("a")], uniquenessConstraints: [["a"]])])
        let destination = hashed(
            "Model2",
            [
                Entity(
                    name: "Book", attributes: [Self.attribute("b", id: "a"), Self.attribute("c")],
                    uniquenessConstraints: [["b"]])
            ])
        let inferred = InferredMapping.infer(source: source, destination: destination)
        #expect(inferred.changes.map(\.kind) == [.attributeRenamed, .attributeAdded])
        let resolution = MappingResolution.resolve(
            source: source, destination: destination, mappingModels: [try #require(inferred.mappingModel)])
        #expect(resolution.needsUniqueValues.isEmpty)
    }

    @Test("warns of mandatory relationships that no mapping fills")
    func mandatoryRelationships() throws {
        let source = hashed("Model1", Self.shelf(nil, nil))
        let destination = hashed(
            "Model2",
            Self.shelf(
                Self.books, Self.related("shelf", "Shelf", inverse: "books", isOptional: false)))
        let inferred = InferredMapping.infer(source: source, destination: destination)
        let resolution = MappingResolution.resolve(
            source: source, destination: destination, mappingModels: [try #require(inferred.mappingModel)])
        #expect(resolution.problems.isEmpty)
        #expect(resolution.step.warnings.count == 1)
        #expect(resolution.step.warnings.first?.message.contains("Book.shelf is mandatory") == true)
    }

    @Test(
        "does not warn of a mandatory relationship to many without a minimum, as SwiftData's arrays are",
        arguments: [0, 1])
    func mandatoryArrays(_ minimum: Int) throws {
        let books = Relationship(
            name: "books", destinationEntity: "Book", inverseName: "shelf", isOptional: false, minCount: minimum,
            maxCount: 0)
        let source = hashed("Model1", Self.shelf(nil, nil))
        let destination = hashed("Model2", Self.shelf(books, Self.related("shelf", "Shelf", inverse: "books")))
        let inferred = InferredMapping.infer(source: source, destination: destination)
        let resolution = MappingResolution.resolve(
            source: source, destination: destination, mappingModels: [try #require(inferred.mappingModel)])
        #expect(resolution.problems.isEmpty)
        #expect(resolution.step.warnings.map(\.code) == (minimum == 0 ? [] : [.emptyMandatoryRelationship]))
    }

    private func hashed(_ name: String, _ entities: [Entity]) -> ModelVersion {
        var version = version(name, entities)
        version.hashes = VersionHash.hashes(of: version.model)
        return version
    }
}
