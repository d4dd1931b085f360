internal import Ferry
internal import FerryBase

/// The file that `--report` names: a page, or the object that `--json` prints.
///
/// Commands are repeated (a run is resumed, a plan is made again), so a report replaces an earlier report of Ferry's.
/// Any other file at the path is not Ferry's to replace: the command is refused before it changes anything.
struct ReportFile: Sendable {
    enum Form: String, CaseIterable, Sendable { case html, json }

    let path: String
    let form: Form

    static let option = Syntax.Option.value(
        "--report", "FILE.html",
        "Also write the report as an HTML page, or as FILE.json: the object that --json prints. Only a report by Ferry is "
            + "overwritten.")

    init(path: String, form: Form) { (self.path, self.form) = (path, form) }

    /// The file that the command line names; nil without `--report`.
    init?(from arguments: Arguments) throws(FerryError) {
        let file = try arguments.value("--report", "a file that ends in .html (a page) or .json") { path in
            Self.form(of: path).map { ReportFile(path: path, form: $0) }
        }
        guard let file else { return nil }
        self = file
    }

    /// The form by the file name extension; nil for any other extension.
    static func form(of path: String) -> Form? {
        Form.allCases.first { path.lowercased().hasSuffix(".\($0.rawValue)") }
    }

    /// - Throws: `outputExists` for a file that Ferry did not write, `notFound` without a folder.
    func check(beside stores: [String] = []) throws(FerryError) {
        try Self.check(path, signs: [Page.sign, Self.jsonSign], beside: stores)
    }

    /// Checks that a file can be written: the path is free, or has a file of Ferry's, identified by its first bytes.
    ///
    /// - Throws: `outputExists` for any other file, `notFound` without a folder.
    static func check(_ path: String, signs: [String], beside stores: [String] = []) throws(FerryError) {
        let files = FileLayer()
        try WritePlace(beside: stores).check(path)
        let folder = FileLayer.parent(of: path)
        guard try files.attributesIfPresent(folder)?.isDirectory == true else {
            throw FerryError(
                .notFound, "The folder \(folder) does not exist. It is needed for \(FileLayer.name(of: path)).",
                remedy: "Create it, or check the path.")
        }
        guard let stat = try files.attributesIfPresent(path) else { return }
        let firstBytes = stat.isRegularFile ? try files.open(path).read(count: Int(min(stat.size, 64)), at: 0) : nil
        // An empty file has no content to lose.
        let isOwn = firstBytes.map { bytes in bytes.isEmpty || signs.contains { bytes.starts(with: $0.utf8) } }
        guard isOwn == true else {
            throw FerryError(
                .outputExists, "\(path) already exists, and was not written by Ferry.",
                remedy: "Choose another file, or move that one away.")
        }
    }

    /// The first bytes of each of Ferry's objects.
    static let jsonSign = "{\n  \"ferry\": 1"

    /// Writes the report of a command; the file appears whole or not at all.
    func write(_ report: any CommandReport) throws(FerryError) {
        try check()
        let text =
            switch form {
            case .html: report.report.page
            case .json: (report.json + report.extras).asResult
            }
        try FileLayer().replace(path, with: Array(text.utf8))
    }
}

extension ReportFile? {
    /// Does the work of a command that changes nothing, and writes its report or its error.
    ///
    /// - Throws: The body's error, after it is written to the report.
    func written(
        _ title: String, of store: String, _ body: () throws -> (report: any CommandReport, code: ExitCode)
    ) throws -> ExitCode {
        guard let self else { return try body().code }
        try self.check()
        do {
            let (report, code) = try body()
            try self.write(report)
            return code
        } catch {
            do { try self.write(FailureReport(FerryError.from(error), title: title, store: store)) } catch _ {}
            throw error
        }
    }
}

/// The place of `migrate`'s reports: a file for one store, or a folder for any number of stores.
enum ReportPlace: Sendable {
    case file(ReportFile)
    /// The folder gets a page and an object for each store, under a name that no other store has.
    case folder(String)

    static let option = Syntax.Option.value(
        "--report", "FILE.html",
        "Also write the report as an HTML page, or as FILE.json: the object that --json prints, with steps and samples. "
            + "For several stores, FOLDER gets both for each. Only a report by Ferry is overwritten."
    )

    /// The place that the command line names; nil without `--report`.
    init?(from arguments: Arguments) throws(FerryError) {
        guard let path = arguments.value("--report") else { return nil }
        let stores = arguments.operands.count
        if let form = ReportFile.form(of: path) {
            guard stores == 1 else {
                throw arguments.wrong(
                    "--report names one file, \"\(path)\", for \(stores) stores.",
                    "Pass a folder instead, for one report per store.")
            }
            self = .file(ReportFile(path: path, form: form))
        } else {
            // For one store, a path with an extension is meant as a file.
            let hasEnding = FileLayer.name(of: path).dropFirst().contains(".")
            let isFolder = try FileLayer().attributesIfPresent(path)?.isDirectory == true
            guard stores > 1 || !hasEnding || isFolder else {
                throw arguments.wrong(
                    "--report cannot be \"\(path)\".",
                    "It is a file that ends in .html (a page) or .json; or a folder.")
            }
            self = .folder(path)
        }
    }

    /// Checks that the reports can be written, before the migration changes anything.
    func check(_ stores: [String], output: String?) throws(FerryError) {
        let made = stores + [output].compactMap { $0 }
        if case .folder(let folder) = self {
            try WritePlace(beside: made).check(folder + "/report")
            try FileLayer().createDirectory(folder)
        }
        for store in stores { for file in try files(of: store) { try file.check(beside: made) } }
    }

    /// Writes the report of a store; a failure is a warning, since it does not change the migration's outcome.
    func write(_ outcome: StoreOutcome, of store: String, on console: Console) {
        do throws(FerryError) {
            for file in try files(of: store) { try file.write(outcome.report) }
        } catch {
            console.warn("The report could not be written: \(error.message)")
        }
    }

    private func files(of store: String) throws(FerryError) -> [ReportFile] {
        switch self {
        case .file(let file): return [file]
        case .folder(let folder):
            // Stores of apps often have equal file names, so the report's name has a hash of the whole path.
            let files = FileLayer()
            let path = try files.exists(store) ? try files.realPath(store) : store
            var hash = SHA256()
            hash.update(path)
            let name = "\(folder)/\(FileLayer.name(of: path))-\(hash.finalize().hexadecimal.prefix(8))"
            return ReportFile.Form.allCases.map { ReportFile(path: "\(name).\($0.rawValue)", form: $0) }
        }
    }
}
