internal import Ferry
internal import FerryBase
internal import FerryGenerate
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

struct DemoCommand: Command {
    static let name = "demo"

    let arguments: Arguments

    func run(on console: Console) throws -> ExitCode {
        let books = try arguments.count("--books", in: 1...1_000_000_000) ?? 200_000
        let authors = try arguments.count("--authors", in: 1...1_000_000_000) ?? max(1, books / 10)
        let demo = Demo(
            folder: try DemoFolder(arguments.operands.first),
            library: LibraryStore(books: books, authors: authors), console: console.withWidth)
        try demo.prepare()
        return arguments.has("--prepare") ? demo.endPrepared() : try demo.play()
    }
}

/// The acts of the demo; `Templates/demo.txt` has the texts between its commands.
struct Demo {
    let folder: DemoFolder
    let library: LibraryStore
    let console: Console

    func prepare() throws {
        tell("heading")
        try folder.writeSources()
        let versions = try ModelCatalog(paths: [folder.models]).versions
        guard let version = versions.first(where: { $0.name == "Library1" }) else {
            preconditionFailure("The demo writes the version Library1 itself.")
        }
        let start = Clock.nanoseconds()
        let bar = ProgressRenderer(console.isTerminal && !console.isJSON ? .bar : .none, on: console)
        defer { bar.finish() }
        try library.write(version, to: folder.store) { bar.show($0) }
        bar.finish()
        tell(
            "written",
            [
                "books": library.books.grouped, "users": library.users.grouped,
                "size": try FileLayer().attributes(folder.store).size.bytesInUnits,
                "time": Quantity.durationText(seconds: Clock.seconds(since: start)),
            ])
        let layout = try StoreLayout.canonical(for: version.model)
        try tellFacts("before", ["joinTable": layout.joinTables.first?.name ?? ""])
        tell("steps")
    }

    func endPrepared() -> ExitCode {
        tell("prepared")
        console.result(
            [
                "store": folder.store, "models": folder.models, "mappings": folder.mappings, "books": library.books,
            ], text: [])
        return .success
    }

    func play() throws -> ExitCode {
        let before = try folder.digest(of: folder.store)
        tell("plan")
        if !console.isJSON { try command(["plan", folder.store] + sources) }
        tell("killed")
        try killHalfWay()
        tell("unchanged", ["isUnchanged": try folder.digest(of: folder.store) == before ? "yes" : "no"])
        if !console.isJSON { try command(["status", folder.store]) }
        tell("resumed")
        let report = try migrate()
        if !console.isJSON { for line in report { console.say(line) } }
        tell("result")
        try tellFacts("after")
        tell("rollback")
        try command(["rollback", folder.store])
        let isSame = try folder.digest(of: folder.store) == before
        console.handOn(report)
        tell("explore", ["isSame": isSame ? "yes" : "no"])
        return isSame ? .success : .differs
    }

    /// Runs the migration in a process of its own and kills it in the middle of the authors, as a crash would.
    private func killHalfWay() throws {
        var child = try ChildProcess(
            ChildProcess.ownPath(), migrateWords + ["--yes", "--progress", "json"], reading: .error)
        var last: JSON?
        while let line = child.line() {
            guard let progress = JSON.read(Array(line.utf8)), !progress.members.isEmpty else {
                console.note(line)
                continue
            }
            if let warning = progress["warning"].text {
                console.warn(warning)
                continue
            }
            last = progress
            let (step, done) = (progress["step"].whole ?? 0, progress["done"].whole ?? 0)
            let isMakingAuthors = step == 2 && progress["phase"].text == "rows"
            guard step >= 2, !isMakingAuthors || progress["subject"].text == "BookAuthor" && done * 2 >= library.books
            else { continue }
            child.kill()
            break
        }
        switch child.wait() {
        case nil: console.say("kill -9 during \(last.map(work) ?? "its work").")
        case 0: console.say("It finished before it could be killed; use more books (--books N).")
        case let code?: throw failure("The demo's migration ended with exit code \(code).")
        }
    }

    private func work(_ progress: JSON) -> String {
        let done = progress["done"].whole ?? 0
        return "step \(progress["step"].whole ?? 0), \(progress["phase"].text ?? "")"
            + (progress["subject"].text.map { " of \($0)" } ?? "") + (done > 0 ? ", after \(done.counting("row"))" : "")
    }

    /// Runs the whole migration in a process of its own; returns the lines that it prints.
    private func migrate() throws -> [String] {
        var lines: [String] = []
        var child = try ChildProcess(
            ChildProcess.ownPath(),
            migrateWords + ["--yes"] + (console.isJSON ? ["--json"] : [])
                + (console.isQuiet ? ["--quiet"] : []), reading: .output)
        while let line = child.line() { lines.append(line) }
        guard child.wait() == 0 else { throw failure("The demo's migration did not finish.") }
        return lines
    }

    private func failure(_ message: String) -> FerryError {
        FerryError(.internalError, message, remedy: "See the messages above; the folder \(folder.path) is kept.")
    }

    private var sources: [String] { ["--models", folder.models, "--mappings", folder.mappings] }

    /// Fifty chunks for the books, so that the migration can be killed half way.
    private var migrateWords: [String] {
        ["migrate", folder.store] + sources + [
            "--lose", "Book.shelf", "--lose", "Book.fileURL", "--chunk-size", String(max(20, library.books / 50)),
        ]
    }

    /// Runs a command in this process; with `--json` without its output.
    private func command(_ words: [String]) throws {
        let code = FerryCommand.run(words, on: console.isJSON ? console.quiet(isJSON: false) : console)
        guard code == .success else { throw failure("ferry \(words[0]) ended with exit code \(code.rawValue).") }
    }

    private func tell(_ part: String, _ values: [String: String] = [:]) {
        func quoted(_ words: [String]) -> String { words.map(ShellWord.quoted).joined(separator: " ") }
        let own = [
            "folder": quoted([folder.path]), "store": quoted([folder.store]), "mappings": quoted([folder.mappings]),
            "sources": quoted(sources), "migrate": quoted(migrateWords),
        ]
        for line in Template.demo.lines(part, own.merging(values) { $1 }) {
            let isCommand = ["$ ", "  ferry "].contains { line.hasPrefix($0) }
            console.say(isCommand ? Emphasis.command.mark(line) : line)
        }
    }

    /// Prints the results of a part's queries, which show the effect of the migration.
    private func tellFacts(_ part: String, _ values: [String: String] = [:]) throws {
        let questions = Template.demo.part(part, values).split(separator: "\n").map { $0.split(separator: ": ") }
        // A plain connection would leave a -wal and a -shm beside the store.
        let rows = try StoreFiles(folder.store.fileURL).read { connection in
            try questions.map { [(try connection.integer(String($0[1])) ?? 0).grouped] + $0.map(String.init) }
        }
        let table = TextTable([.number(""), .text(""), .text("")], rows)
        for line in table.lines(width: console.width).dropFirst() { console.say(line) }
    }
}

struct DemoFolder {
    let path: String
    private let files = FileLayer()

    var store: String { path + "/Library.sqlite" }
    var models: String { path + "/Library.xcdatamodeld" }
    var mappings: String { path + "/Mappings" }

    /// Takes the folder that the command line names, which must be empty or missing, else the first free default name.
    init(_ asked: String?) throws(FerryError) {
        if let asked {
            path = asked
            try WritePlace().check(asked + "/Library.sqlite")
            guard try files.attributesIfPresent(asked) != nil else { return }
            guard try files.attributes(asked).isDirectory, try files.list(asked).isEmpty else {
                throw FerryError(
                    .outputExists, "\(asked) already exists and is not empty.",
                    remedy: "Choose another folder for the demo, or remove this one.")
            }
            return
        }
        var (name, number) = ("ferry-demo", 1)
        while try files.exists(name) {
            number += 1
            name = "ferry-demo-\(number)"
        }
        path = name
    }

    func writeSources() throws(FerryError) {
        for (number, version) in Template.versions.enumerated() {
            try write(version.filled(), to: "\(models)/Library\(number + 1).xcdatamodel/contents")
        }
        try write(SourceBundle.currentVersionList("Library4"), to: models + "/.xccurrentversion")
        // The first step renames and drops attributes, the second makes an entity of a text (every author once), the
        // third makes an entity of a relationship (a file per user and book).
        try write(Template.rename.filled(), to: mappings + "/1-rename.json")
        try write(Template.authors.filled(), to: mappings + "/2-authors.json")
        try write(Template.files.filled(), to: mappings + "/3-files.json")
    }

    private func write(_ text: String, to file: String) throws(FerryError) {
        try files.createDirectory(FileLayer.parent(of: file))
        try files.replace(file, with: Array(text.utf8))
    }

    /// SHA-256 of a database without the counters in its header; no connection of this process may have it open.
    func digest(of file: String) throws(FerryError) -> String {
        var hash = SHA256()
        var isFirst = true
        try files.open(file).forEachPiece { piece in
            var bytes = Array(piece)
            if isFirst { DatabaseHeader.blankCounters(&bytes) }
            isFirst = false
            hash.update(bytes)
        }
        return hash.finalize().hexadecimal
    }
}

/// The demo's store of version `Library1`: users, books with their authors' names, and the users of each book.
struct LibraryStore {
    let books: Int64
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
