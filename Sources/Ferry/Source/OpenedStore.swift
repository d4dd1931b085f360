internal import FerryBase
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// A store under its guard, with what it says about itself.
struct OpenedStore {
    let sourceGuard: SourceGuard
    let metadata: StoreMetadata

    init(_ sourceGuard: SourceGuard) throws {
        self.sourceGuard = sourceGuard
        do {
            try Self.checkEncoding(sourceGuard)
            metadata = try StoreMetadata.read(from: sourceGuard.connection)
        } catch {
            throw FerryError.wrapping(error, on: sourceGuard.store.main)
        }
    }

    /// Lends a store that others may write meanwhile, and closes it whatever becomes of the body.
    ///
    /// - Throws: What the body throws, as an error on the store; else what closing throws.
    static func reading<Result>(
        _ path: String, files: FileLayer, sideFiles: SideFiles? = nil, trace: TraceHook? = nil,
        _ body: (OpenedStore) throws -> Result
    ) throws -> Result {
        let reader = try SourceGuard(path: path, purpose: .reading, files: files, sideFiles: sideFiles, trace: trace)
        return try reader.closing { try body(OpenedStore(reader)) }
    }

    /// Core Data writes UTF-8 only, and SQLite puts no two encodings on one connection.
    private static func checkEncoding(_ sourceGuard: SourceGuard) throws {
        // Compared by SQLite: even this text comes in the store's own encoding.
        let isUTF8 = try sourceGuard.connection.integer("SELECT encoding = 'UTF-8' FROM pragma_encoding")
        guard isUTF8 == 0 else { return }
        throw FerryError(
            .unsupported, "\(sourceGuard.store.main) keeps its text in UTF-16, which no Core Data store does.",
            remedy: "Write it anew in UTF-8: .dump of the sqlite3 shell, read into a new file after "
                + "PRAGMA encoding = 'UTF-8'.")
    }

    var path: String { sourceGuard.store.main }

    /// The version of a catalog that has the store's hashes; of several the one that is asked for, else the last.
    func version(in catalog: ModelCatalog, preferring preferred: ModelVersion? = nil) -> ModelVersion? {
        let matching = catalog.versions(matching: metadata.hashes)
        return matching.first { $0.path == preferred?.path } ?? matching.last
    }

    /// Why no version fits, with the nearest one and the entities that differ.
    func unknownVersion(in catalog: ModelCatalog) -> FerryError {
        let known = "The store \(path) has none of the given model versions"
        guard let nearest = catalog.nearest(to: metadata.hashes) else {
            return FerryError(
                .unknownVersion, "\(known), and no entity in common with any of them.",
                remedy: "Give the models of the app that wrote the store.")
        }
        let shown = nearest.differs.prefix(8).joined(separator: ", ")
        let more = nearest.differs.count > 8 ? " and \(nearest.differs.count - 8) more" : ""
        return FerryError(
            .unknownVersion,
            "\(known). The nearest is '\(catalog.displayName(of: nearest.version))'; different are: \(shown)\(more).",
            remedy: "Add the model version with which the store was written.")
    }

    /// The store's rows per entity, and its layout; the walk over its pages, if that is to be made, counts on the way.
    func inspect(
        _ version: ModelVersion, counting: StoreInspection.Counting,
        _ walk: (StoreLayout) throws -> PageWalk? = { _ in nil }
    ) throws -> (StoreInspection, StoreLayout) {
        do {
            let layout = try StoreLayout.actual(for: version.model, on: sourceGuard.connection)
            let connection = sourceGuard.connection
            return (
                try StoreInspection(of: layout, on: connection, counting: counting, walk: walk(layout)), layout
            )
        } catch {
            throw FerryError.wrapping(error, on: path)
        }
    }

    /// Bytes of the database as it reads now, the `-wal` included.
    func contentBytes() throws -> Int64 {
        do {
            return try sourceGuard.connection.contentBytes()
        } catch {
            throw FerryError.wrapping(error, on: path)
        }
    }
}
