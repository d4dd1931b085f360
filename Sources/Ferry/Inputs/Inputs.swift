internal import FerryBase
internal import FerryEngine
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySnapshot
internal import FerryStore
internal import Foundation

/// The models and mapping models of a migration, read once.
struct Inputs: Sendable {
    var catalog: ModelCatalog
    var mappingModels: [MappingModel]
    /// Mapping models beside the models that were not given; empty until ``lookingBeside(files:)``.
    private(set) var mappingModelsBeside: [MappingModel] = []
    var warnings: [FerryWarning]
    var policies: PolicyRegistry
    /// The SHA-256 of each input in hexadecimal, by its real path.
    var digests: [String: String]
    /// Comparisons of the routes between two versions, for all stores of these inputs, at most one per source version.
    ///
    /// A comparison costs more than the rest of a small store's plan, and is equal for every store of a version. The key
    /// has the digests of both versions, and the target's name: with several bundles it decides which versions count.
    let comparisons = Locked<[[String]: [RouteComparison]]>([:])
    /// The process's own memory before the models were read; nil if the system does not report it.
    let memoryBefore = ResidentMemory.ownBytes()

    init(
        models: [ModelSource], mappings: [URL], policies: PolicyRegistry = PolicyRegistry(), files: FileLayer
    ) throws(FerryError) {
        self.policies = policies
        catalog = try ModelCatalog(models: models, files: files)
        warnings = catalog.unreadable.map {
            FerryWarning(.modelPassedOver, "\($0.error.message) It is ignored.", about: .init(path: $0.path))
        }
        var given: [MappingModel] = []
        for mapping in mappings { given += try MappingFile.loadAll(path: mapping.filePath, files: files) }
        mappingModels = MappingModel.distinct(given)
        catalog = catalog.ordered(along: mappingModels)
        digests = [:]
        // Unused versions count too, because they can change the chain of an equal command.
        for version in catalog.versions where !version.isFoundStore {
            // With ?? the error would lose its type.
            let digest = if let known = version.archiveDigest { known } else { try files.inputDigest(of: version.path) }
            digests[try files.realPath(version.path)] = digest
        }
        for mapping in mappingModels { digests[try files.realPath(mapping.path)] = mapping.fingerprint.hexadecimal }
    }

    /// The inputs with the mapping models that lie beside the models and were not given.
    func lookingBeside(files: FileLayer) throws(FerryError) -> Inputs {
        let beside = try MappingsBeside(catalog, given: mappingModels, files: files)
        var inputs = self
        inputs.mappingModelsBeside = beside.mappingModels
        inputs.warnings += beside.warnings
        return inputs
    }

    /// The models and mapping models that fit a store with these hashes: ``ModelCatalog/fitted(to:target:)``.
    func fitted(to hashes: [String: [UInt8]], target: String?) throws(FerryError) -> Inputs {
        var inputs = self
        inputs.catalog = try catalog.fitted(to: hashes, target: target)
        let (all, seen) = (entityNames(catalog), entityNames(inputs.catalog))
        if seen != all {
            // Entities that the store does not have need no mapping.
            let unseen = all.subtracting(seen)
            inputs.mappingModels = mappingModels.map { $0.leavingOut(unseen) }
            inputs.mappingModelsBeside = mappingModelsBeside.map { $0.leavingOut(unseen) }
        }
        guard inputs.catalog.isMerged else { return inputs }
        var widened: [MappingModel] = []
        for model in inputs.mappingModels {
            if let model = try self.widened(model, over: inputs.catalog) { widened.append(model) }
        }
        inputs.mappingModels = widened
        inputs.mappingModelsBeside = inputs.mappingModelsBeside.compactMap { model in
            do throws(FerryError) {
                return try self.widened(model, over: inputs.catalog)
            } catch {
                // A mapping model of a version that is not among the models is of no use.
                return nil
            }
        }
        return inputs
    }

    /// Turns a mapping model between two versions of one bundle into one between merged models, which copies the
    /// objects of the other bundles; nil if no merged versions fit.
    private func widened(_ model: MappingModel, over merged: ModelCatalog) throws(FerryError) -> MappingModel? {
        let source = try catalog.version(named: model.sourceVersion)
        let destination = try catalog.version(named: model.destinationVersion)
        for before in merged.versions where before.parts.contains(source.path) {
            let others = before.parts.filter { $0 != source.path }
            guard let after = merged.versions.first(where: { Set($0.parts) == Set(others + [destination.path]) })
            else { continue }
            var model = model
            (model.sourceVersion, model.destinationVersion) = (before.path, after.path)
            let carried = before.model.sortedEntityNames.filter {
                source.model.entities[$0] == nil && before.model.entities[$0]?.isAbstract == false
            }
            model.entityMappings += carried.map {
                EntityMapping(name: "IEM_Copy_\($0)", source: $0, destination: $0)
            }
            return model
        }
        return nil
    }

    private func entityNames(_ catalog: ModelCatalog) -> Set<String> {
        Set(catalog.versions.flatMap(\.model.entities.keys))
    }
}

extension MappingModel {
    fileprivate func leavingOut(_ entities: Set<String>) -> MappingModel {
        var model = self
        model.entityMappings.removeAll { mapping in
            [mapping.source, mapping.destination].compactMap { $0 }.contains { entities.contains($0) }
        }
        return model
    }
}

extension FileLayer {
    /// The SHA-256 of a file, or of all files in a folder with their names.
    fileprivate func inputDigest(of path: String) throws(FerryError) -> String {
        var hash = SHA256()
        try add(path, as: "", to: &hash)
        return hash.finalize().hexadecimal
    }

    private func add(_ path: String, as name: String, to hash: inout SHA256) throws(FerryError) {
        guard try !attributes(path).isDirectory else {
            let names = try list(path).map(\.name).filter { !$0.hasPrefix(".") }.inOrder {
                $0.utf8.lexicographicallyPrecedes($1.utf8)
            }
            for child in names { try add(path + "/" + child, as: name + "/" + child, to: &hash) }
            return
        }
        let input = try open(path)
        hash.update("\(name)\n\(try input.size())\n")
        try hash.update(contentOf: input)
    }
}

extension Inputs {
    /// Takes the model that the store holds as its version, if stores are among the models and none has its hashes.
    ///
    /// A version that only stores have comes first, as this one does.
    ///
    /// - Throws: ``FerryError`` `.badModel` if the store holds no usable model.
    mutating func takeOwnModel(of store: OpenedStore) throws {
        // The store itself, in a folder of models, is not one of the given versions.
        warnings.removeAll { $0.code == .modelPassedOver && $0.subject.path == store.path }
        catalog = catalog.beginning(with: store.metadata.hashes)
        guard catalog.versions(matching: store.metadata.hashes).isEmpty, catalog.hasStores(besides: store.path) else {
            return
        }
        catalog = catalog.adding(own: try StoreModels.version(of: store) { try ArchivedModel.decode(KeyedArchive($0)) })
    }

    /// The target version of a migration: the named one, else the one that follows from the store's hashes.
    ///
    /// - Throws: ``FerryError`` `.noSuchVersion` or `.ambiguousVersion`, whose cause may be ``TargetCandidates``.
    func target(
        _ configuration: Configuration, for hashes: [String: [UInt8]]
    ) throws(FerryError) -> ModelVersion {
        // A merged model has used the name already: it names a version of one part.
        if let name = configuration.target, !catalog.isMerged { return try catalog.version(named: name) }
        if case .versions(let names) = configuration.chain, let last = names.last {
            return try catalog.version(named: last)
        }
        var links: [MappingEdge] = []
        do throws(FerryError) {
            links = try MappingEdge.all(of: mappingModels, in: catalog)
        } catch {
            // A plan refuses a mapping model of a version that is not among the models.
        }
        switch catalog.target(for: hashes, along: links.map { ($0.source, $0.destination) }) {
        case .version(let version): return version
        case .severalBundles(let versions):
            throw several("Several model bundles fit the store, and their current versions differ", versions)
        case .noCurrent(let versions): throw several("The models do not name one current version", versions)
        }
    }

    private func several(_ message: String, _ candidates: [ModelVersion]) -> FerryError {
        let names = candidates.map { catalog.displayName(of: $0) }
        return FerryError(
            .ambiguousVersion, "\(message): \(names.map { "'\($0)'" }.joined(separator: ", ")).",
            remedy:
                "Choose one: \(setting: .target, each: names.map { .text($0) }, separator: " or ").",
            cause: TargetCandidates(versions: names))
    }
}

/// The cause of an `.ambiguousVersion` if nothing determines the version that a migration leads to.
public struct TargetCandidates: Error, Sendable {
    /// Names that a configuration's target can have.
    public var versions: [String]
}
