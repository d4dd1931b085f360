internal import FerryBase
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// Stores whose metadata name a version of which tables or columns are missing.
extension MigrationRun {
    /// Refuses a store that has the target version by its metadata alone.
    ///
    /// - Throws: ``FerryError`` `.storeIncomplete` with what is missing.
    func checkParts(of store: OpenedStore, as version: ModelVersion) throws {
        let missing = try MissingParts(of: version.model, on: store.sourceGuard.connection)
        guard !missing.isEmpty else { return }
        throw incomplete(version, missing)
    }

    private func incomplete(_ version: ModelVersion, _ missing: MissingParts) -> FerryError {
        let names = missing.parts.map { "\($0.name) (\($0.place))" }
        let shown = names.prefix(8).joined(separator: ", ") + (names.count > 8 ? " and \(names.count - 8) more" : "")
        let what = [shown.isEmpty ? nil : "it lacks \(shown)", missing.obstacle?.message].compactMap { $0 }
        return FerryError(
            .storeIncomplete,
            "According to its metadata, \(place.store) has version \(inputs.catalog.displayName(of: version)), but "
                + "\(what.joined(separator: "; ")).",
            remedy: missing.obstacle == nil
                ? """
                Create what is missing with \(on: .repairs): empty, or with the model's default values where something is \
                mandatory; or restore a backup or a snapshot.
                """
                : "Restore a backup or a snapshot.")
    }

    /// Makes the missing tables and columns of the store's own version, in one transaction after a snapshot.
    ///
    /// - Returns: The names of the parts that were made; empty if nothing was missing.
    /// - Throws: ``FerryError`` `.storeIncomplete` if no rule tells a part's form; the store is as before then.
    func repair() throws -> [String] {
        let sourceGuard = try SourceGuard(
            path: place.store, purpose: .migrating, files: files, vfs: files.vfs(), memory: configuration.memory,
            trace: configuration.trace)
        return try sourceGuard.closing {
            let store = try OpenedStore(sourceGuard)
            var fitting = inputs
            fitting = try fitting.fitted(to: store.metadata.hashes, target: configuration.target)
            try fitting.takeOwnModel(of: store)
            guard let version = store.version(in: fitting.catalog) else {
                throw try store.unknownVersion(in: fitting.catalog)
            }
            let missing = try MissingParts(of: version.model, on: sourceGuard.connection)
            guard !missing.isEmpty else { return [] }
            guard missing.obstacle == nil, sourceGuard.access == .readWrite else { throw incomplete(version, missing) }
            if takesSnapshot {
                let name = fitting.catalog.displayName(of: version)
                _ = try StoreSnapshots(of: place.store, folder: configuration.snapshotFolder?.filePath, files: files)
                    .create(store, version: name, rows: [:], level: snapshotLevel, stop: stop, progress: nil)
            }
            let before = try sourceGuard.fingerprint()
            let connection = try sourceGuard.handOver()
            try connection.transaction("BEGIN IMMEDIATE") {
                // Between the two transactions another program may have written.
                guard case .same = before.compare(with: try sourceGuard.fingerprint()) else {
                    throw FerryError.storeInUse(place.store)
                }
                try missing.make(on: connection)
                let left = try MissingParts(of: version.model, on: connection)
                guard left.isEmpty else { throw incomplete(version, left) }
                for (relationship, rows) in try missing.removeLinksToLostObjects(on: connection) {
                    warn(
                        FerryWarning(
                            .damagedRows,
                            "\(rows.counting("link")) of \(relationship) led to objects of a missing table and "
                                + "\(rows == 1 ? "is" : "are") removed.", about: .init(path: place.store)))
                }
            }
            // Without an effect on a store in another mode than WAL.
            try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            return missing.parts.map(\.name)
        }
    }
}
