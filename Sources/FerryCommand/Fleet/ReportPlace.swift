internal import FerryBase

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
    init?(from arguments: Arguments, stores: Int) throws(FerryError) {
        guard let path = arguments.value("--report") else { return nil }
        if let form = ReportFile.form(of: path) {
            guard stores == 1 else {
                throw arguments.wrong(
                    "--report names one file, \"\(path)\", for \(stores) stores.",
                    "Name a folder, which gets one for each.")
            }
            self = .file(ReportFile(path: path, form: form))
        } else {
            self = .folder(path)
        }
    }

    /// Makes sure, before anything is done, that the reports can be written.
    func check(_ stores: [String]) throws(FerryError) {
        let files = FileLayer()
        if case .folder(let folder) = self { try files.createDirectory(folder) }
        for store in stores { for file in try self.files(of: store, files) { try file.check(files: files) } }
    }

    /// Writes what became of a store; that it cannot be is a warning, as the store is migrated or not all the same.
    func write(_ outcome: StoreOutcome, of store: String, on console: Console) {
        do throws(FerryError) {
            for file in try files(of: store, FileLayer()) {
                try file.write(
                    outcome.kind,
                    outcome.members
                        + outcome.besides.filter { besides in
                            !outcome.members.contains { $0.0 == besides.0 }
                        })
            }
        } catch {
            console.warn("The report could not be written: \(error.message)")
        }
    }

    private func files(of store: String, _ files: FileLayer) throws(FerryError) -> [ReportFile] {
        switch self {
        case .file(let file): return [file]
        case .folder(let folder):
            // Stores of apps have all the same name: what tells them apart is the folder that they lie in.
            let path = try files.exists(store) ? try files.realPath(store) : store
            var hash = SHA256()
            hash.update(path)
            let name = "\(folder)/\(FileLayer.name(of: path))-\(hash.finalize().hexadecimal.prefix(8))"
            return ReportFile.Form.allCases.map { ReportFile(path: "\(name).\($0.rawValue)", form: $0) }
        }
    }
}
