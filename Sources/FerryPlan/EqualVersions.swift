package import FerryBase
package import FerryMapping
package import FerryModel

extension MappingEdge {
    /// Warnings of mapping models between versions with equal hashes.
    ///
    /// A store of one such version is a store of the other, so that no way leads over the mapping model, and what it says
    /// is not done.
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
                "The mapping model \(name) leads from \(versions): a store is at its end already, so that it never "
                    + "runs. A version hash modifier in the later version tells the two apart.",
                about: .init(path: edge.mappingModel.path))
            if !warnings.contains(warning) { warnings.append(warning) }
        }
        return warnings
    }
}
