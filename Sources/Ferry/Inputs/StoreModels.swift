package import FerryBase
package import FerryModel
internal import FerrySQLite
internal import FerryStore

/// Reads the models that stores hold; a store is opened for reading only, and no side file stays beside it.
package enum StoreModels {
    /// The reader of a catalog's stores; equal models of many stores are decoded once.
    static func reader(files: FileLayer) -> StoreModelReader {
        let known = Locked<[[UInt8]: ManagedObjectModel]>([:])
        return { path throws(FerryError) in
            let start = try files.open(path).read(count: DatabaseHeader.byteCount, at: 0)
            guard DatabaseHeader(start) != nil else { return nil }
            return try FerryError.wrapping(on: path) {
                try OpenedStore.reading(path, files: files) { store in
                    try version(of: store) { archive in
                        if let model = known.withLock({ $0[archive] }) { return model }
                        let model = try ArchivedModel.decode(KeyedArchive(archive), path: store.path)
                        known.withLock { $0[archive] = model }
                        return model
                    }
                }
            }
        }
    }

    /// The version of a store with the model that it holds, whose name is still open.
    ///
    /// - Throws: ``FerryError`` `.badModel` if the store holds no model, or not the one that it was written with.
    static func version(
        of store: OpenedStore, _ decode: ([UInt8]) throws -> ManagedObjectModel
    ) throws -> ModelVersion {
        let (path, connection) = (store.path, store.sourceGuard.connection)
        guard try ModelCache.hasModel(connection) else {
            throw unusable(path, "it contains no model: only newer systems keep one in the store (Z_MODELCACHE)")
        }
        var model: ManagedObjectModel
        var digest = SHA256()
        do {
            let archive = try ModelCache.archive(in: connection) ?? []
            digest.update(archive)
            model = try decode(archive)
        } catch let error as FerryError where error.code == .badArchive || error.code == .badModel {
            throw unusable(path, "its model is damaged", cause: error)
        }
        let identifiers = store.metadata.versionIdentifiers
        if !identifiers.isEmpty { model.versionIdentifiers = identifiers }
        var version = ModelVersion(
            name: FileLayer.name(of: path), bundle: nil, path: path, isCurrent: false, model: model,
            hashes: VersionHash.hashes(of: model))
        version.archiveDigest = digest.finalize().hexadecimal
        if version.hashes == store.metadata.hashes { return version }
        // A store of one configuration has the entities of it alone.
        for configuration in model.configurations.keys.inOrder(by: codeUnitOrder) {
            if let part = version.restricted(to: configuration), part.hashes == store.metadata.hashes { return part }
        }
        throw unusable(path, "its model is not the one that it was written with")
    }

    private static func unusable(_ path: String, _ reason: String, cause: (any Error)? = nil) -> FerryError {
        FerryError(
            .badModel, "The store \(path) cannot serve as a model: \(reason).",
            remedy: "Pass the model's file, or another store of that version that the app created (it may be empty).",
            cause: cause)
    }
}

extension ModelCatalog {
    /// Reads the versions of models and stores.
    package init(models: [ModelSource], files: FileLayer = FileLayer()) throws(FerryError) {
        try self.init(
            places: models.map { ($0.path, $0.name) }, files: files, readStore: StoreModels.reader(files: files))
    }
}
