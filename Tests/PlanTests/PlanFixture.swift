import FerryBase
import FerryExpression
import FerryMapping
import FerryModel
import FerryPlan

/// Small models and mapping models made in code.
enum PlanFixture {
    static func version(_ name: String, _ entities: [Entity]) -> ModelVersion {
        let model = ManagedObjectModel(versionIdentifiers: [name], entities: entities)
        return ModelVersion(
            name: name, bundle: "Model", path: "/models/Model.xcdatamodeld/\(name).xcdatamodel", isCurrent: false,
            model: model, hashes: VersionHash.hashes(of: model))
    }

    /// Returns versions of one entity that differ by one attribute each.
    static func versions(_ names: [String]) -> [ModelVersion] {
        names.map { name in
            version(name, [Entity(name: "Book", attributes: [Attribute(name: "in\(name)", type: .string)])])
        }
    }

    static func mappingModel(
        _ source: String, _ destination: String, _ mappings: [EntityMapping]? = nil, name: String? = nil,
        partitions: [[String]]? = nil
    ) -> MappingModel {
        MappingModel(
            name: name ?? "\(source)to\(destination)", path: "/mappings/\(name ?? source + destination).json",
            sourceVersion: source, destinationVersion: destination,
            entityMappings: mappings ?? [EntityMapping(name: "BookToBook", source: "Book", destination: "Book")],
            partitions: partitions)
    }

    static func plan(
        _ versions: [ModelVersion], _ mappingModels: [MappingModel], from: String, to: String, composes: Bool = false,
        route: ChainRoute = ChainRoute()
    ) throws -> MigrationPlan {
        let catalog = ModelCatalog(versions: versions)
        var planner = Planner(catalog: catalog, mappingModels: mappingModels, composes: composes)
        planner.route = route
        return planner.plan(
            from: try catalog.version(named: from), to: try catalog.version(named: to), rows: ["Book": 7],
            areRowsEstimated: false)
    }
}

extension MigrationPlan {
    /// The names of the first step's entity mappings, partition by partition.
    var partitionNames: [[String]] {
        steps.first.map { step in step.partitions.map { $0.map { step.resolved.entityMappings[$0].name } } } ?? []
    }
}
