internal import FerryBase
package import FerrySQLite

extension StoreFiles {
    /// Lends a connection that sees one state of the store, what is only in its `-wal` included.
    ///
    /// Neither the store nor its side files are changed, and other programs may read and write meanwhile.
    ///
    /// - Throws: ``FerryError`` `.notFound`, `.notADatabase`, `.notACoreDataStore`, `.hotJournal`; what the body throws.
    package func read<Result>(trace: TraceHook? = nil, _ body: (Connection) throws -> Result) throws -> Result {
        let files = FileLayer(trace: trace)
        let store = try SourceGuard(path: realPath(files), purpose: .reading, files: files, trace: trace)
        return try store.closing { try body(store.connection) }
    }

    private func realPath(_ files: FileLayer) throws(FerryError) -> String {
        do throws(FerryError) {
            return try files.realPath(store.filePath)
        } catch {
            guard error.code == .notFound else { throw error }
            throw FerryError(
                .notFound, "There is no store at \(store.filePath).", remedy: "Check the path.", cause: error)
        }
    }
}
