internal import FerryGenerate
internal import FerryStore

extension Subject {
    /// Inferred steps that run within the store, under the names of ``InPlaceCase``'s sides; the old store is that of
    /// ``books``.
    static let inPlace: [(name: String, subject: Subject)] = [
        (
            "rename",
            step(to: ModelText.attribute("heading", "String", renamedFrom: "title"), shelf, attribute("comment"))
        ),
        ("default", step(to: attribute("title"), shelf, rating)),
        ("drop", step(to: attribute("title"))),
    ]

    private static let shelf = attribute("shelf")
    private static let rating = ModelText.attribute("rating", "Integer 16", isOptional: false, defaultValue: "3")

    private static func attribute(_ name: String) -> String { ModelText.attribute(name, "String") }

    private static func step(to attributes: String...) -> Subject {
        Subject(
            old: books.old, new: ModelText.model([ModelText.entity("Book", keptBook + attributes)]), mapping: nil,
            options: books.options)
    }
}
