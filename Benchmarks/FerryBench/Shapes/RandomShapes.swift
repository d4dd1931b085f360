internal import FerryBase
internal import FerryGenerate
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerryStore
internal import RandomModels

/// Models that nobody has seen: drawn by seed, of 3 to 40 entities and 2 to 5 versions, every second one with a random
/// mapping.
enum RandomShapes {
    static let prefix = "random-"

    static func shape(seed: UInt64) -> Shape {
        let isMapped = seed % 2 == 1
        return Shape(
            name: "\(prefix)\(seed)", summary: isMapped ? "a random mapping" : "random versions, inferred",
            small: 0.2
        ) { folder in
            try make(folder, seed: seed, versions: isMapped ? 2 : 2 + Int(seed / 2 % 4), isMapped: isMapped)
        }
    }

    /// - Parameters:
    ///   - folder: The shape's folder.
    ///   - seed: The seed; where it gives models that no store can have, one that follows from it.
    ///   - count: The number of versions.
    ///   - isMapped: Whether a random mapping makes the step, else it is inferred.
    /// - Returns: What the shape made.
    /// - Throws: ``FerryError`` when no model can be migrated, or a file cannot be written.
    static func make(_ folder: ShapeFolder, seed: UInt64, versions count: Int, isMapped: Bool) throws -> Shape.Input {
        for attempt in 0..<50 {
            let seed = seed &+ 1_000_003 &* UInt64(attempt)
            let models = models(seed, count)
            guard models.allSatisfy({ StoreLayout.refusals(for: $0).isEmpty && !$0.hasSelfJoin }) else { continue }
            // Versions that are equal to an earlier one have its name.
            guard Set(models.map { VersionHash.digest(VersionHash.hashes(of: $0)) }).count == count else { continue }
            let names = (1...count).map { "V\($0)" }
            let paths = try zip(names, models).map { try folder.model($0, $1) }
            var words = paths.flatMap { ["--models", $0] } + ["--to", names[count - 1]]
            if isMapped {
                guard let mapping = try mapping(folder, seed: seed, paths, names) else { continue }
                words += ["--mappings", mapping]
            }
            let entities = models[0].entities.values.filter { !$0.isAbstract }.count
            let options = GenerationOptions(
                rows: max(2, folder.rows(100_000) / Int64(max(1, entities))), seed: seed, emptyPercent: 20)
            return try folder.generate(paths, version: names[0], options, words: words)
        }
        throw FerryError(.internalError, "No random model of seed \(seed) can be migrated.")
    }

    private static func models(_ seed: UInt64, _ count: Int) -> [ManagedObjectModel] {
        var random = SeededRandom(seed: seed, 0, 0)
        let entities = 3 + Int(random.below(random.below(3) == 0 ? 38 : 8))
        let size = RandomVersions.Size(
            entities: entities, relationships: Int(random.below(Int64(2 * entities))),
            attributes: entities * (2 + Int(random.below(8))))
        var versions = RandomVersions(seed: seed, size: size)
        return versions.inferableModels(count)
    }

    private static func mapping(
        _ folder: ShapeFolder, seed: UInt64, _ paths: [String], _ names: [String]
    ) throws -> String? {
        let catalog = try ModelCatalog(paths: paths)
        let (old, new) = (try catalog.version(named: names[0]), try catalog.version(named: names[1]))
        let path = try folder.mapping("mapping", "")
        let text = try RandomMapping(seed: seed, from: old, to: new).write(to: path) {
            let planner = Planner(catalog: catalog, mappingModels: [try MappingFile.load(path: path)])
            return planner.plan(from: old, to: new, rows: [:], areRowsEstimated: true).refusals.isEmpty
        }
        return text == nil ? nil : path
    }
}
