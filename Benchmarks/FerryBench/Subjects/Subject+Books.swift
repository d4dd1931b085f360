internal import FerryGenerate
internal import FerryStore

extension Subject {
    /// Books alone, nine attributes and about 170 bytes a row: one renamed, one computed, one dropped, one new.
    static let books = Subject(
        old: ModelText.model([ModelText.entity("Book", oldBook)]),
        new: ModelText.model([
            ModelText.entity(
                "Book",
                keptBook + [
                    ModelText.attribute("heading", "String", renamedFrom: "title"),
                    ModelText.attribute("rating", "Integer 16", isOptional: false, defaultValue: "3"),
                ])
        ]),
        mapping: """
            { "source": "Version1", "destination": "Version2",
              "entityMappings": [
                { "name": "BookToBook", "source": "Book", "destination": "Book",
                  "attributes": { "heading": "$source.title", "price": "$source.price * 1.2", "rating": null } } ] }
            """,
        options: { GenerationOptions(rowsOfEntity: ["Book": Int64($0)], emptyPercent: 0, values: bookValues) })

    /// The same books, with values that only Ferry's own SQL functions compute as Core Data does.
    static let computedBooks = Subject(
        old: books.old,
        new: ModelText.model([
            ModelText.entity(
                "Book",
                keptBook + [
                    ModelText.attribute("heading", "String", renamedFrom: "title"),
                    ModelText.attribute("headingLength", "Integer 32"),
                ])
        ]),
        mapping: """
            { "source": "Version1", "destination": "Version2",
              "entityMappings": [
                { "name": "BookToBook", "source": "Book", "destination": "Book",
                  "attributes": { "heading": "$source.title", "headingLength": "$source.title.length",
                                  "price": "$source.price / 1.2", "pages": "$source.pages * 2",
                                  "language": "uppercase($source.language)" } } ] }
            """,
        options: books.options)

    /// The attributes that both versions have.
    static let keptBook = [
        ModelText.attribute("addedOn", "Date"), ModelText.attribute("authorName", "String"),
        ModelText.attribute("fileURL", "String"), ModelText.attribute("isbn", "String"),
        ModelText.attribute("language", "String"), ModelText.attribute("pages", "Integer 32"),
        ModelText.attribute("price", "Double"),
    ]

    static let oldBook =
        keptBook + [ModelText.attribute("shelf", "String"), ModelText.attribute("title", "String")]

    /// The values of a book, except its author's name.
    static let bookValues: [PropertyKey: ValueMaker] = [
        PropertyKey("Book", "authorName"): MadeValue.distinct(
            prefix: "An author of many a book, number ", count: 1_000),
        PropertyKey("Book", "fileURL"): MadeValue.numbered(prefix: "file:///Library/Books/"),
        PropertyKey("Book", "isbn"): MadeValue.numbered(prefix: "978-3-16-14841"),
        PropertyKey("Book", "language"): MadeValue.oneOf(["en", "de", "fr", "ja"]),
        PropertyKey("Book", "pages"): MadeValue.integers(40...900),
        PropertyKey("Book", "shelf"): MadeValue.distinct(prefix: "Shelf ", count: 40),
        PropertyKey("Book", "title"): MadeValue.numbered(prefix: "The book of all the numbers up to "),
    ]
}
