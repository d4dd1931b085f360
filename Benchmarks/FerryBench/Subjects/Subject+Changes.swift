internal import FerryGenerate
internal import FerryStore

/// Books and users of which a mapping model changes one entity: the ordinary case.
extension Subject {
    /// The users get a computed attribute.
    static let oneComputed = oneChanged(
        users: userProperties + [ModelText.attribute("sortName", "String")],
        mappings: [
            bookToBook,
            """
            { "name": "UserToUser", "source": "User", "destination": "User",
              "attributes": { "sortName": "uppercase:($source.name)" } }
            """,
        ])

    /// The books, of which there are five times as many, get a computed attribute.
    static let largestComputed = oneChanged(
        books: oldBook + [ModelText.attribute("sortTitle", "String")],
        mappings: [
            """
            { "name": "BookToBook", "source": "Book", "destination": "Book",
              "attributes": { "sortTitle": "uppercase:($source.title)" } }
            """, userToUser,
        ])

    /// An attribute of the users is renamed, and only the mapping model says so.
    static let oneRenamed = oneChanged(
        users: userProperties.filter { !$0.contains("\"memberSince\"") } + [ModelText.attribute("since", "Date")],
        mappings: [
            bookToBook,
            """
            { "name": "UserToUser", "source": "User", "destination": "User",
              "attributes": { "since": "$source.memberSince" } }
            """,
        ])

    /// A person is found or created for the name of each user.
    static let oneSplit = oneChanged(
        users: userProperties + [ModelText.toOne("person", "Person", inverse: "users")],
        more: [
            ModelText.entity(
                "Person", [ModelText.attribute("name", "String"), ModelText.toMany("users", "User", inverse: "person")])
        ],
        mappings: [
            bookToBook,
            """
            { "name": "UserPerson", "source": "User", "destination": "Person", "unique": ["name"],
              "attributes": { "name": "$source.name" } }
            """,
            """
            { "name": "UserToUser", "source": "User", "destination": "User",
              "relationships": { "person": { "mapping": "UserPerson", "from": "$source" } } }
            """,
        ])

    private static let bookToBook = #"{ "name": "BookToBook", "source": "Book", "destination": "Book" }"#
    private static let userToUser = #"{ "name": "UserToUser", "source": "User", "destination": "User" }"#

    private static func oneChanged(
        books: [String] = oldBook, users: [String] = userProperties, more: [String] = [], mappings: [String]
    ) -> Subject {
        Subject(
            old: booksAndUsers.old,
            new: ModelText.model(
                [
                    ModelText.entity(
                        "Book", books + [ModelText.toMany("users", "User", inverse: "books")], indexed: ["title"]),
                    ModelText.entity("User", users, indexed: ["name"]),
                ] + more),
            mapping: """
                { "source": "Version1", "destination": "Version2",
                  "entityMappings": [ \(mappings.joined(separator: ", ")) ] }
                """,
            options: booksAndUsers.options)
    }
}
