internal import FerryBase
internal import FerryGenerate
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

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
