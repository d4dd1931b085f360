internal import Ferry
internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryPlan

struct ConfigInitCommand: Command {
    static let name = "config init"

    let arguments: Arguments

    func run(on console: Console) throws -> ExitCode {
        let files = FileLayer()
        let output = arguments.value("--output") ?? ConfigFile.fileName
        var (models, mappings) = (arguments.values("--models"), arguments.values("--mappings"))
        try WritePlace().check(output)
        try files.checkIsFree(output)
        if models.isEmpty {
            // The files of the first suffix that is found: a bundle holds the versions that may lie beside the bundle.
            let here = try files.list(".").map(\.name).sorted()
            let found = ModelWord.endings.map { ending in here.filter { $0.hasSuffix("." + ending) } }
            models = found.first { !$0.isEmpty } ?? []
        }
        guard !models.isEmpty else {
            throw FerryError(
                .notFound, "There is no model in the current folder.", remedy: "Name one: --models PATH.")
        }
        let folder = FileLayer.parent(of: output)
        for path in models.map({ ModelWord.split($0).path }) + mappings {
            try files.checkExists(path, as: "file or folder")
        }
        if mappings.isEmpty {
            let catalog = try ModelCatalog(models: ModelWord.sources(models))
            let found = try Self.mappings(files).map { ($0, Self.reasonToLeaveOut($0, catalog)) }
            mappings = found.filter { $0.1 == nil }.map(\.0)
            for (path, reason) in found {
                if let reason { console.warn("\(path) is left out: \(reason)") }
            }
        }
        var content: JSON = [
            "ferry": ConfigFile.form,
            "models": try models.map { word in
                try ModelWord.word(word) { path throws(FerryError) in try Self.path(path, from: folder) }
            },
            "mappings": try mappings.map { try Self.path($0, from: folder) },
        ]
        if let target = arguments.value("--to") { content += ["to": target] }
        content += ["limits": ["memory": "32MiB"] as JSON]
        try files.replace(output, with: Array((content.pretty + "\n").utf8))
        console.result(["config": output, "content": content], text: ["Wrote \(output)."])
        return .success
    }

    /// The reason why mapping models cannot be used with these versions; nil if all can.
    private static func reasonToLeaveOut(_ path: String, _ catalog: ModelCatalog) -> String? {
        do throws(FerryError) {
            _ = try MappingEdge.all(of: try MappingFile.loadAll(path: path), in: catalog)
            return nil
        } catch {
            return error.message
        }
    }

    /// The mapping models of the current folder, and the folders in it that hold some.
    private static func mappings(_ files: FileLayer) throws -> [String] {
        let own = try MappingFile.paths(in: ".", files: files).map(FileLayer.name(of:))
        // A mapping file may extend another: the folder is named, since both files by name would map the same step.
        var mappings = own.contains { $0.hasSuffix(".json") } ? ["."] : own
        for entry in try files.list(".").inOrder(by: { $0.name < $1.name }) where entry.isDirectory {
            let isBundle = (ModelWord.endings + ["xcmappingmodel"]).contains { entry.name.hasSuffix("." + $0) }
            guard !isBundle, !entry.name.hasPrefix(".") else { continue }
            do {
                if try !MappingFile.paths(in: entry.name, files: files).isEmpty { mappings.append(entry.name) }
            } catch {
                // An unreadable folder counts as a folder without mapping models.
            }
        }
        return mappings
    }

    /// A path for `ferry.json`: as typed if the file is in the current folder, else absolute.
    private static func path(_ path: String, from folder: String) throws(FerryError) -> String {
        path.hasPrefix("/") || folder == "." || folder.isEmpty ? path : try FileLayer().realPath(path)
    }
}
