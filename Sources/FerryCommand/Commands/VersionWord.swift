internal import Ferry
internal import FerryBase
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// A model version on the command line: `PATH`, `PATH:VERSION`, or a store with its cached model.
struct VersionWord {
    private let path: String
    private let name: String?

    init(_ word: String) throws(FerryError) {
        // A path may hold a colon.
        if try !FileLayer().exists(word), let colon = word.lastIndex(of: ":"), colon != word.startIndex {
            path = String(word[..<colon])
            name = String(word[word.index(after: colon)...])
        } else {
            path = word
            name = nil
        }
    }

    /// The version that the word names; for a bundle without a version name, its current version.
    ///
    /// - Parameter preferred: The value of `--version`, for a word without a version name.
    /// - Returns: The version, with the hashes in the metadata of its stores.
    /// - Throws: `ambiguousVersion` if a bundle has no current version; errors of reading the model or the store.
    func version(named preferred: String? = nil) throws -> ModelVersion {
        if try isDatabase() { return try cachedVersion() }
        let catalog = try ModelCatalog(paths: [path])
        if let name = name ?? preferred { return try catalog.version(named: name) }
        if let version = catalog.currentVersion() { return version }
        let names = catalog.versions.map { "'\(catalog.displayName(of: $0))'" }.joined(separator: ", ")
        throw FerryError(
            .ambiguousVersion, "\(path) has \(catalog.versions.count) versions, and none of them is marked as current.",
            remedy: "Add one after a colon, as in \(path):VERSION. Its versions: \(names).")
    }

    /// Whether the file begins with SQLite's header string.
    private func isDatabase() throws(FerryError) -> Bool {
        let files = FileLayer()
        guard let attributes = try files.attributesIfPresent(path), attributes.isRegularFile else { return false }
        return DatabaseHeader(try files.open(path).read(count: DatabaseHeader.byteCount, at: 0)) != nil
    }

    private func cachedVersion() throws -> ModelVersion {
        guard var version = try ModelCatalog(models: [.store(path.fileURL)]).versions.first else {
            throw FerryError(
                .unknownVersion, "The store \(path) contains no cached model.",
                remedy: "Name the model's file instead.")
        }
        version.name = FileLayer.name(of: path)
        return version
    }
}
