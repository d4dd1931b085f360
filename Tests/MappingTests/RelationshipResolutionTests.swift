import FerryBase
import FerryExpression
import FerryMapping
import FerryModel
import Testing

@Suite("Resolution of relationships")
struct RelationshipResolutionTests {
    /// Returns `mapping.relationship <- [mappings] of path` for every relationship that is set.
    private func links(_ resolution: MappingResolution) -> [String] {
        resolution.step.entityMappings.flatMap { mapping in
            mapping.relationships.map {
                "\(mapping.name).\($0.name) <- \($0.mappings.joined(separator: " ")) of \($0.from)"
            }
        }
    }

    @Test("Of two automatic sides of a relationship, the to-one or the first to-many side stays")
    func bothAutomatic() throws {
        let forward = [try mapping("Book", "Book"), try mapping("User", "User"), try mapping("Shelf", "Shelf")]
        let resolution = resolve(forward, to: library)
        #expect(resolution.problems.isEmpty && resolution.step.warnings.isEmpty)
        #expect(
            links(resolution) == [
                "BookToBook.shelf <- ShelfToShelf of $source.shelf", "BookToBook.users <- UserToUser of $source.users",
            ])
        #expect(
            links(resolve(forward.reversed(), to: library)) == [
                "UserToUser.books <- BookToBook of $source.books", "BookToBook.shelf <- ShelfToShelf of $source.shelf",
            ])
    }

    @Test("A relationship that its inverse fills is not reported as empty")
    func filledByInverse() throws {
        let shelf = try mapping(
            "Book", "Shelf", relationships: ["books": .destinations(ofMapping: "BookToBook", from: .variable("source"))]
        )
        let filled = resolve([try mapping("Book", "Book"), shelf], to: library)
        let subject = FerryWarning.Subject(entity: "Book", property: "shelf", entityMapping: "BookToBook")
        #expect(!filled.step.warnings.contains { $0.subject == subject }, "\(filled.step.warnings)")
        let empty = resolve([try mapping("Book", "Book"), try mapping("Book", "Shelf", name: "Bare")], to: library)
        #expect(
            empty.step.warnings.contains {
                $0.code == .emptyRelationship && $0.subject == subject && $0.message.contains("Book.shelf stays empty")
            }, "\(empty.step.warnings)")
    }

    @Test("An ordered side has precedence over an unordered one")
    func ordered() throws {
        var ordered = library
        var user = try #require(library.model.entities["User"])
        user.relationships[0].isOrdered = true
        ordered.model = ManagedObjectModel(
            versionIdentifiers: [],
            entities: [user] + ["Book", "Shelf"].compactMap { library.model.entities[$0] })
        let mappings = [try mapping("Book", "Book"), try mapping("User", "User"), try mapping("Shelf", "Shelf")]
        #expect(
            links(resolve(mappings, from: ordered, to: ordered)) == [
                "BookToBook.shelf <- ShelfToShelf of $source.shelf", "UserToUser.books <- BookToBook of $source.books",
            ])
    }

    @Test("A relationship that is its own inverse stays")
    func ownInverse() throws {
        let model = version(
            "Model1", [Entity(name: "Person", relationships: [.toMany("friends", "Person", inverse: "friends")])])
        #expect(
            links(resolve([try mapping("Person", "Person")], from: model, to: model)) == [
                "PersonToPerson.friends <- PersonToPerson of $source.friends"
            ])
    }

    @Test("A relationship of a parent is one relationship of the mapping for its children")
    func tree() throws {
        let model = version(
            "Model1",
            [
                Entity(
                    name: "Node",
                    relationships: [
                        .toMany("children", "Node", inverse: "parent"), .toOne("parent", "Node", inverse: "children"),
                    ])
            ])
        #expect(
            links(resolve([try mapping("Node", "Node")], from: model, to: model)) == [
                "NodeToNode.parent <- NodeToNode of $source.parent"
            ])
    }

    @Test("A relationship to an entity with subentities takes the objects of every mapping of them")
    func subentities() throws {
        let entities = [
            Entity(name: "Person", relationships: [.toMany("cars", "Car", inverse: nil)]),
            Entity(name: "Car"), Entity(name: "SportCar", superentity: "Car"), Entity(name: "Boat"),
        ]
        let model = version("Model1", entities)
        let mappings = [
            try mapping("SportCar", "SportCar"), try mapping("Person", "Person"), try mapping("Car", "Car"),
            try mapping("Boat", "Boat"), try mapping("Car", "Boat"),
        ]
        #expect(
            links(resolve(mappings, from: model, to: model)) == [
                "PersonToPerson.cars <- SportCarToSportCar CarToCar of $source.cars"
            ])
    }

    @Test("A relationship whose objects no mapping carries stays empty, with a warning")
    func nobodyCarries() throws {
        let destination = version(
            "Model2",
            [
                Entity(name: "Book", relationships: [.toOne("shelf", "Shelf", inverse: nil)]), Entity(name: "User"),
                Entity(name: "Shelf"),
            ])
        let resolution = resolve(
            [try mapping("Book", "Book"), try mapping("User", "User"), try mapping("Shelf", nil)], to: destination)
        #expect(resolution.problems.isEmpty)
        #expect(links(resolution).isEmpty)
        #expect(
            resolution.step.warnings.map(\.message) == [
                "Book.shelf stays empty: no entity mapping creates Shelf objects from Shelf objects."
            ])
    }

    @Test("Splits, iterations and shared objects are related to their source objects")
    func splits() throws {
        let destination = version(
            "Model2",
            [
                Entity(
                    name: "Book", attributes: [.string("title")],
                    relationships: [
                        .toMany("authors", "Author", inverse: "books"), .toMany("files", "File", inverse: "book"),
                    ]),
                Entity(
                    name: "Author", attributes: [.string("name")],
                    relationships: [.toMany("books", "Book", inverse: "authors")]),
                Entity(
                    name: "User", attributes: [.string("name")],
                    relationships: [.toMany("files", "File", inverse: "user")]),
                Entity(
                    name: "File",
                    relationships: [.toOne("book", "Book", inverse: "files"), .toOne("user", "User", inverse: "files")]),
            ])
        let iteration = EntityMapping.Iteration(variable: "user", elements: try Expression.parse("$source.users"))
        let resolution = resolve(
            [
                try mapping("Book", "Book", relationships: ["authors": destinations("BookAuthor", "$source")]),
                try mapping(
                    "Book", "Author", name: "BookAuthor", unique: ["name"],
                    attributes: ["name": value("$source.authorName")]),
                try mapping("User", "User"),
                try mapping(
                    "Book", "File", name: "BookFile", iteration: iteration,
                    relationships: [
                        "book": destinations("BookToBook", "$source"), "user": destinations("UserToUser", "$user"),
                    ]), try mapping("Shelf", nil),
            ], to: destination)
        #expect(resolution.problems.isEmpty && resolution.step.warnings.isEmpty)
        #expect(
            links(resolution) == [
                "BookToBook.authors <- BookAuthor of $source", "BookFile.book <- BookToBook of $source",
                "BookFile.user <- UserToUser of $user",
            ])
    }

    @Test("Both sides of a split give the same links")
    func bothSidesOfASplit() throws {
        let source = version("Model1", [Entity(name: "Note")])
        let destination = version(
            "Model2",
            [
                Entity(name: "Note", relationships: [.toMany("images", "Image", inverse: "note")]),
                Entity(name: "Image", relationships: [.toOne("note", "Note", inverse: "images")]),
            ])
        let resolution = resolve(
            [
                try mapping("Note", "Note", relationships: ["images": destinations("NoteToImage", "$source")]),
                try mapping("Note", "Image", relationships: ["note": destinations("NoteToNote", "$source")]),
            ], from: source, to: destination)
        #expect(resolution.step.warnings.isEmpty)
        #expect(links(resolution) == ["NoteToImage.note <- NoteToNote of $source"])
    }

    @Test("Of two equal sides one stays in all mappings, for any order of the mappings")
    func oneSideInAllMappings() throws {
        let model = version(
            "Model1",
            [
                Entity(name: "Person", relationships: [.toMany("cars", "Car", inverse: "owners")]),
                Entity(name: "Car", relationships: [.toMany("owners", "Person", inverse: "cars")]),
                Entity(name: "SportCar", superentity: "Car"),
            ])
        let mappings = [
            try mapping("Car", "Car"), try mapping("Person", "Person"), try mapping("SportCar", "SportCar"),
        ]
        #expect(
            links(resolve(mappings, from: model, to: model)) == [
                "CarToCar.owners <- PersonToPerson of $source.owners",
                "SportCarToSportCar.owners <- PersonToPerson of $source.owners",
            ])
    }

    @Test("Of two to-many sides, the one that takes its objects from a to-one relationship stays")
    func madeToMany() throws {
        let source = version(
            "Model1",
            [
                Entity(name: "User", relationships: [.toMany("books", "Book", inverse: "user")]),
                Entity(name: "Book", relationships: [.toOne("user", "User", inverse: "books")]),
            ])
        let destination = version(
            "Model2",
            [
                Entity(name: "User", relationships: [.toMany("books", "Book", inverse: "users")]),
                Entity(name: "Book", relationships: [.toMany("users", "User", inverse: "books")]),
            ])
        let mappings = [
            try mapping("User", "User"),
            try mapping("Book", "Book", relationships: ["users": destinations("UserToUser", "$source.user")]),
        ]
        for mappings in [mappings, mappings.reversed()] {
            let resolution = resolve(mappings, from: source, to: destination)
            #expect(resolution.step.warnings.isEmpty)
            #expect(links(resolution) == ["BookToBook.users <- UserToUser of $source.user"])
        }
    }

    @Test("Longer paths give the same links if one is the reverse of the other")
    func walkedBack() throws {
        let source = version(
            "Model1",
            [
                Entity(name: "Mood", relationships: [.toOne("country", "Country", inverse: "moods")]),
                Entity(
                    name: "Country",
                    relationships: [
                        .toMany("moods", "Mood", inverse: "country"),
                        .toOne("continent", "Continent", inverse: "countries"),
                    ]),
                Entity(name: "Continent", relationships: [.toMany("countries", "Country", inverse: "continent")]),
            ])
        let destination = version(
            "Model2",
            [
                Entity(name: "Mood", relationships: [.toOne("continent", "Continent", inverse: "moods")]),
                Entity(name: "Continent", relationships: [.toMany("moods", "Mood", inverse: "continent")]),
            ])
        let resolution = resolve(
            [
                try mapping(
                    "Mood", "Mood",
                    relationships: ["continent": destinations("ContinentToContinent", "$source.country.continent")]),
                try mapping(
                    "Continent", "Continent",
                    relationships: ["moods": destinations("MoodToMood", "$source.countries.@distinctUnionOfSets.moods")]
                ),
                try mapping("Country", nil),
            ], from: source, to: destination)
        #expect(resolution.step.warnings.isEmpty)
        #expect(links(resolution) == ["MoodToMood.continent <- ContinentToContinent of $source.country.continent"])
    }

    @Test("Of two different sides the later one has precedence, with a warning")
    func conflict() throws {
        let mappings = [
            try mapping(
                "Book", "Book", relationships: ["users": destinations("UserToUser", "$source.shelf.books.users")]),
            try mapping("User", "User"), try mapping("Shelf", "Shelf"),
        ]
        let resolution = resolve(mappings, to: library)
        #expect(resolution.problems.isEmpty)
        #expect(
            links(resolution) == [
                "BookToBook.shelf <- ShelfToShelf of $source.shelf", "UserToUser.books <- BookToBook of $source.books",
            ])
        #expect(resolution.step.warnings.count == 1)
        #expect(resolution.step.warnings[0].message.hasSuffix("the later one, books, wins."))

        let reversed = resolve(mappings.reversed(), to: library)
        #expect(links(reversed).last == "BookToBook.users <- UserToUser of $source.shelf.books.users")
        #expect(reversed.step.warnings[0].message.hasSuffix("the later one, users, wins."))
    }

    @Test("A lookup without a mapping name uses all possible mappings")
    func anyMapping() throws {
        let resolution = resolve(
            [
                try mapping("Book", "Book", name: "Thin", filter: "pages < 10"),
                try mapping("Book", "Book", name: "Thick", filter: "pages >= 10"), try mapping("User", "User"),
                try mapping(
                    "Shelf", "Shelf",
                    relationships: ["books": .destinationsOfAnyMapping(from: Expression.parse("$source.books"))]),
            ], to: library)
        #expect(resolution.problems.isEmpty)
        #expect(
            links(resolution) == [
                "Thin.shelf <- ShelfToShelf of $source.shelf", "Thin.users <- UserToUser of $source.users",
                "Thick.shelf <- ShelfToShelf of $source.shelf", "Thick.users <- UserToUser of $source.users",
            ])
    }

    @Test("An iteration over JSON gives values, over a to-one relationship nothing to iterate")
    func iterations() throws {
        let artists = EntityMapping.Iteration(
            variable: "artist", elements: try Expression.parse("JSON($source.json, 'artists')"))
        let others = [try mapping("Book", "Book"), try mapping("User", "User")]
        let good = try mapping(
            "Book", "Shelf", iteration: artists, unique: ["name"], attributes: ["name": value("$artist.name")])
        #expect(resolve([good] + others, to: library).problems.isEmpty)

        let related = try mapping(
            "Book", "Shelf", iteration: artists, relationships: ["books": destinations("BookToBook", "$artist")])
        #expect(resolve([related] + others, to: library).problems.map(\.code) == [.badExpression])

        for elements in ["$source.shelf", "$source.title", "JSON($source.pages, 'a')", "$source.nothing"] {
            let broken = try mapping(
                "Book", "Shelf",
                iteration: .init(variable: "each", elements: try Expression.parse(elements)),
                attributes: ["name": value("$each.name")])
            let problems = resolve([broken] + others, to: library).problems
            #expect(problems.count == 1)
            #expect(problems.first?.message.contains("forEach: ") == true)
        }
    }

    @Test("A relationship that is its own inverse stays between objects of different subentities")
    func ownInverseOfSubentities() throws {
        let people = version(
            "People",
            [
                Entity(name: "Person", relationships: [.toMany("friends", "Person", inverse: "friends")]),
                Entity(name: "Musician", superentity: "Person"),
            ])
        let resolution = resolve(
            [try mapping("Person", "Person"), try mapping("Musician", "Musician")], from: people, to: people)
        #expect(
            resolution.step.entityMappings.map { $0.relationships.map(\.mappings) }
                == [[["PersonToPerson", "MusicianToMusician"]], [["PersonToPerson", "MusicianToMusician"]]])
    }
}
