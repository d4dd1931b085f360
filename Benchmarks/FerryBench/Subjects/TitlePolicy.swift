internal import FerryEngine

/// A typical policy: the default object, with one value set.
struct TitlePolicy: EntityMigrationPolicy {
    func createDestinationInstances(
        forSource source: SourceObject, in mapping: PolicyEntityMapping, manager: MigrationManager
    ) throws {
        try defaultPolicy.createDestinationInstances(forSource: source, in: mapping, manager: manager)
        let book = try manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [source])[0]
        try book.setValue(.string(source.string(forKey: "title") ?? ""), forKey: "heading")
    }
}
