internal import FerryBase

/// The file that `--report` names: a page, or the object that `--json` prints.
///
/// The same command runs again and again (a run goes on, a plan is looked at anew), so a report of Ferry's is replaced by
/// the next one. Anything else at its path is not Ferry's to replace: that is refused before anything is done.
struct ReportFile: Sendable {
    enum Form: String, CaseIterable, Sendable { case html, json }

    let path: String
    let form: Form

    static let option = Syntax.Option.value(
        "--report", "FILE.html",
        "Also write a page with all that is told, drawn; FILE.json: the object that --json prints. A report of Ferry's is "
            + "replaced, any other file is refused.")

    init(path: String, form: Form) { (self.path, self.form) = (path, form) }

    /// The file that the words ask for, if they do.
    init?(from arguments: Arguments) throws(FerryError) {
        let file = try arguments.value("--report", "a file that ends in .html, for a page, or in .json") { path in
            Self.form(of: path).map { ReportFile(path: path, form: $0) }
        }
        guard let file else { return nil }
        self = file
    }

    /// By the ending; nil for any other one.
    static func form(of path: String) -> Form? {
        Form.allCases.first { path.lowercased().hasSuffix(".\($0.rawValue)") }
    }

    /// - Throws: `outputExists` when something else than a report of Ferry's stands there, `notFound` without a folder.
    func check() throws(FerryError) { try Self.check(path, isBegunBy: [Page.sign, Self.jsonSign]) }

    /// Makes sure that a file can be written where nothing stands but an earlier one of Ferry's, known by how it begins.
    ///
    /// - Throws: `outputExists` for any other file, `notFound` without a folder.
    static func check(_ path: String, isBegunBy signs: [String]) throws(FerryError) {
        let files = FileLayer()
        let folder = FileLayer.parent(of: path)
        guard try files.attributesIfPresent(folder)?.isDirectory == true else {
            throw FerryError(
                .notFound, "There is no folder \(folder) for \(FileLayer.name(of: path)).",
                remedy: "Make it, or check the path.")
        }
        guard let there = try files.attributesIfPresent(path) else { return }
        let begin = there.isRegularFile ? try files.open(path).read(count: Int(min(there.size, 64)), at: 0) : nil
        // An empty file holds nothing that could be lost.
        let isOwn = begin.map { begin in begin.isEmpty || signs.contains { begin.starts(with: $0.utf8) } }
        guard isOwn == true else {
            throw FerryError(
                .outputExists, "\(path) exists already, and Ferry did not write it.",
                remedy: "Name another file, or move that one away.")
        }
    }

    /// How every object of Ferry's begins.
    static let jsonSign = "{\n  \"ferry\": 1"

    /// Writes what a command found; the file appears whole or not at all.
    func write(_ kind: ReportPage.Kind, _ report: JSON) throws(FerryError) {
        try check()
        let text =
            switch form {
            case .html: ReportPage(kind: kind, report: report).text
            case .json: report.asResult
            }
        try FileLayer().replace(path, with: Array(text.utf8))
    }
}

extension ReportFile? {
    /// Does the work of a command that changes nothing, and writes what it told, its error included.
    ///
    /// - Throws: What the body throws, after the report has it.
    func written(
        _ kind: ReportPage.Kind, of store: String, _ body: () throws -> (report: JSON, code: ExitCode)
    ) throws -> ExitCode {
        guard let self else { return try body().code }
        try self.check()
        do {
            let (report, code) = try body()
            try self.write(kind, report)
            return code
        } catch {
            // A page of an earlier run would tell that all was well.
            let told = FerryError.from(error)
            do { try self.write(kind, ["store": store, "error": told.json]) } catch _ {}
            throw error
        }
    }
}

/// Where `migrate` writes its reports: a file for one store, or a folder for any number of them.
enum ReportPlace: Sendable {
    case file(ReportFile)
    /// Each store gets a page and its object there, under a name that no other store has.
    case folder(String)

    static let option = Syntax.Option.value(
        "--report", "FILE.html",
        "Also write a page with all that is told, drawn; FILE.json: the object that --json prints, with steps and samples. "
            + "Of several stores FOLDER, which gets both of each. A report of Ferry's is replaced, any other file is refused."
    )

    /// What the words ask for, if they do.
    init?(from arguments: Arguments) throws(FerryError) {
        guard let path = arguments.value("--report") else { return nil }
        let stores = arguments.operands.count
        if let form = ReportFile.form(of: path) {
            guard stores == 1 else {
                throw arguments.wrong(
                    "--report names one file, \"\(path)\", for \(stores) stores.",
                    "Name a folder, which gets one for each.")
            }
            self = .file(ReportFile(path: path, form: form))
        } else {
            // Of one store, what has an ending is meant as a file.
            let hasEnding = FileLayer.name(of: path).dropFirst().contains(".")
            let isFolder = try FileLayer().attributesIfPresent(path)?.isDirectory == true
            guard stores > 1 || !hasEnding || isFolder else {
                throw arguments.wrong(
                    "--report cannot be \"\(path)\".",
                    "It is a file that ends in .html, for a page, or in .json; or a folder.")
            }
            self = .folder(path)
        }
    }

    /// Makes sure, before anything is done, that the reports can be written.
    func check(_ stores: [String]) throws(FerryError) {
        if case .folder(let folder) = self { try FileLayer().createDirectory(folder) }
        for store in stores { for file in try files(of: store) { try file.check() } }
    }

    /// Writes what became of a store; that it cannot be is a warning, as the store is migrated or not all the same.
    func write(_ outcome: StoreOutcome, of store: String, on console: Console) {
        do throws(FerryError) {
            let told = Set(outcome.json.members.map(\.0))
            let besides = JSON.object(outcome.besides.members.filter { !told.contains($0.0) })
            for file in try files(of: store) { try file.write(outcome.kind, outcome.json + besides) }
        } catch {
            console.warn("The report could not be written: \(error.message)")
        }
    }

    private func files(of store: String) throws(FerryError) -> [ReportFile] {
        switch self {
        case .file(let file): return [file]
        case .folder(let folder):
            // Stores of apps have all the same name: what tells them apart is the folder that they lie in.
            let files = FileLayer()
            let path = try files.exists(store) ? try files.realPath(store) : store
            var hash = SHA256()
            hash.update(path)
            let name = "\(folder)/\(FileLayer.name(of: path))-\(hash.finalize().hexadecimal.prefix(8))"
            return ReportFile.Form.allCases.map { ReportFile(path: "\(name).\($0.rawValue)", form: $0) }
        }
    }
}
