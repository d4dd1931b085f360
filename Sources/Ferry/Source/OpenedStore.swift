internal import FerryBase
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// A store under its guard, with its metadata.
struct OpenedStore {
    let sourceGuard: SourceGuard
    let metadata: StoreMetadata

    init(_ sourceGuard: SourceGuard) throws {
        self.sourceGuard = sourceGuard
        do {
            try Self.checkEncoding(sourceGuard)
            metadata = try StoreMetadata.read(from: sourceGuard.connection)
        } catch {
            throw FerryError.beforeRun(error, on: sourceGuard.store.main)
        }
    }

    /// Calls a body with a store that other programs may write meanwhile, and closes the store also after an error.
    ///
    /// - Throws: The body's error, as an error on the store; else that of closing.
    static func reading<Result>(
        _ path: String, files: FileLayer, trace: TraceHook? = nil, _ body: (OpenedStore) throws -> Result
    ) throws -> Result {
        let reader = try SourceGuard(
            path: RunPlace.existing(path, files: files), purpose: .reading, files: files, trace: trace)
        return try reader.closing { try body(OpenedStore(reader)) }
    }

    /// Checks for UTF-8: Core Data writes no other encoding, and SQLite allows only one on a connection.
    private static func checkEncoding(_ sourceGuard: SourceGuard) throws {
        if try sourceGuard.connection.pragma("encoding")?.text == "UTF-8" { return }
        throw FerryError(
            .unsupported, "\(sourceGuard.store.main) keeps its text in UTF-16, which no Core Data store does.",
            remedy: "Convert it to UTF-8: .dump of the sqlite3 shell, read into a new file after "
                + "PRAGMA encoding = 'UTF-8'.")
    }

    var path: String { sourceGuard.store.main }

    /// The version of a catalog with the store's hashes: of several the preferred one, else the last one before it (of
    /// 2.98 and 2.100 with equal hashes, 2.98 on the way to 2.99), else the last.
    func version(in catalog: ModelCatalog, preferring preferred: ModelVersion? = nil) -> ModelVersion? {
        let matching = catalog.versions(matching: metadata.hashes)
        guard let preferred else { return matching.last }
        return matching.first { $0.path == preferred.path } ?? matching.last { catalog.isBefore($0, preferred) }
            ?? matching.last
    }

    /// The error that no version fits, with the nearest one and its differing entities.
    func unknownVersion(in catalog: ModelCatalog) throws -> FerryError {
        let ownModel: Remedy =
            try ModelCache.hasModel(sourceGuard.connection)
            ? ", or the store itself with \(setting: .models): it contains its model." : "."
        let known = "No given model version matches the store \(path)"
        guard let nearest = catalog.nearest(to: metadata.hashes) else {
            return FerryError(
                .unknownVersion, "\(known), not even in one entity.",
                remedy: "Pass the models of the app that wrote the store\(ownModel)")
        }
        let shown = nearest.differs.prefix(8).joined(separator: ", ")
        let more = nearest.differs.count > 8 ? " and \(nearest.differs.count - 8) more" : ""
        return FerryError(
            .unknownVersion,
            "\(known). The nearest is '\(catalog.displayName(of: nearest.version))', which differs in: \(shown)\(more).",
            remedy: "Add the model version with which the store was written\(ownModel)")
    }

    /// The store's rows per entity, and its layout.
    func inspect(
        _ version: ModelVersion, counting: StoreInspection.Counting
    ) throws -> (StoreInspection, StoreLayout) {
        try FerryError.beforeRun(on: path) {
            let connection = sourceGuard.connection
            let layout = try StoreLayout.actual(for: version.model, on: connection)
            return (try StoreInspection(of: layout, on: connection, counting: counting), layout)
        }
    }

    /// The bytes of the database including its `-wal`.
    func contentBytes() throws -> Int64 {
        try FerryError.wrapping(on: path) { try sourceGuard.connection.contentBytes() }
    }
}
