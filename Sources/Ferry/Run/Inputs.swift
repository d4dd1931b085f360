internal import FerryBase
internal import FerryEngine
internal import FerryMapping
internal import FerryModel
internal import FerryPlan

/// The models and mapping models of a migration, read once.
struct Inputs: Sendable {
    var catalog: ModelCatalog
    var mappingModels: [MappingModel]
    var policies: PolicyRegistry
    /// Real path to the SHA-256 of what was read there, in hexadecimal.
    var digests: [String: String]

    init(
        models: [ModelSource], mappings: [MappingSource], policies: PolicyRegistry = PolicyRegistry(), files: FileLayer
    ) throws(FerryError) {
        self.policies = policies
        catalog = try ModelCatalog(paths: models.map(\.path), files: files)
        mappingModels = []
        for mapping in mappings { mappingModels += try MappingFile.loadAll(path: mapping.path, files: files) }
        digests = [:]
        // Versions that are not used count too: with them the same command can find another chain.
        for version in catalog.versions {
            digests[try files.realPath(version.path)] = try InputDigest(files: files).digest(of: version.path)
        }
        for mapping in mappingModels { digests[try files.realPath(mapping.path)] = mapping.fingerprint.hexadecimal }
    }

    /// What finds the way, with the executor that was asked for.
    func planner(_ executor: Configuration.Executor) -> Planner {
        let choice: ExecutorChoice =
            switch executor {
            case .automatic: .auto
            case .row: .row
            case .set: .set
            }
        return Planner(catalog: catalog, mappingModels: mappingModels, policies: policies.known, executor: choice)
    }

    /// The version that a migration leads to.
    ///
    /// - Throws: ``FerryError`` `.noSuchVersion` or `.ambiguousVersion`.
    func target(named name: String?) throws(FerryError) -> ModelVersion {
        if let name { return try catalog.version(named: name) }
        if let current = catalog.currentVersion() { return current }
        let names = catalog.versions.map { "'\(catalog.displayName(of: $0))'" }.joined(separator: ", ")
        throw FerryError(
            .ambiguousVersion, "The models do not say which version is the current one.",
            remedy: "Name it with --to; there are: \(names).")
    }
}

/// The SHA-256 of a file, or of all files in a folder with their names.
struct InputDigest {
    let files: FileLayer

    func digest(of path: String) throws(FerryError) -> String {
        var hash = SHA256()
        try add(path, as: "", to: &hash)
        return hash.finalize().hexadecimal
    }

    private func add(_ path: String, as name: String, to hash: inout SHA256) throws(FerryError) {
        guard try files.attributes(path).isDirectory else { return try add(file: path, as: name, to: &hash) }
        let names = try files.list(path).map(\.name).filter { !$0.hasPrefix(".") }.sorted {
            $0.utf8.lexicographicallyPrecedes($1.utf8)
        }
        for child in names { try add(path + "/" + child, as: name + "/" + child, to: &hash) }
    }

    private func add(file path: String, as name: String, to hash: inout SHA256) throws(FerryError) {
        let input = try files.open(path)
        let size = try input.size()
        hash.update("\(name)\n\(size)\n")
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
        defer { buffer.deallocate() }
        var offset: Int64 = 0
        while true {
            let count = try input.read(into: buffer, at: offset)
            if count == 0 { return }
            hash.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            offset += Int64(count)
        }
    }
}
