internal import FerryBase

struct DemoCommand: Command {
    static let syntax = Syntax(
        "demo", summary: "Shows the whole way on a generated library.",
        discussion: """
            Writes a library store with its model versions and mapping files, migrates it over three steps, is killed \
            half way and goes on, shows what came out, and rolls back. The folder stays for you to look at. \
            With --json: the object of the finished migrate.
            """,
        operands: [.init("DIR", .optional, "An empty or new folder. Default: ferry-demo, or the next free number.")],
        options: [
            .value("--books", "N", "How many books. Default: 200000."),
            .value("--authors", "N", "How many different authors' names. Default: a tenth of the books."),
            .flag("--prepare", "Only write the store, the models and the mapping files."),
        ],
        example: "ferry demo /tmp/library --books 1000000")

    private let folder: String?
    private let books: Int64
    private let authors: Int64
    private let onlyPrepares: Bool

    init(from arguments: Arguments) throws(FerryError) {
        folder = arguments.optionalOperand(0)
        books = try arguments.count("--books", in: 1...1_000_000_000) ?? 200_000
        authors = try arguments.count("--authors", in: 1...1_000_000_000) ?? max(1, books / 10)
        onlyPrepares = arguments.has("--prepare")
    }

    func run(on console: Console) throws -> ExitCode {
        let demo = Demo(
            folder: try DemoFolder(folder), library: LibraryStore(books: books, authors: authors), console: console)
        try demo.prepare()
        return onlyPrepares ? demo.endPrepared() : try demo.play()
    }
}
