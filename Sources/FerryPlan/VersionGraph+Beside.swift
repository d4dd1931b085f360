internal import FerryBase
internal import FerryMapping
internal import FerryModel

extension VersionGraph {
    /// The refusal of a way that mapping models would lead along which lie beside the models but were not given.
    ///
    /// - Parameters:
    ///   - beside: Mapping models that were not given.
    ///   - given: Those that were.
    ///   - catalog: The model versions.
    ///   - source: The store's version.
    ///   - target: The version to end at.
    ///   - route: Which way the chain may take.
    /// - Returns: Nil when none of them would be used, or those given do all that they would.
    static func refusal(
        ofMappingModels beside: [MappingModel], besides given: [MappingModel], catalog: ModelCatalog,
        from source: ModelVersion, to target: ModelVersion, route: ChainRoute
    ) -> FerryError? {
        let leading = beside.filter { model in
            do throws(FerryError) {
                return try !MappingLink.all(of: [model], in: catalog).isEmpty
            } catch {
                // Of versions that are not there: it leads nowhere here.
                return false
            }
        }
        guard !leading.isEmpty else { return nil }
        let path: [Edge]
        do throws(FerryError) {
            var graph = try VersionGraph(
                catalog: catalog, mappingModels: given + leading, from: source, to: target, route: route)
            path = try graph.path()
        } catch {
            // What keeps the way from being found says more than this would.
            return nil
        }
        let paths = Set(leading.map(\.path))
        let missing = path.flatMap { edge in
            edge.mappingModels.filter { model in
                paths.contains(model.path)
                    && !model.isCovered(by: edge.mappingModels.filter { !paths.contains($0.path) })
            }.map { ($0, edge) }
        }
        guard !missing.isEmpty else { return nil }
        let list = missing.map { model, edge in
            "\(model.path) (\(catalog.displayName(of: edge.source)) → \(catalog.displayName(of: edge.destination)))"
        }
        let isOne = missing.count == 1
        return FerryError(
            .mappingsNotGiven,
            "\(isOne ? "A mapping model lies" : "Mapping models lie") beside the models, \(isOne ? "leads" : "lead") along "
                + "the way and \(isOne ? "is" : "are") not given: \(list.joined(separator: ", ")).",
            remedy: """
                Give \(isOne ? "it" : "them") with \
                \(setting: .mappings, each: missing.map { .element($0.0.path) }, separator: " "), or say with \
                \(on: .passesOverMappings) that \(isOne ? "it is" : "they are") not wanted.
                """)
    }
}
