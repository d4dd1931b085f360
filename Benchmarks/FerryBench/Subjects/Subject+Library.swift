internal import FerryGenerate
internal import FerryStore

extension Subject {
    /// Books and users, two users to a book, a fetch index on each: the whole store keeps its shape.
    static let booksAndUsers = Subject(
        old: ModelText.model([
            ModelText.entity(
                "Book", oldBook + [ModelText.toMany("users", "User", inverse: "books")], indexed: ["title"]),
            user,
        ]),
        new: ModelText.model([
            ModelText.entity(
                "Book",
                keptBook + [
                    ModelText.attribute("heading", "String", renamedFrom: "title"),
                    ModelText.attribute("rating", "Integer 16", isOptional: false, defaultValue: "3"),
                    ModelText.toMany("users", "User", inverse: "books"),
                ], indexed: ["heading"]),
            user,
        ]),
        mapping: """
            { "source": "Version1", "destination": "Version2",
              "entityMappings": [
                { "name": "BookToBook", "source": "Book", "destination": "Book",
                  "attributes": { "heading": "$source.title", "price": "$source.price * 1.2", "rating": null } },
                { "name": "UserToUser", "source": "User", "destination": "User" } ] }
            """,
        options: { rows in
            GenerationOptions(
                rowsOfEntity: ["Book": Int64(rows), "User": Int64(max(2, rows / 5))], emptyPercent: 0,
                values: bookValues, links: [PropertyKey("Book", "users"): 2...2])
        })

    static let user = ModelText.entity("User", userProperties, indexed: ["name"])

    static let userProperties = [
        ModelText.attribute("memberSince", "Date"), ModelText.attribute("name", "String"),
        ModelText.toMany("books", "Book", inverse: "users"),
    ]

    static let author = ModelText.entity(
        "Author", [ModelText.attribute("name", "String"), ModelText.toMany("books", "Book", inverse: "authors")])

    /// The attributes that a book keeps when its author becomes an object.
    static let authoredBook = keptBook.filter { !$0.contains("\"authorName\"") }

    /// The library with an author found or created for each book, and a file for each of its users.
    static let authorsAndFiles = Subject(
        old: booksAndUsers.old,
        new: ModelText.model([
            author,
            ModelText.entity(
                "Book",
                authoredBook.filter { !$0.contains("\"fileURL\"") } + [
                    ModelText.attribute("title", "String"), ModelText.toMany("authors", "Author", inverse: "books"),
                    ModelText.toMany("files", "File", inverse: "book"),
                ], indexed: ["title"]),
            ModelText.entity(
                "File",
                [
                    ModelText.attribute("url", "String"), ModelText.toOne("book", "Book", inverse: "files"),
                    ModelText.toOne("user", "User", inverse: "files"),
                ]),
            ModelText.entity(
                "User",
                [
                    ModelText.attribute("memberSince", "Date"), ModelText.attribute("name", "String"),
                    ModelText.toMany("files", "File", inverse: "user"),
                ], indexed: ["name"]),
        ]),
        mapping: """
            { "source": "Version1", "destination": "Version2",
              "entityMappings": [
                { "name": "BookAuthor", "source": "Book", "destination": "Author", "where": "authorName != nil",
                  "unique": ["name"], "attributes": { "name": "$source.authorName" } },
                { "name": "BookToBook", "source": "Book", "destination": "Book",
                  "relationships": { "authors": { "mapping": "BookAuthor", "from": "$source" } } },
                { "name": "UserToUser", "source": "User", "destination": "User" },
                { "name": "BookFile", "source": "Book", "forEach": { "user": "$source.users" }, "destination": "File",
                  "attributes": { "url": "$source.fileURL" },
                  "relationships": { "book": { "mapping": "BookToBook", "from": "$source" },
                                     "user": { "mapping": "UserToUser", "from": "$user" } } } ] }
            """,
        options: booksAndUsers.options)

    /// Books whose authors are found by name or created, and related many to many.
    ///
    /// - Parameter share: The number of books per author.
    /// - Returns: The subject.
    static func authors(booksPerAuthor share: Int) -> Subject {
        Subject(
            old: ModelText.model([ModelText.entity("Book", oldBook)]),
            new: ModelText.model([
                author,
                ModelText.entity(
                    "Book",
                    authoredBook + [
                        ModelText.attribute("title", "String"),
                        ModelText.toMany("authors", "Author", inverse: "books"),
                    ]),
            ]),
            mapping: """
                { "source": "Version1", "destination": "Version2",
                  "entityMappings": [
                    { "name": "BookAuthor", "source": "Book", "destination": "Author", "where": "authorName != nil",
                      "unique": ["name"], "attributes": { "name": "$source.authorName" } },
                    { "name": "BookToBook", "source": "Book", "destination": "Book",
                      "relationships": { "authors": { "mapping": "BookAuthor", "from": "$source" } } } ] }
                """,
            options: { rows in
                var values = bookValues
                let prefix = "An author of many a book, number "
                values[PropertyKey("Book", "authorName")] =
                    share == 1
                    ? MadeValue.numbered(prefix: prefix)
                    : MadeValue.distinct(prefix: prefix, count: Int64(max(1, rows / share)))
                return GenerationOptions(rowsOfEntity: ["Book": Int64(rows)], emptyPercent: 0, values: values)
            })
    }
}
