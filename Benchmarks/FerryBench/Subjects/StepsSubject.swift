internal import Ferry
internal import FerryBase
internal import FerryGenerate
internal import FerryModel
internal import Foundation

/// A library with four versions: books carried and computed, authors found or created, texts computed.
enum StepsSubject {
    static let versions = ["V1", "V2", "V3", "V4"]

    private static let laterBook =
        Subject.authoredBook + [
            ModelText.attribute("heading", "String"),
            ModelText.attribute("rating", "Integer 16", isOptional: false, defaultValue: "3"),
            ModelText.toMany("authors", "Author", inverse: "books"),
            ModelText.toMany("users", "User", inverse: "books"),
        ]

    private static let models = [
        Subject.booksAndUsers.old, Subject.booksAndUsers.new,
        ModelText.model([Subject.author, ModelText.entity("Book", laterBook, indexed: ["heading"]), Subject.user]),
        ModelText.model([
            Subject.author,
            ModelText.entity(
                "Book", laterBook + [ModelText.attribute("headingLength", "Integer 32")], indexed: ["heading"]),
            Subject.user,
        ]),
    ]

    private static let mappings = [
        """
        { "source": "V1", "destination": "V2", "entityMappings": [
            { "name": "BookToBook", "source": "Book", "destination": "Book",
              "attributes": { "heading": "$source.title", "price": "$source.price * 1.2", "rating": null } },
            { "name": "UserToUser", "source": "User", "destination": "User" } ] }
        """,
        """
        { "source": "V2", "destination": "V3", "entityMappings": [
            { "name": "BookAuthor", "source": "Book", "destination": "Author", "where": "authorName != nil",
              "unique": ["name"], "attributes": { "name": "$source.authorName" } },
            { "name": "BookToBook", "source": "Book", "destination": "Book",
              "relationships": { "authors": { "mapping": "BookAuthor", "from": "$source" } } },
            { "name": "UserToUser", "source": "User", "destination": "User" } ] }
        """,
        """
        { "source": "V3", "destination": "V4", "entityMappings": [
            { "name": "AuthorToAuthor", "source": "Author", "destination": "Author" },
            { "name": "BookToBook", "source": "Book", "destination": "Book",
              "attributes": { "headingLength": "$source.heading.length" } },
            { "name": "UserToUser", "source": "User", "destination": "User" } ] }
        """,
    ]

    private static func model(_ name: String, _ folder: String) -> String { "\(folder)/\(name).xcdatamodel" }
    private static func mapping(_ step: Int, _ folder: String) -> String { "\(folder)/step\(step + 1).json" }

    static func catalog(_ folder: String) throws -> ModelCatalog {
        try ModelCatalog(paths: versions.map { model($0, folder) })
    }

    static func write(rows: Int, to folder: String) throws {
        let files = FileLayer()
        for (name, text) in zip(versions, models) {
            try files.createDirectory(model(name, folder))
            try files.replace("\(model(name, folder))/contents", with: Array(text.utf8))
        }
        for (step, text) in mappings.enumerated() {
            try files.replace(mapping(step, folder), with: Array(text.utf8))
        }
        let first = try catalog(folder).version(named: versions[0])
        try StoreGenerator(first, options: Subject.booksAndUsers.options(rows)).generate(
            at: Subject.store(folder), files: files)
        try files.syncFile(Subject.store(folder))
    }

    static func migrator(_ folder: String, store: String) throws -> Migrator {
        try Migrator(
            store: URL(fileURLWithPath: store), models: versions.map { .url(URL(fileURLWithPath: model($0, folder))) },
            mappings: mappings.indices.map { URL(fileURLWithPath: mapping($0, folder)) })
    }

    /// The hand-written statements of each step, in the order of the steps.
    static let statements: [@Sendable (SQLFloor.Plan) throws -> [String]] = [
        { [try BookSQL.carry($0), try BookSQL.users($0), try BookSQL.links("users", $0)] },
        { try BookSQL.authors(carried, $0) + [BookSQL.users($0), BookSQL.links("users", $0)] },
        { plan in
            [
                """
                INSERT INTO main.ZAUTHOR (Z_PK, Z_ENT, Z_OPT, ZNAME)
                SELECT Z_PK, \(try plan.number(of: "Author")), Z_OPT, ZNAME FROM source.ZAUTHOR
                """,
                """
                INSERT INTO main.ZBOOK (Z_PK, Z_ENT, \(carried), ZHEADINGLENGTH)
                SELECT Z_PK, \(try plan.number(of: "Book")), \(carried), length(ZHEADING) FROM source.ZBOOK
                """,
                try BookSQL.users(plan), try BookSQL.links("authors", plan), try BookSQL.links("users", plan),
            ]
        },
    ]

    private static let carried = "Z_OPT, ZADDEDON, ZFILEURL, ZISBN, ZLANGUAGE, ZPAGES, ZPRICE, ZHEADING, ZRATING"
}
