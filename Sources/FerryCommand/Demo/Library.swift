internal import FerryBase
internal import FerryGenerate
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// The demo's four model versions and the mapping files between them, as the text of their files.
///
/// Three steps stand for what migrations are made of: one that only renames, adds and drops attributes; one that makes
/// an entity of a text (every author once); one that makes an entity of a relationship (a file per user and book).
enum LibraryModels {
    static let versions = [
        version(
            1,
            """
                <entity name="Book" representedClassName="Book" syncable="YES">
                    <attribute name="authorName" optional="YES" attributeType="String"/>
                    <attribute name="fileURL" optional="YES" attributeType="String"/>
                    <attribute name="pages" attributeType="Integer 32" defaultValueString="0" usesScalarValueType="YES"/>
                    <attribute name="price" optional="YES" attributeType="Double" usesScalarValueType="NO"/>
                    <attribute name="shelf" optional="YES" attributeType="String"/>
                    <attribute name="title" attributeType="String"/>
                    <relationship name="users" optional="YES" toMany="YES" deletionRule="Nullify" \
            destinationEntity="User" inverseName="books" inverseEntity="User"/>
                    <fetchIndex name="byTitle">
                        <fetchIndexElement property="title" type="Binary" order="ascending"/>
                    </fetchIndex>
                </entity>
                <entity name="User" representedClassName="User" syncable="YES">
                    <attribute name="memberSince" optional="YES" attributeType="Date" usesScalarValueType="NO"/>
                    <attribute name="name" attributeType="String"/>
                    <relationship name="books" optional="YES" toMany="YES" deletionRule="Nullify" \
            destinationEntity="Book" inverseName="users" inverseEntity="Book"/>
                </entity>
            """),
        version(
            2,
            """
                <entity name="Book" representedClassName="Book" syncable="YES">
                    <attribute name="authorName" optional="YES" attributeType="String"/>
                    <attribute name="fileURL" optional="YES" attributeType="String"/>
                    <attribute name="heading" attributeType="String" elementID="title"/>
                    <attribute name="pages" attributeType="Integer 32" defaultValueString="0" usesScalarValueType="YES"/>
                    <attribute name="price" optional="YES" attributeType="Double" usesScalarValueType="NO"/>
                    <attribute name="rating" attributeType="Integer 16" defaultValueString="3" usesScalarValueType="YES"/>
                    <relationship name="users" optional="YES" toMany="YES" deletionRule="Nullify" \
            destinationEntity="User" inverseName="books" inverseEntity="User"/>
                    <fetchIndex name="byHeading">
                        <fetchIndexElement property="heading" type="Binary" order="ascending"/>
                    </fetchIndex>
                </entity>
                <entity name="User" representedClassName="User" syncable="YES">
                    <attribute name="fullName" attributeType="String" elementID="name"/>
                    <attribute name="memberSince" optional="YES" attributeType="Date" usesScalarValueType="NO"/>
                    <relationship name="books" optional="YES" toMany="YES" deletionRule="Nullify" \
            destinationEntity="Book" inverseName="users" inverseEntity="Book"/>
                </entity>
            """),
        version(
            3,
            """
                <entity name="Author" representedClassName="Author" syncable="YES">
                    <attribute name="name" attributeType="String"/>
                    <relationship name="books" optional="YES" toMany="YES" deletionRule="Nullify" \
            destinationEntity="Book" inverseName="author" inverseEntity="Book"/>
                    <fetchIndex name="byName">
                        <fetchIndexElement property="name" type="Binary" order="ascending"/>
                    </fetchIndex>
                </entity>
                <entity name="Book" representedClassName="Book" syncable="YES">
                    <attribute name="fileURL" optional="YES" attributeType="String"/>
                    <attribute name="heading" attributeType="String"/>
                    <attribute name="pages" attributeType="Integer 32" defaultValueString="0" usesScalarValueType="YES"/>
                    <attribute name="price" optional="YES" attributeType="Double" usesScalarValueType="NO"/>
                    <attribute name="rating" attributeType="Integer 16" defaultValueString="3" usesScalarValueType="YES"/>
                    <relationship name="author" optional="YES" maxCount="1" deletionRule="Nullify" \
            destinationEntity="Author" inverseName="books" inverseEntity="Author"/>
                    <relationship name="users" optional="YES" toMany="YES" deletionRule="Nullify" \
            destinationEntity="User" inverseName="books" inverseEntity="User"/>
                    <fetchIndex name="byHeading">
                        <fetchIndexElement property="heading" type="Binary" order="ascending"/>
                    </fetchIndex>
                </entity>
                <entity name="User" representedClassName="User" syncable="YES">
                    <attribute name="fullName" attributeType="String"/>
                    <attribute name="memberSince" optional="YES" attributeType="Date" usesScalarValueType="NO"/>
                    <relationship name="books" optional="YES" toMany="YES" deletionRule="Nullify" \
            destinationEntity="Book" inverseName="users" inverseEntity="Book"/>
                </entity>
            """),
        version(
            4,
            """
                <entity name="Author" representedClassName="Author" syncable="YES">
                    <attribute name="name" attributeType="String"/>
                    <relationship name="books" optional="YES" toMany="YES" deletionRule="Nullify" \
            destinationEntity="Book" inverseName="author" inverseEntity="Book"/>
                    <fetchIndex name="byName">
                        <fetchIndexElement property="name" type="Binary" order="ascending"/>
                    </fetchIndex>
                </entity>
                <entity name="Book" representedClassName="Book" syncable="YES">
                    <attribute name="heading" attributeType="String"/>
                    <attribute name="pages" attributeType="Integer 32" defaultValueString="0" usesScalarValueType="YES"/>
                    <attribute name="price" optional="YES" attributeType="Double" usesScalarValueType="NO"/>
                    <attribute name="rating" attributeType="Integer 16" defaultValueString="3" usesScalarValueType="YES"/>
                    <relationship name="author" optional="YES" maxCount="1" deletionRule="Nullify" \
            destinationEntity="Author" inverseName="books" inverseEntity="Author"/>
                    <relationship name="files" optional="YES" toMany="YES" deletionRule="Cascade" \
            destinationEntity="File" inverseName="book" inverseEntity="File"/>
                    <fetchIndex name="byHeading">
                        <fetchIndexElement property="heading" type="Binary" order="ascending"/>
                    </fetchIndex>
                </entity>
                <entity name="File" representedClassName="File" syncable="YES">
                    <attribute name="fileURL" optional="YES" attributeType="String"/>
                    <relationship name="book" optional="YES" maxCount="1" deletionRule="Nullify" \
            destinationEntity="Book" inverseName="files" inverseEntity="Book"/>
                    <relationship name="user" optional="YES" maxCount="1" deletionRule="Nullify" \
            destinationEntity="User" inverseName="files" inverseEntity="User"/>
                </entity>
                <entity name="User" representedClassName="User" syncable="YES">
                    <attribute name="fullName" attributeType="String"/>
                    <attribute name="memberSince" optional="YES" attributeType="Date" usesScalarValueType="NO"/>
                    <relationship name="files" optional="YES" toMany="YES" deletionRule="Cascade" \
            destinationEntity="File" inverseName="user" inverseEntity="File"/>
                </entity>
            """),
    ]

    static let currentVersion = """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0">
        <dict>
            <key>_XCCurrentVersionName</key>
            <string>Library4.xcdatamodel</string>
        </dict>
        </plist>

        """

    /// File name and text of each step's mapping file.
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

    private static func version(_ number: Int, _ entities: String) -> (name: String, text: String) {
        (
            "Library\(number)",
            """
            <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
            <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" lastSavedToolsVersion="22758" \
            systemVersion="23F79" minimumToolsVersion="Automatic" sourceLanguage="Swift" \
            userDefinedModelVersionIdentifier="\(number)">
            \(entities)
            </model>

            """
        )
    }
}

/// The demo's store of version `Library1`: users, books with their authors' names, and who has which book.
struct LibraryStore {
    let books: Int64
    /// How many different authors' names the books have, at most.
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
                PropertyKey("Book", "title"): .computed { key, _ in .text(LibraryNames.title(Int(key))) },
                // One book in fifty has no author; the first books have one each, so that all names occur.
                PropertyKey("Book", "authorName"): .computed { key, random in
                    if key % 50 == 0, authors > 1 { return .null }
                    let author = key <= authors ? key - 1 : random.below(authors)
                    return .text(LibraryNames.person(Int(author)))
                },
                PropertyKey("Book", "pages"): .integers(40...900),
                PropertyKey("Book", "price"): .computed { _, random in .real(Double(500 + random.below(4_000)) / 100) },
                PropertyKey("Book", "shelf"): .computed { _, random in
                    .text("\(random.below(40))-\(random.below(12))")
                },
                PropertyKey("Book", "fileURL"): .computed { key, _ in .text("file:///Books/\(key).epub") },
                PropertyKey("User", "name"): .computed { key, _ in .text(LibraryNames.person(Int(key * 7))) },
            ],
            // About three files to two books.
            links: [PropertyKey("Book", "users"): 0...3])
    }
}

/// Plausible names from numbers: the same number always gives the same name.
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

    /// Different for different numbers.
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
