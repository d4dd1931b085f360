import FerryBase
import FerryExpression
import FerryMapping
import FerryModel
import Testing

@Suite("Resolution of a step")
struct MappingResolutionTests {
    // MARK: Attributes

    @Test("An automatic attribute has the source attribute with its name, else the default, in name order")
    func automaticAttributes() throws {
        let destination = version(
            "Model2",
            [
                Entity(
                    name: "Book",
                    attributes: [
                        .string("title"), Attribute(name: "pages", type: .double, isOptional: true), .string("notes"),
                        Attribute(name: "cached", type: .string, isOptional: true, isTransient: true),
                        Attribute(
                            name: "count", type: .integer32, isOptional: true, derivationExpression: "users.@count"),
                    ])
            ])
        let resolution = resolve([try mapping("Book", "Book")], to: destination)
        #expect(resolution.problems.isEmpty)
        #expect(
            resolution.step.entityMappings[0].attributes.map { "\($0.name)=\($0.expression?.description ?? "-")" }
                == ["notes=-", "pages=$source.pages", "title=$source.title"])
    }

    @Test("Inherited attributes and relationships are resolved like own ones")
    func inheritance() throws {
        let source = version(
            "Model1",
            [
                Entity(name: "Base", isAbstract: true, attributes: [.string("name")]),
                Entity(name: "Leaf", superentity: "Base", attributes: [.string("own")]),
            ])
        let resolution = resolve([try mapping("Leaf", "Leaf")], from: source, to: source)
        #expect(
            text(of: resolution) == """
                Model/Model1 -> Model/Model1
                LeafToLeaf: Leaf -> Leaf, keeps keys
                    name = $source.name
                    own = $source.own

                """)
    }

    @Test("Types that Core Data does not convert are a problem that names both attributes; an expression solves it")
    func incompatibleTypes() throws {
        let destination = version("Model2", [Entity(name: "Book", attributes: [.integer("title"), .string("pages")])])
        let resolution = resolve([try mapping("Book", "Book")], to: destination)
        #expect(resolution.problems.map(\.code) == [.badMapping, .badMapping])
        #expect(
            resolution.problems[1].message
                == "Step.json: entity mapping \"BookToBook\": Book.title is of type string, but Book.title is of type integer64."
        )
        #expect(resolution.problems[1].place.property == "title")
        let explicit = try mapping(
            "Book", "Book", attributes: ["title": value("$source.authorName"), "pages": .empty])
        #expect(resolve([explicit], to: destination).problems.isEmpty)
    }

    @Test("With automatic off, only named properties are set")
    func notAutomatic() throws {
        let resolution = resolve(
            [
                try mapping("Book", "Book", isAutomatic: false, attributes: ["title": .automatic]),
                try mapping("User", "User"), try mapping("Shelf", "Shelf", isAutomatic: false),
            ], to: library)
        let book = resolution.step.entityMappings[0]
        #expect(book.attributes.filter { $0.expression != nil }.map(\.name) == ["title"])
        #expect(book.relationships.isEmpty)
    }

    @Test("A mandatory attribute without value or default is left to the rows")
    func mandatory() throws {
        let destination = version(
            "Model2",
            [
                Entity(
                    name: "Book",
                    attributes: [
                        Attribute(name: "isbn", type: .string),
                        Attribute(name: "state", type: .string, defaultValue: .text("new")),
                        Attribute(name: "title", type: .string), Attribute(name: "pages", type: .integer64),
                    ])
            ])
        let resolution = resolve(
            [try mapping("Book", "Book", attributes: ["pages": value("nil")])], to: destination)
        #expect(resolution.problems.isEmpty)
        #expect(resolution.needsRowCheck.map(\.attribute) == ["isbn", "pages"])
        #expect(resolution.needsRowCheck[0].problem("", key: nil).code == .mandatoryValue)
    }

    // MARK: Names

    @Test("Wrong names are problems, with a suggestion")
    func wrongNames() throws {
        let cases: [(EntityMapping, String)] = [
            (try mapping("Bok", "Book"), "Model1 has no entity \"Bok\"; did you mean \"Book\"?"),
            (try mapping("Book", "Boook"), "Model1 has no entity \"Boook\"; did you mean \"Book\"?"),
            (
                try mapping("Book", "Book", attributes: ["titel": value("1")]),
                "Book has no attribute \"titel\"; did you mean \"title\"?"
            ),
            (try mapping("Book", "Book", attributes: ["users": value("1")]), "Book.users is a relationship"),
            (
                try mapping("Book", "Book", relationships: ["user": destinations("BookToBook", "$source")]),
                "Book has no relationship \"user\"; did you mean \"users\"?"
            ),
            (
                try mapping("Book", "Book", relationships: ["title": destinations("BookToBook", "$source")]),
                "Book.title is an attribute"
            ),
            (
                try mapping("Book", "Book", relationships: ["users": destinations("UserToUse", "$source.users")]),
                "there is no entity mapping \"UserToUse\"; did you mean \"UserToUser\"?"
            ),
            (
                try mapping("Book", "Book", relationships: ["users": destinations("UserToUser", "$source.shelf")]),
                "yields Shelf objects, but entity mapping \"UserToUser\" takes User objects"
            ),
            (
                try mapping("Book", "Book", relationships: ["users": destinations("ShelfToShelf", "$source.shelf")]),
                "creates Shelf objects, but the relationship leads to User"
            ),
            (
                try mapping("Book", "Book", relationships: ["users": destinations("UserToUser", "$source.titles")]),
                "titles"
            ),
            (try mapping("Book", "Book", unique: ["isbn"]), "unique: Book has no stored attribute \"isbn\""),
            (try mapping("Book", "Book", filter: "titel != nil"), "where: "),
            (try mapping("Book", "Book", attributes: ["title": value("$source.titel")]), "attribute \"title\": "),
            (try mapping("Book", "Book", attributes: ["title": value("$other.title")]), "attribute \"title\": "),
            (try mapping("Book", "Book", attributes: ["title": value("stable")]), "attribute \"title\": "),
        ]
        for (broken, message) in cases {
            let resolution = resolve([broken, try mapping("User", "User"), try mapping("Shelf", "Shelf")], to: library)
            #expect(resolution.problems.count == 1, "\(message): \(resolution.problems.map(\.message))")
            #expect(resolution.problems.first?.message.contains(message) == true, "\(resolution.problems)")
        }
    }

    @Test("An automatic property that the model does not have any more is only a warning")
    func staleProperty() throws {
        let resolution = resolve(
            [
                try mapping("Book", "Book", attributes: ["gone": .automatic], relationships: ["lost": .automatic]),
                try mapping("User", "User"), try mapping("Shelf", "Shelf"),
            ], to: library)
        #expect(resolution.problems.isEmpty)
        #expect(resolution.step.warnings.count == 2)
    }

    @Test("An abstract destination is a problem")
    func abstractDestination() throws {
        let destination = version("Model2", [Entity(name: "Book", isAbstract: true)])
        let resolution = resolve([try mapping("Book", "Book")], to: destination)
        #expect(resolution.problems.map(\.message).first?.contains("is abstract") == true)
        #expect(resolution.step.entityMappings.isEmpty)
    }

    @Test("Two entity mappings of one name are a problem inside a mapping model, and are qualified across two")
    func equalNames() throws {
        let slice = try mapping("Book", "Book", filter: "pages > 10")
        let rest = [try mapping("User", "User"), try mapping("Shelf", "Shelf")]
        #expect(resolve([slice, slice] + rest, to: library).problems.count == 1)

        let resolution = MappingResolution.resolve(
            source: library, destination: library,
            mappingModels: [
                mappingModel([slice] + rest, name: "One"),
                mappingModel([try mapping("Book", "Book", filter: "pages <= 10")], name: "Two"),
            ])
        #expect(resolution.problems.isEmpty)
        let names = ["One/BookToBook", "UserToUser", "ShelfToShelf", "Two/BookToBook"]
        #expect(resolution.step.entityMappings.map(\.name) == names)
        #expect(resolution.step.entityMappings.map(\.mappingModel) == [0, 0, 0, 1])
        #expect(resolution.step.entityMappings.map(\.keepsPrimaryKey) == [true, true, true, false])
    }

    // MARK: Policies

    @Test("A policy class is reported with its mapping and both remedies, and hides other problems of the mapping")
    func policies() throws {
        let resolution = resolve(
            [
                try mapping("Book", "Book", attributes: ["titel": value("1")], policy: "App.BookPolicy"),
                try mapping("User", "User"), try mapping("Shelf", "Shelf"),
            ], to: library)
        let problem = try #require(resolution.problems.first)
        #expect(resolution.problems.count == 1)
        #expect(problem.code == .missingPolicy)
        for part in ["App.BookPolicy", "\"BookToBook\"", "Step.json"] { #expect(problem.message.contains(part)) }
        #expect(problem.remedy.description.contains("\"extends\": \"Step.json\""))
        #expect(problem.remedy.description.contains("under the class name App.BookPolicy"))
        #expect(problem.place.entityMapping == "BookToBook")
        #expect(resolution.step.entityMappings.map(\.name) == ["BookToBook", "UserToUser", "ShelfToShelf"])
    }

    @Test("A call of the policy in an expression needs the policy too")
    func policyCalls() throws {
        let call = Expression.function(receiver: .variable("entityPolicy"), selector: "sel:", arguments: [])
        for expression in [call, .keyPath(.variable("entityPolicy"), [.key("sex")]), .predefined("abs:", [call])] {
            let resolution = resolve(
                [
                    try mapping("Book", "Book", attributes: ["title": .value(expression)]), try mapping("User", "User"),
                    try mapping("Shelf", "Shelf"),
                ], to: library)
            #expect(resolution.problems.map(\.code) == [.missingPolicy])
            #expect(resolution.problems[0].remedy.description.contains("extends"))
        }
    }

    @Test("A part of a file that Ferry cannot read is refused only if it is used")
    func unreadable() throws {
        var broken = try mapping("Book", "Book")
        broken.unreadable = [.init(part: "the filter predicate", reason: "it is odd.")]
        let resolution = resolve([broken, try mapping("User", "User"), try mapping("Shelf", "Shelf")], to: library)
        #expect(resolution.problems.map(\.code) == [.unsupported])
        #expect(resolution.problems[0].message.contains("the filter predicate cannot be used: it is odd."))
    }

    // MARK: Unmapped entities

    @Test("Source entities without a mapping, and added entities that no mapping fills, give a warning")
    func leftOut() throws {
        let destination = version(
            "Model2",
            [Entity(name: "Book", attributes: [.string("title")]), Entity(name: "Maker"), Entity(name: "Extra")])
        let resolution = resolve(
            [
                try mapping("Book", "Book"), try mapping(nil, "Maker"), try mapping(nil, "Extra"),
                try mapping("Shelf", nil), try mapping("User", "Extra"),
            ], to: destination)
        #expect(resolution.problems.isEmpty)
        #expect(resolution.step.entityMappings.map(\.name) == ["BookToBook", "UserToExtra"])
        #expect(resolution.step.warnings.map { $0.message.contains("Maker") } == [true])
        let fewer = resolve([try mapping("Book", "Book")], to: destination)
        #expect(
            fewer.step.warnings.map(\.message) == [
                "The source entity Shelf has no entity mapping: its objects are dropped.",
                "The source entity User has no entity mapping: its objects are dropped.",
            ])
    }

    // MARK: Keys

    private func keeping(_ mappings: [EntityMapping], from source: ModelVersion, to destination: ModelVersion) -> [Bool]
    {
        resolve(mappings, from: source, to: destination).step.entityMappings.map(\.keepsPrimaryKey)
    }

    @Test("The first source root keeps its keys in a destination root, and each source entity once")
    func keys() throws {
        let source = version(
            "Model1",
            [
                Entity(name: "Animal", isAbstract: true), Entity(name: "Cat", superentity: "Animal"),
                Entity(name: "Dog", superentity: "Animal"), Entity(name: "Stone"), Entity(name: "Rock"),
            ])
        let destination = version(
            "Model2",
            [
                Entity(name: "Thing", isAbstract: true), Entity(name: "Pet", superentity: "Thing"),
                Entity(name: "Pebble", superentity: "Thing"), Entity(name: "Other"),
            ])
        let mappings = [
            try mapping("Stone", "Pebble", unique: []), try mapping("Cat", "Pet"), try mapping("Stone", "Pet"),
            try mapping("Cat", "Other", unique: []), try mapping("Dog", "Other"),
            try mapping("Cat", "Other", name: "Again"),
            try mapping("Rock", "Other", name: "Late"),
        ]
        #expect(
            keeping(mappings, from: source, to: destination) == [true, false, false, true, true, false, false])
    }

    @Test("A mapping that iterates, or finds before it creates, makes new keys and claims no root")
    func newKeys() throws {
        let destination = version(
            "Model2", [Entity(name: "Author", attributes: [.string("name")]), Entity(name: "File")])
        let iteration = EntityMapping.Iteration(variable: "user", elements: try Expression.parse("$source.users"))
        let mappings = [
            try mapping("Book", "Author", unique: ["name"]), try mapping("Book", "File", iteration: iteration),
            try mapping("User", "Author"), try mapping("Shelf", "File"),
        ]
        #expect(keeping(mappings, from: library, to: destination) == [false, false, true, true])
    }
}
