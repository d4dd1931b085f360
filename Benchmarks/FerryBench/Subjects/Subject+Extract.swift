internal import FerryGenerate
internal import FerryStore

extension Subject {
    /// Books with two of their attributes made objects of their own: each book gets a cover and a text, two assets.
    ///
    /// The covers keep the keys of their books. The texts, in the same table, get new keys; an association lets the
    /// books find their texts.
    static let assets = Subject(
        old: books.old,
        new: ModelText.model([
            ModelText.entity(
                "Asset",
                [
                    ModelText.attribute("name", "String"), ModelText.toOne("coverOf", "Book", inverse: "cover"),
                    ModelText.toOne("textOf", "Book", inverse: "text"),
                ]),
            ModelText.entity(
                "Book",
                keptBook.filter { !$0.contains("\"fileURL\"") } + [
                    ModelText.attribute("title", "String"), ModelText.toOne("cover", "Asset", inverse: "coverOf"),
                    ModelText.toOne("text", "Asset", inverse: "textOf"),
                ]),
        ]),
        mapping: """
            { "source": "Version1", "destination": "Version2",
              "entityMappings": [
                { "name": "BookToBook", "source": "Book", "destination": "Book" },
                { "name": "BookCover", "source": "Book", "destination": "Asset",
                  "attributes": { "name": "$source.shelf" },
                  "relationships": { "coverOf": { "mapping": "BookToBook", "from": "$source" } } },
                { "name": "BookText", "source": "Book", "destination": "Asset",
                  "attributes": { "name": "$source.fileURL" },
                  "relationships": { "textOf": { "mapping": "BookToBook", "from": "$source" } } } ] }
            """,
        options: books.options)
}
