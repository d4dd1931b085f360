internal import Ferry
internal import FerryBase
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

struct DemoCommand: Command {
    static let syntax = Syntax(
        "demo", summary: "Run a complete migration on generated data.",
        discussion: """
            Generates a library store with its model versions and mapping files, migrates it in three steps, is killed \
            halfway and continues, shows the result, and rolls back. The folder is kept. \
            With --json, prints the object of the finished migrate.
            """,
        operands: [.init("DIR", .optional, "A new or empty folder. Default: ferry-demo, or ferry-demo-2 and so on.")],
        options: [
            .value("--books", "N", "Number of books. Default: 200000."),
            .value("--authors", "N", "Number of authors. Default: a tenth of the books."),
            .flag("--prepare", "Only create the store, the models and the mapping files."),
        ],
        example: "ferry demo /tmp/library --books 1000000")

    let arguments: Arguments

    func run(on console: Console) throws -> ExitCode {
        let books = try arguments.count("--books", in: 1...1_000_000_000) ?? 200_000
        let authors = try arguments.count("--authors", in: 1...1_000_000_000) ?? max(1, books / 10)
        let demo = Demo(
            folder: try DemoFolder(arguments.operands.first),
            library: LibraryStore(books: books, authors: authors), console: console)
        try demo.prepare()
        return arguments.has("--prepare") ? demo.endPrepared() : try demo.play()
    }
}

/// The acts of the demo and the text that it prints.
struct Demo {
    let folder: DemoFolder
    let library: LibraryStore
    let console: Console

    func prepare() throws {
        heading("A library store of model version Library1")
        try folder.writeSources()
        let version = try firstVersion()
        let start = Clock.nanoseconds()
        let bar = ProgressRenderer(console.isTerminal && !console.isJSON ? .bar : .none, on: console)
        defer { bar.finish() }
        try library.write(version, to: folder.store) { bar.show($0) }
        bar.finish()
        let seconds = Clock.seconds(since: start)
        console.say(
            "\(folder.store): \(library.books.grouped) books and "
                + "\(library.users.grouped) users, "
                + "\(Quantity.sizeText(try FileLayer().attributes(folder.store).size)), "
                + "written in \(Quantity.durationText(seconds: seconds)).")
        let joinTable = try StoreLayout.canonical(for: version.model).joinTables.first?.name ?? ""
        for line in try DemoFacts.before(joinTable: joinTable).lines(folder.store, width: console.width) {
            console.say(line)
        }
        console.say("Three steps lead to Library4, each by a mapping file in \(folder.mappings):")
        console.say("  1-rename.json    Library1 → Library2: renames two attributes, adds one, drops one")
        console.say("  2-authors.json   Library2 → Library3: an Author for each name, found or created")
        console.say("  3-files.json     Library3 → Library4: a File for each book of each user")
    }

    func endPrepared() -> ExitCode {
        console.say("\nTo migrate it:")
        show("  ", migrateWords)
        console.result(
            [
                "store": folder.store, "models": folder.models, "mappings": folder.mappings, "books": library.books,
            ], text: [])
        return .success
    }

    private func firstVersion() throws -> ModelVersion {
        let versions = try ModelCatalog(paths: [folder.models]).versions
        guard let first = versions.first(where: { $0.name == "Library1" }) else {
            preconditionFailure("The demo writes the version Library1 itself.")
        }
        return first
    }

    func play() throws -> ExitCode {
        let before = try folder.digest(of: folder.store)
        if !console.isJSON {
            heading("The plan")
            try command(["plan", folder.store] + sources)
        }
        heading("The migration, killed halfway")
        try killHalfWay()
        let isUnchanged = try folder.digest(of: folder.store) == before
        console.say("The store is still the old one, byte for byte: \(isUnchanged ? "yes" : "no").")
        if !console.isJSON { try command(["status", folder.store]) }

        heading("The same command resumes where it was killed")
        let report = try migrate()
        heading("The result")
        for line in try DemoFacts.after.lines(folder.store, width: console.width) { console.say(line) }

        heading("Rollback")
        try command(["rollback", folder.store])
        let isSame = try folder.digest(of: folder.store) == before
        console.say(
            "The store is the original again, page by page, except for the counters in its header: "
                + "\(isSame ? "yes" : "no").")
        console.handOn(report)
        showFurtherCommands()
        return isSame ? .success : .differs
    }

    /// Runs the migration in a process of its own and kills it in the middle of the authors, as a crash would.
    private func killHalfWay() throws {
        show("$ ", migrateWords)
        var child = try ChildProcess(
            ChildProcess.ownPath(), migrateWords + ["--yes", "--progress", "json"], reading: .diagnostics)
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
            guard isHalfWay(progress) else { continue }
            child.kill()
            break
        }
        let code = child.wait()
        switch code {
        case nil: console.say("kill -9 during \(last.map(work) ?? "its work").")
        case 0: console.say("It finished before it could be killed; use more books (--books N).")
        case let code?:
            throw FerryError(
                .internalError, "The demo's migration ended with exit code \(code).",
                remedy: "See its message above; the folder \(folder.path) is kept.")
        }
    }

    /// Whether a line of `--progress json` is in the second half of the books' authors, or after them.
    private func isHalfWay(_ progress: JSON) -> Bool {
        guard let step = progress["step"].whole, step >= 2 else { return false }
        let isMakingAuthors = step == 2 && progress["phase"].text == "rows"
        return !isMakingAuthors
            || (progress["subject"].text == "BookAuthor" && (progress["done"].whole ?? 0) * 2 >= library.books)
    }

    /// The work that a line of `--progress json` reports.
    private func work(_ progress: JSON) -> String {
        let done = progress["done"].whole ?? 0
        return "step \(progress["step"].whole ?? 0), \(progress["phase"].text ?? "")"
            + (progress["subject"].text.map { " of \($0)" } ?? "") + (done > 0 ? ", after \(done.counting("row"))" : "")
    }

    /// Runs the whole migration in a process of its own; returns the lines of its JSON object, none without `--json`.
    private func migrate() throws -> [String] {
        show("$ ", migrateWords)
        var lines: [String] = []
        var child = try ChildProcess(
            ChildProcess.ownPath(), migrateWords + ["--yes"] + (console.isJSON ? ["--json"] : []),
            reading: console.isJSON ? .output : .nothing)
        while let line = child.line() { lines.append(line) }
        guard let code = child.wait(), code == 0 else {
            throw FerryError(
                .internalError, "The demo's migration did not finish.",
                remedy: "See its message above; the folder \(folder.path) is kept.")
        }
        return lines
    }

    private func showFurtherCommands() {
        heading("Explore the folder: \(folder.path)")
        show("  ", migrateWords + ["--output", folder.path + "/Migrated.sqlite"])
        show("  ", ["inspect", folder.store])
        show("  ", ["snapshot", "list", folder.store])
        show("  ", ["sqlite3", folder.store, ".schema"], of: nil)
        show("  ", ["cat", "\(folder.mappings)/2-authors.json"], of: nil)
    }

    private var sources: [String] { ["--models", folder.models, "--mappings", folder.mappings] }

    /// Fifty chunks for the books, so that the migration can be killed half way.
    private var migrateWords: [String] {
        ["migrate", folder.store] + sources + [
            "--lose", "Book.shelf", "--lose", "Book.fileURL", "--chunk-size", String(max(20, library.books / 50)),
        ]
    }

    /// Runs a command in this process; with `--json` without its standard output.
    private func command(_ words: [String]) throws {
        let silent = Console(
            isJSON: false, isTerminal: false, output: Console.Stream { _ in },
            diagnostics: Console.Stream { console.note($0) })
        show("$ ", words)
        let code = FerryCommand.run(words, on: console.isJSON ? silent : console)
        guard code == .success else {
            throw FerryError(
                .internalError, "ferry \(words[0]) ended with exit code \(code.rawValue).",
                remedy: "The folder \(folder.path) is kept.")
        }
    }

    /// Prints a command that can be pasted.
    private func show(_ prompt: String, _ words: [String], of program: String? = "ferry") {
        let line = ([program].compactMap { $0 } + words).map(ShellWord.quoted).joined(separator: " ")
        console.say(Emphasis.command.mark(prompt + line))
    }

    private func heading(_ text: String) { console.say("\n── \(text)") }
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
        var number = 1
        while try files.exists(DemoFolder.name(number)) { number += 1 }
        path = DemoFolder.name(number)
    }

    private static func name(_ number: Int) -> String { number == 1 ? "ferry-demo" : "ferry-demo-\(number)" }

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
        let input = try files.open(file)
        var hash = SHA256()
        var offset: Int64 = 0
        while true {
            var bytes = try input.read(count: 1 << 20, at: offset)
            if bytes.isEmpty { return hash.finalize().hexadecimal }
            if offset == 0 { DatabaseHeader.blankCounters(&bytes) }
            hash.update(bytes)
            offset += Int64(bytes.count)
        }
    }
}

/// SQL queries whose results show the effect of a migration.
struct DemoFacts {
    private let questions: [(meaning: String, sql: String)]

    /// The queries for a store before the migration; the model gives the join table's name.
    static func before(joinTable: String) -> DemoFacts {
        DemoFacts(questions: [
            ("books", "SELECT count(*) FROM ZBOOK"),
            ("different authors' names", "SELECT count(DISTINCT ZAUTHORNAME) FROM ZBOOK"),
            ("books that a user has", "SELECT count(*) FROM \(joinTable)"),
            ("books by Ada Abel", "SELECT count(*) FROM ZBOOK WHERE ZAUTHORNAME = 'Ada Abel'"),
        ])
    }

    static let after = DemoFacts(questions: [
        ("books", "SELECT count(*) FROM ZBOOK"),
        ("authors", "SELECT count(*) FROM ZAUTHOR"),
        ("files", "SELECT count(*) FROM ZFILE"),
        (
            "books by Ada Abel",
            "SELECT count(*) FROM ZBOOK b JOIN ZAUTHOR a ON b.ZAUTHOR = a.Z_PK WHERE a.ZNAME = 'Ada Abel'"
        ),
    ])

    /// Runs the queries on a store; one line each, the result first.
    func lines(_ store: String, width: Int) throws -> [String] {
        // A plain connection would leave a -wal and a -shm beside the store.
        let rows = try StoreFiles(store.fileURL).read { connection in
            try questions.map { [(try connection.integer($0.sql) ?? 0).grouped, $0.meaning, $0.sql] }
        }
        return Array(TextTable([.number(""), .text(""), .text("")], rows).lines(width: width).dropFirst())
    }
}
