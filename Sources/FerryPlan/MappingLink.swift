package import FerryBase
package import FerryMapping
package import FerryModel

/// The two versions that a mapping model stands between.
package struct MappingLink: Sendable {
    package var mappingModel: MappingModel
    package var source: ModelVersion
    package var destination: ModelVersion

    /// The links of mapping models, without those that another one extends and replaces.
    ///
    /// A compiled mapping model knows its versions only by their entities' hashes and stands between all that fit.
    ///
    /// - Throws: ``FerryError`` `.noSuchVersion` or `.ambiguousVersion`, naming the mapping model.
    package static func all(
        of mappingModels: [MappingModel], in catalog: ModelCatalog
    ) throws(FerryError) -> [MappingLink] {
        let extended = Set(mappingModels.flatMap(\.extendedPaths))
        var links: [MappingLink] = []
        for mappingModel in mappingModels where !extended.contains(mappingModel.path) {
            if mappingModel.sourceHashes.isEmpty && mappingModel.destinationHashes.isEmpty {
                links.append(
                    MappingLink(
                        mappingModel: mappingModel,
                        source: try version(mappingModel.sourceVersion, of: mappingModel, in: catalog),
                        destination: try version(mappingModel.destinationVersion, of: mappingModel, in: catalog)))
            } else {
                links += try Self.links(byHashesOf: mappingModel, in: catalog)
            }
        }
        return links
    }

    private static func links(
        byHashesOf mappingModel: MappingModel, in catalog: ModelCatalog
    ) throws(FerryError) -> [MappingLink] {
        var links: [MappingLink] = []
        for source in catalog.versions {
            for destination in catalog.versions where source.hashes != destination.hashes {
                guard mappingModel.agrees(withSource: source.hashes, destination: destination.hashes) == true,
                    !links.contains(where: {
                        $0.source.hashes == source.hashes && $0.destination.hashes == destination.hashes
                    })
                else { continue }
                links.append(MappingLink(mappingModel: mappingModel, source: source, destination: destination))
            }
        }
        guard links.isEmpty else { return links }
        throw FerryError(
            .noSuchVersion,
            "Mapping model \(mappingModel.name) was compiled for versions that are not among those given.",
            remedy: "Give both versions with \(setting: .models), or leave the mapping model out.")
    }

    private static func version(
        _ name: String, of mappingModel: MappingModel, in catalog: ModelCatalog
    ) throws(FerryError) -> ModelVersion {
        do throws(FerryError) {
            return try catalog.version(named: name)
        } catch {
            var error = error
            error.message = "Mapping model \(mappingModel.name): \(error.message)"
            throw error
        }
    }
}

extension ModelCatalog {
    /// The same versions, with bundles in the order in which mapping models lead from one to the other.
    package func ordered(along mappingModels: [MappingModel]) -> ModelCatalog {
        let links: [MappingLink]
        do throws(FerryError) {
            links = try MappingLink.all(of: mappingModels, in: self)
        } catch {
            // A mapping model of a version that is not there orders nothing; a plan refuses it.
            return self
        }
        var catalog = self
        catalog.orderBundles(along: links.map { ($0.source, $0.destination) })
        return catalog
    }
}
