internal import FerryBase
internal import FerryModel
internal import FerrySQLite
internal import FerrySnapshot
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
                Create what is missing with \(on: .missingParts): empty, or with the model's default values where something is \
                mandatory; or restore a backup or a snapshot.
                """
                : "Restore a backup or a snapshot.")
    }

    /// Makes the missing tables and columns of a store's own version, and drops what the configuration names, in one
    /// transaction after a snapshot.
    ///
    /// - Returns: The names of the parts that were made or dropped; empty if there was nothing to do.
    /// - Throws: ``FerryError`` `.storeIncomplete` if no rule tells a part's form, `.unknownObject` for a name that
    ///   cannot be dropped; the store is as before then.
    func repair(_ path: String) throws -> [String] {
        let sourceGuard = try SourceGuard(
            path: path, purpose: .migrating, files: files, vfs: files.vfs(), memory: configuration.memory,
            trace: configuration.trace)
        return try sourceGuard.closing {
            let store = try OpenedStore(sourceGuard)
            var fitting = inputs
            fitting = try fitting.fitted(to: store.metadata.hashes, target: configuration.target)
            try fitting.takeOwnModel(of: store)
            guard let version = store.version(in: fitting.catalog) else {
                throw try store.unknownVersion(in: fitting.catalog)
            }
            let names = configuration.repairs.keepsVersion ? configuration.dropping : []
            let missing = try MissingParts(of: version.model, on: sourceGuard.connection)
            guard !missing.isEmpty || !names.isEmpty else { return [] }
            guard missing.obstacle == nil, missing.isEmpty || configuration.repairs.missingParts,
                sourceGuard.access == .readWrite
            else { throw incomplete(version, missing) }
            if missing.isEmpty { _ = try objects(named: names, in: version, on: sourceGuard.connection) }
            if takesSnapshot {
                let name = fitting.catalog.displayName(of: version)
                snapshotOfRepair = try StoreSnapshots(
                    of: path, folder: configuration.snapshots.folder?.filePath, files: files
                ).create(store, version: name, rows: [:], level: snapshotLevel, stop: stop, progress: nil).archivePath
            }
            let before = try sourceGuard.fingerprint()
            let connection = try sourceGuard.handOver()
            var dropped: [String] = []
            try connection.transaction("BEGIN IMMEDIATE") {
                // Between the two transactions another program may have written.
                guard case .same = before.compare(with: try sourceGuard.fingerprint()) else {
                    throw FerryError.storeInUse(path)
                }
                try missing.make(on: connection)
                if !names.isEmpty {
                    let objects = try objects(named: names, in: version, on: connection)
                    try objects.drop(on: connection)
                    dropped = objects.dropped.map(\.name)
                }
                let left = try MissingParts(of: version.model, on: connection)
                guard left.isEmpty else { throw incomplete(version, left) }
                for (relationship, rows) in try missing.removeLinksToLostObjects(on: connection) {
                    warn(
                        FerryWarning(
                            .damagedRows,
                            "\(rows.counting("link")) of \(relationship) led to objects of a missing table and "
                                + "\(rows == 1 ? "is" : "are") removed.", about: .init(path: path)))
                }
            }
            // Without an effect on a store in another mode than WAL.
            try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            return missing.parts.map(\.name) + dropped
        }
    }

    /// The app's objects with those that are to be dropped.
    ///
    /// - Throws: ``FerryError`` `.unknownObject` if there is no such object, or if another one names it.
    private func objects(
        named names: Set<String>, in version: ModelVersion, on connection: Connection
    ) throws -> AppObjects {
        let layout = try StoreLayout.actual(for: version.model, on: connection)
        // Reasons against a migration are none against a repair.
        let known = try AppObjects(of: layout, into: layout, on: connection, inPlace: true).refusals.map(\.message)
        let objects = try AppObjects(of: layout, into: layout, on: connection, dropping: names, inPlace: true)
        if let refusal = objects.refusals.first(where: { !known.contains($0.message) }) { throw refusal }
        return objects
    }
}
