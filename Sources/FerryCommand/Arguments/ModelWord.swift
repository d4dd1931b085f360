internal import Ferry
internal import FerryBase
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// A value of `--models`: a path, or `NAME=STORE` for a store whose version gets a name.
enum ModelWord {
    /// The parts of a word, without a look at the files; a name has no slash.
    static func split(_ word: String) -> (name: String?, path: String) {
        guard let sign = word.firstIndex(of: "="), sign != word.startIndex, !word[..<sign].contains("/") else {
            return (nil, word)
        }
        let path = String(word[word.index(after: sign)...])
        return path.isEmpty ? (nil, word) : (String(word[..<sign]), path)
    }

    static func word<Failure: Error>(
        _ word: String, _ change: (String) throws(Failure) -> String
    ) throws(Failure) -> String {
        let parts = split(word)
        let path = try change(parts.path)
        return parts.name.map { "\($0)=\(path)" } ?? path
    }

    private static func source(_ word: String) throws(FerryError) -> ModelSource {
        let parts = split(word)
        // A file that exists may have the sign in its own name.
        guard let name = parts.name, try !FileLayer().exists(word) else { return .url(word.fileURL) }
        return .store(parts.path.fileURL, named: name)
    }

    /// A bundle comes before the versions that it holds.
    static let endings = ["xcdatamodeld", "momd", "xcdatamodel", "mom"]

    static func isModel(_ path: String) -> Bool { endings.contains(FileLayer.parts(of: path).extension) }

    static func sources(_ words: [String]) throws(FerryError) -> [ModelSource] { try words.map(source) }
}

extension Arguments {
    var models: [ModelSource] { get throws(FerryError) { try ModelWord.sources(values("--models")) } }
}

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
        let files = FileLayer()
        // A file that begins with SQLite's header string is a store.
        if try files.attributesIfPresent(path)?.isRegularFile == true,
            DatabaseHeader(try files.open(path).read(count: DatabaseHeader.byteCount, at: 0)) != nil
        {
            return try cachedVersion()
        }
        let catalog = try ModelCatalog(paths: [path])
        if let name = name ?? preferred { return try catalog.version(named: name) }
        if let version = catalog.currentVersion() { return version }
        let names = catalog.versions.map { "'\(catalog.displayName(of: $0))'" }.joined(separator: ", ")
        throw FerryError(
            .ambiguousVersion, "\(path) has \(catalog.versions.count) versions, and none of them is marked as current.",
            remedy: "Add one after a colon, as in \(path):VERSION. Its versions: \(names).")
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
