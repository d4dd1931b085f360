internal import FerryBase
internal import FerryGenerate
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// The texts of the demo's four model versions and of the mapping files between them.
///
/// Three steps show the typical migrations: the first renames, adds and drops attributes; the second makes an entity of
/// a text (every author once); the third makes an entity of a relationship (a file per user and book).
enum LibraryModels {
    static let versions = [
        version(
            1,
            [
                entity(
                    "Book", [text("authorName"), text("fileURL"), pages, price, text("shelf"), title("title")],
                    [users], index: "title"),
                entity("User", [memberSince, title("name")], [books]),
            ]),
        version(
            2,
            [
                entity(
                    "Book",
                    [text("authorName"), text("fileURL"), title("heading", renamed: "title"), pages, price, rating],
                    [users], index: "heading"),
                entity("User", [title("fullName", renamed: "name"), memberSince], [books]),
            ]),
        version(
            3,
            [
                author,
                entity(
                    "Book", [text("fileURL"), title("heading"), pages, price, rating],
                    [toOne("author", "Author", inverse: "books"), users], index: "heading"),
                entity("User", [title("fullName"), memberSince], [books]),
            ]),
        version(
            4,
            [
                author,
                entity(
                    "Book", [title("heading"), pages, price, rating],
                    [
                        toOne("author", "Author", inverse: "books"),
                        toMany("files", "File", inverse: "book", rule: "Cascade"),
                    ], index: "heading"),
                entity(
                    "File", [text("fileURL")],
                    [toOne("book", "Book", inverse: "files"), toOne("user", "User", inverse: "files")]),
                entity(
                    "User", [title("fullName"), memberSince],
                    [toMany("files", "File", inverse: "user", rule: "Cascade")]),
            ]),
    ]

    private static let pages =
        #"<attribute name="pages" attributeType="Integer 32" defaultValueString="0" usesScalarValueType="YES"/>"#
    private static let price =
        #"<attribute name="price" optional="YES" attributeType="Double" usesScalarValueType="NO"/>"#
    private static let rating =
        #"<attribute name="rating" attributeType="Integer 16" defaultValueString="3" usesScalarValueType="YES"/>"#
    private static let memberSince =
        #"<attribute name="memberSince" optional="YES" attributeType="Date" usesScalarValueType="NO"/>"#
    private static let users = toMany("users", "User", inverse: "books")
    private static let books = toMany("books", "Book", inverse: "users")
    private static let author = entity(
        "Author", [title("name")], [toMany("books", "Book", inverse: "author")], index: "name")

    /// An optional text.
    private static func text(_ name: String) -> String {
        #"<attribute name="\#(name)" optional="YES" attributeType="String"/>"#
    }

    /// A mandatory text.
    private static func title(_ name: String, renamed old: String? = nil) -> String {
        #"<attribute name="\#(name)" attributeType="String"\#(old.map { #" elementID="\#($0)""# } ?? "")/>"#
    }

    private static func toMany(
        _ name: String, _ entity: String, inverse: String, rule: String = "Nullify"
    ) -> String {
        relationship(name, #"toMany="YES""#, rule, entity, inverse)
    }

    private static func toOne(_ name: String, _ entity: String, inverse: String) -> String {
        relationship(name, #"maxCount="1""#, "Nullify", entity, inverse)
    }

    private static func relationship(
        _ name: String, _ count: String, _ rule: String, _ entity: String, _ inverse: String
    ) -> String {
        #"<relationship name="\#(name)" optional="YES" \#(count) deletionRule="\#(rule)" "#
            + #"destinationEntity="\#(entity)" inverseName="\#(inverse)" inverseEntity="\#(entity)"/>"#
    }

    private static func entity(
        _ name: String, _ attributes: [String], _ relationships: [String], index: String? = nil
    ) -> String {
        let indexes = index.map { property in
            [
                #"<fetchIndex name="by\#(property.prefix(1).uppercased())\#(property.dropFirst())">"#,
                #"    <fetchIndexElement property="\#(property)" type="Binary" order="ascending"/>"#, "</fetchIndex>",
            ]
        }
        return
            (["    <entity name=\"\(name)\" representedClassName=\"\(name)\" syncable=\"YES\">"]
            + (attributes + relationships + (indexes ?? [])).map { "        " + $0 } + ["    </entity>"])
            .joined(separator: "\n")
    }

    /// The file name and the text of each step's mapping file.
    static let mappings: [(name: String, text: String)] = [
        (
            "1-rename.json",
            """
            {
              "source": "Library1", "destination": "Library2",
              "entityMappings": [
                { "name": "UserToUser", "source": "User", "destination": "User",
                  "attributes": { "fullName": "$source.name" } },
                { "name": "BookToBook", "source": "Book", "destination": "Book",
                  "attributes": { "heading": "$source.title", "rating": null } }
              ]
            }

            """
        ),
        (
            "2-authors.json",
            """
            {
              "source": "Library2", "destination": "Library3",
              "entityMappings": [
                { "name": "UserToUser", "source": "User", "destination": "User" },
                { "name": "BookAuthor", "source": "Book", "destination": "Author", "where": "authorName != nil",
                  "unique": ["name"], "attributes": { "name": "$source.authorName" } },
                { "name": "BookToBook", "source": "Book", "destination": "Book",
                  "relationships": { "author": { "mapping": "BookAuthor", "from": "$source" } } }
              ]
            }

            """
        ),
        (
            "3-files.json",
            """
            {
              "source": "Library3", "destination": "Library4",
              "entityMappings": [
                { "name": "UserToUser", "source": "User", "destination": "User" },
                { "name": "AuthorToAuthor", "source": "Author", "destination": "Author" },
                { "name": "BookToBook", "source": "Book", "destination": "Book" },
                { "name": "BookFile", "source": "Book", "forEach": { "user": "$source.users" }, "destination": "File",
                  "attributes": { "fileURL": "$source.fileURL" },
                  "relationships": { "book": { "mapping": "BookToBook", "from": "$source" },
                                     "user": { "mapping": "UserToUser", "from": "$user" } } }
              ]
            }

            """
        ),
    ]

    private static func version(_ number: Int, _ entities: [String]) -> (name: String, text: String) {
        (
            "Library\(number)",
            """
            <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
            <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" lastSavedToolsVersion="22758" \
            systemVersion="23F79" minimumToolsVersion="Automatic" sourceLanguage="Swift" \
            userDefinedModelVersionIdentifier="\(number)">
            \(entities.joined(separator: "\n"))
            </model>

            """
        )
    }
}

/// The demo's store of version `Library1`: users, books with their authors' names, and the users of each book.
struct LibraryStore {
    let books: Int64
    /// The highest number of different authors' names.
    let authors: Int64

    var users: Int64 { max(3, books / 100) }

    func write(_ version: ModelVersion, to path: String, progress: @escaping ProgressHook) throws {
        try StoreGenerator(version, options: options).generate(at: path, files: FileLayer(), progress: progress)
    }

    private var options: GenerationOptions {
        let authors = authors
        return GenerationOptions(
            rowsOfEntity: ["Book": books, "User": users], emptyPercent: 0,
            values: [
                PropertyKey("Book", "title"): { key, _ in .text(LibraryNames.title(Int(key))) },
                // One book in fifty has no author; the first books have one author each, so that all names occur.
                PropertyKey("Book", "authorName"): { key, random in
                    if key % 50 == 0, authors > 1 { return .null }
                    let author = key <= authors ? key - 1 : random.below(authors)
                    return .text(LibraryNames.person(Int(author)))
                },
                PropertyKey("Book", "pages"): { _, random in .integer(40 + random.below(861)) },
                PropertyKey("Book", "price"): { _, random in .real(Double(500 + random.below(4_000)) / 100) },
                PropertyKey("Book", "shelf"): { _, random in
                    .text("\(random.below(40))-\(random.below(12))")
                },
                PropertyKey("Book", "fileURL"): { key, _ in .text("file:///Books/\(key).epub") },
                PropertyKey("User", "name"): { key, _ in .text(LibraryNames.person(Int(key * 7))) },
            ],
            // About three users for two books.
            links: [PropertyKey("Book", "users"): 0...3])
    }
}

/// Plausible names from numbers: a number always gives the same name.
enum LibraryNames {
    private static let given = [
        "Ada", "Amos", "Anna", "Boris", "Clara", "Daniel", "Edith", "Elias", "Emil", "Franz", "Greta", "Hannah", "Hugo",
        "Ida", "Irene", "Jakob", "Karin", "Leo", "Lina", "Ludwig", "Maria", "Nora", "Oskar", "Paula", "Robert", "Rosa",
        "Selma", "Stefan", "Thomas", "Vera", "Viktor", "Walter",
    ]
    private static let family = [
        "Abel", "Bachmann", "Berger", "Brandt", "Castell", "Dahl", "Ebner", "Falk", "Frisch", "Gruber", "Hahn", "Hesse",
        "Holm", "Jansen", "Kafka", "Keller", "Lang", "Lenz", "Lindgren", "Mann", "Moser", "Novak", "Olsen", "Pichler",
        "Roth", "Sachs", "Seghers", "Stifter", "Tucholsky", "Undset", "Vogel", "Weiss", "Winter", "Wolf", "Zeller",
        "Zweig",
    ]
    private static let qualities = [
        "Brief", "Complete", "Distant", "Forgotten", "Golden", "Hidden", "Last", "Lost", "Northern", "Quiet", "Second",
        "Silver", "Small", "Unwritten", "Winter", "Young",
    ]
    private static let things = [
        "Archive", "Bridge", "Castle", "Clock", "Ferry", "Garden", "Harbour", "Island", "Journey", "Letter", "Library",
        "Map", "Mirror", "Orchard", "River", "Road", "Ship", "Station", "Summer", "Tower",
    ]

    /// A name that is different for each number.
    static func person(_ number: Int) -> String {
        let name = "\(given[number % given.count]) \(family[number / given.count % family.count])"
        let rest = number / (given.count * family.count)
        return rest == 0 ? name : "\(name) \(rest + 1)"
    }

    static func title(_ number: Int) -> String {
        let quality = qualities[number % qualities.count]
        return "The \(quality) \(things[number / qualities.count % things.count]), volume \(number + 1)"
    }
}
