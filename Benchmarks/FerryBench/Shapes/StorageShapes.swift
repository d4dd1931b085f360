internal import FerryGenerate

/// The same books and their owners in files of other forms.
enum StorageShapes {
    static let all: [Shape] = [
        shape("pages-1024", "pages of 1,024 bytes", .pageSize(1_024)),
        shape("pages-1024", "pages of 1,024 bytes", .pageSize(1_024), isCopied: true),
        shape("pages-65536", "pages of 65,536 bytes", .pageSize(65_536)),
        shape("pages-65536", "pages of 65,536 bytes", .pageSize(65_536), isCopied: true),
        shape("utf-16", "text in UTF-16, which Core Data does not write", .utf16, isRefused: true),
    ]

    private static func shape(
        _ name: String, _ summary: String, _ form: StorageForm, isCopied: Bool = false, isRefused: Bool = false
    ) -> Shape {
        Shape(
            name: isRefused ? name : "\(name)-\(isCopied ? "copied" : "in-place")", summary: summary,
            isRefused: isRefused
        ) { folder in
            let rows = folder.rows(200_000)
            let options = GenerationOptions(rowsOfEntity: ["Book": rows, "User": max(2, rows / 5)])
            return try folder.pair(isCopied ? copied : inferred, options, form: form)
        }
    }

    private static let inferred = Subject(
        old: version([]), new: version([ModelText.attribute("rating", "String")]), mapping: nil,
        options: { GenerationOptions(rows: Int64($0)) })

    private static let copied: Subject = {
        var subject = inferred
        subject.mapping = """
            { "source": "Version1", "destination": "Version2", "entityMappings": [
                { "name": "BookToBook", "source": "Book", "destination": "Book" },
                { "name": "UserToUser", "source": "User", "destination": "User" } ] }
            """
        return subject
    }()

    private static func version(_ added: [String]) -> String {
        ModelText.model([
            ModelText.entity(
                "Book",
                [
                    ModelText.attribute("title", "String"), ModelText.attribute("isbn", "String"),
                    ModelText.attribute("pages", "Integer 32"), ModelText.attribute("addedOn", "Date"),
                    ModelText.toOne("owner", "User", inverse: "books"),
                ] + added),
            ModelText.entity(
                "User", [ModelText.attribute("name", "String"), ModelText.toMany("books", "Book", inverse: "owner")]),
        ])
    }
}
