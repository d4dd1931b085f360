package import FerryBase
package import FerryMapping
package import FerryModel

/// A connection of two versions; versions with equal hashes count as one.
protocol VersionPair {
    var source: ModelVersion { get }
    var destination: ModelVersion { get }
}

extension VersionPair {
    func leads(from source: ModelVersion, to destination: ModelVersion) -> Bool {
        self.source.hashes == source.hashes && self.destination.hashes == destination.hashes
    }
}

/// A mapping model between two versions.
package struct MappingEdge: VersionPair, Sendable {
    package var mappingModel: MappingModel
    package var source: ModelVersion
    package var destination: ModelVersion

    /// Returns the edges of mapping models, without mapping models that another one extends and replaces.
    ///
    /// A compiled mapping model names versions only by entity hashes and gets an edge between all that fit.
    ///
    /// - Throws: ``FerryError`` `.noSuchVersion` or `.ambiguousVersion`, naming the mapping model.
    package static func all(
        of mappingModels: [MappingModel], in catalog: ModelCatalog
    ) throws(FerryError) -> [MappingEdge] {
        let extended = Set(mappingModels.flatMap(\.extendedPaths))
        var edges: [MappingEdge] = []
        for mappingModel in mappingModels where !extended.contains(mappingModel.path) {
            if mappingModel.sourceHashes.isEmpty && mappingModel.destinationHashes.isEmpty {
                let origin = "Mapping model \(mappingModel.name)"
                edges.append(
                    MappingEdge(
                        mappingModel: mappingModel,
                        source: try catalog.version(named: mappingModel.sourceVersion, in: origin),
                        destination: try catalog.version(named: mappingModel.destinationVersion, in: origin)))
            } else {
                edges += try Self.edges(byHashesOf: mappingModel, in: catalog)
            }
        }
        return edges
    }

    private static func edges(
        byHashesOf mappingModel: MappingModel, in catalog: ModelCatalog
    ) throws(FerryError) -> [MappingEdge] {
        var edges: [MappingEdge] = []
        for source in catalog.versions {
            for destination in catalog.versions where source.hashes != destination.hashes {
                guard mappingModel.agrees(withSource: source.hashes, destination: destination.hashes) == true,
                    !edges.contains(where: { $0.leads(from: source, to: destination) })
                else { continue }
                edges.append(MappingEdge(mappingModel: mappingModel, source: source, destination: destination))
            }
        }
        guard edges.isEmpty else { return edges }
        throw FerryError(
            .noSuchVersion,
            "Mapping model \(mappingModel.name) was compiled for versions that are not among those given.",
            remedy: "Pass both versions with \(setting: .models), or leave the mapping model out.")
    }
}

extension ModelCatalog {
    /// The version of a name; an error says where the name stands.
    func version(named name: String, in origin: String) throws(FerryError) -> ModelVersion {
        do throws(FerryError) {
            return try version(named: name)
        } catch {
            var error = error
            error.message = "\(origin): \(error.message)"
            throw error
        }
    }

    /// Returns the catalog with its bundles in the order in which mapping models lead.
    package func ordered(along mappingModels: [MappingModel]) -> ModelCatalog {
        let edges: [MappingEdge]
        do throws(FerryError) {
            edges = try MappingEdge.all(of: mappingModels, in: self)
        } catch {
            // A mapping model of an unknown version orders nothing; the plan refuses it.
            return self
        }
        var catalog = self
        catalog.orderBundles(along: edges.map { ($0.source, $0.destination) })
        return catalog
    }
}

extension MappingEdge {
    /// Warnings of mapping models between versions with equal hashes.
    ///
    /// A store of one version is also a store of the other, so no chain contains the mapping model.
    ///
    /// - Throws: ``FerryError`` `.noSuchVersion` or `.ambiguousVersion`, naming the mapping model.
    package static func warningsOfEqualVersions(
        in mappingModels: [MappingModel], _ catalog: ModelCatalog
    ) throws(FerryError) -> [FerryWarning] {
        var warnings: [FerryWarning] = []
        for edge in try all(of: mappingModels, in: catalog) where edge.source.hashes == edge.destination.hashes {
            let (name, from, to) = (
                edge.mappingModel.name, catalog.displayName(of: edge.source), catalog.displayName(of: edge.destination)
            )
            let versions = from == to ? "\(from) to itself" : "\(from) to \(to), and both have the same version hashes"
            let warning = FerryWarning(
                .mappingOfEqualVersions,
                "The mapping model \(name) leads from \(versions): a store already has the later version, so it never "
                    + "runs. A version hash modifier in the later version tells the two apart.",
                about: .init(path: edge.mappingModel.path))
            if !warnings.contains(warning) { warnings.append(warning) }
        }
        return warnings
    }
}
