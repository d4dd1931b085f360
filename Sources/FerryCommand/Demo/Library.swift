internal import FerryBase
internal import FerryGenerate
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

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
    private static let (given, family) = (words("given"), words("family"))
    private static let (qualities, things) = (words("quality"), words("thing"))

    private static func words(_ part: String) -> [String] {
        Template.names.part(part).split(whereSeparator: \.isWhitespace).map(String.init)
    }

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
