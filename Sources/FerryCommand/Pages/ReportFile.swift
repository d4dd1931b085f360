internal import Ferry
internal import FerryBase

/// The file that `--report` names: a page, or the object that `--json` prints.
///
/// Commands are repeated (a run is resumed, a plan is made again), so a report replaces an earlier report of Ferry's.
/// Any other file at the path is not Ferry's to replace: the command is refused before it changes anything.
struct ReportFile: Sendable {
    static let endings = [".html", ".json"]

    let path: String

    static func named(by arguments: Arguments) throws(FerryError) -> ReportFile? {
        try arguments.value("--report", "a file that ends in .html (a page) or .json") { path in
            isFile(path) ? ReportFile(path: path) : nil
        }
    }

    static func isFile(_ path: String) -> Bool { endings.contains { path.lowercased().hasSuffix($0) } }

    /// - Throws: `outputExists` for a file that Ferry did not write, `notFound` without a folder.
    func check(beside stores: [String] = []) throws(FerryError) {
        try Self.check(path, signs: [Self.pageSign, Self.jsonSign], beside: stores)
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
        try files.checkIsWritable(folder, for: path)
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

    private static let pageSign = "<!DOCTYPE html><!-- ferry report -->"
    static let jsonSign = "{\n  \"ferry\": 1"

    /// Writes the report of a command; the file appears whole or not at all.
    func write(_ report: any CommandReport) throws(FerryError) {
        try check()
        let isPage = path.lowercased().hasSuffix(".html")
        let text = isPage ? report.report.page : (report.json + report.extras).asResult
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
            do {
                try self.write(FailureReport(error: FerryError.from(error), store: store, title: title))
            } catch _ {}
            throw error
        }
    }
}

/// The place of `migrate`'s reports: a file for one store, or a folder with a page and an object for each store.
struct ReportPlace: Sendable {
    private let path: String
    private var isFolder: Bool { !ReportFile.isFile(path) }

    init?(from arguments: Arguments) throws(FerryError) {
        guard let path = arguments.value("--report") else { return nil }
        self.path = path
        let stores = arguments.operands.count
        guard stores == 1 || isFolder else {
            throw arguments.wrong(
                "--report names one file, \"\(path)\", for \(stores) stores.",
                "Pass a folder instead, for one report per store.")
        }
        // For one store, a path with an extension is meant as a file.
        let hasEnding = FileLayer.name(of: path).dropFirst().contains(".")
        let exists = try FileLayer().attributesIfPresent(path)?.isDirectory == true
        guard stores > 1 || !isFolder || !hasEnding || exists else {
            throw arguments.wrong(
                "--report cannot be \"\(path)\".", "It is a file that ends in .html (a page) or .json; or a folder.")
        }
    }

    /// Checks that the reports can be written, before the migration changes anything.
    func check(_ stores: [String], output: String?) throws(FerryError) {
        let made = stores + [output].compactMap { $0 }
        if isFolder {
            try WritePlace(beside: made).check(path + "/report")
            try FileLayer().createDirectory(path)
        }
        for store in stores { for file in try files(of: store) { try file.check(beside: made) } }
    }

    /// Writes the report of a store; a failure is a warning, since it does not change the migration's outcome.
    func write(_ outcome: any RunReport, of store: String, on console: Console) {
        do throws(FerryError) {
            for file in try files(of: store) { try file.write(outcome) }
        } catch {
            console.warn("The report could not be written: \(error.message)")
        }
    }

    private func files(of store: String) throws(FerryError) -> [ReportFile] {
        guard isFolder else { return [ReportFile(path: path)] }
        // Stores of apps often have equal file names, so the report's name has a hash of the whole path.
        let files = FileLayer()
        let real = try files.exists(store) ? try files.realPath(store) : store
        var hash = SHA256()
        hash.update(real)
        let name = "\(path)/\(FileLayer.name(of: real))-\(hash.finalize().hexadecimal.prefix(8))"
        return ReportFile.endings.map { ReportFile(path: name + $0) }
    }
}
