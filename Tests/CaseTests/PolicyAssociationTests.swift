import FerryBase
import FerryEngine
import FerryMapping
import FerryModel
import FerryPlan
import FerrySQLite
import FerryStore
import TestSupport
import Testing

/// A policy's associations are the same, whether stored or implied.
@Suite("Associations of policies")
struct PolicyAssociationTests {
    @Test("Associations are found, iterated and counted in the same way, stored or implied")
    func storedOrImplied() throws {
        var contents: Set<String> = []
        for hasRelationship in [false, true] {
            for chunkSize in [1, 4, 5, 100] {
                let folder = try TemporaryFolder()
                let run = try Self.step(hasRelationship: hasRelationship, chunkSize: chunkSize, in: folder)
                let report = try run.run()
                let counts = report.counts.map { "\($0.read) \($0.written) \($0.created) \($0.merged) \($0.dropped)" }
                let new = try Connection(path: run.destinationPath, mode: .readOnly)
                let rows = try new.rows("SELECT Z_PK, ZNAME, ZNOTE FROM ZITEM ORDER BY Z_PK")
                contents.insert("\(counts) \(rows)")
            }
        }
        #expect(contents.count == 1, "\(contents.sorted().joined(separator: "\n"))")
    }

    @Test("An implied association is stored only if a relationship joins it")
    func ordinary() throws {
        struct Plain: EntityMigrationPolicy {}
        for (hasRelationship, count) in [(false, 0), (true, 14)] as [(Bool, Int64)] {
            let folder = try TemporaryFolder()
            let run = try Self.step(hasRelationship: hasRelationship, chunkSize: 5, policy: { Plain() }, in: folder)
            _ = try run.run()
            let scratch = try Connection(path: run.scratchPath, mode: .readOnly)
            #expect(try scratch.integer("SELECT count(*) FROM association_0") == count)
        }
    }

    private static func model(_ version: String, hasRelationship: Bool) -> ManagedObjectModel {
        var item = Entity(
            name: "Item",
            attributes: (version == "1" ? ["name"] : ["name", "note"]).map {
                Attribute(name: $0, type: .string, isOptional: true)
            },
            relationships: [])
        if hasRelationship {
            for (name, inverse, maxCount) in [("parent", "children", 1), ("children", "parent", 0)] {
                item.relationships.append(
                    Relationship(
                        name: name, destinationEntity: "Item", inverseName: inverse, inverseEntity: "Item",
                        isOptional: true, isOrdered: false, maxCount: maxCount))
            }
        }
        return ManagedObjectModel(versionIdentifiers: [version], entities: [item])
    }

    private static func step(
        hasRelationship: Bool, chunkSize: Int, policy: @escaping PolicyFactory = { OddPolicy() },
        in folder: TemporaryFolder
    ) throws -> StepRun {
        let store = try StoreBuilder(model("1", hasRelationship: hasRelationship), maximumKeys: ["Item": 20])
        try store.execute(
            """
            WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 14)
            INSERT INTO ZITEM (Z_PK, Z_ENT, Z_OPT, ZNAME) SELECT n, 1, 1, 'n' || n FROM c
            """)
        let source = folder.file("source.sqlite")
        _ = try FileLayer().copy(store.path, to: source)
        let target = ModelVersion(of: model("2", hasRelationship: hasRelationship), name: "New")
        let registry = PolicyRegistry(["Odd": policy])
        let mapping = EntityMapping(
            name: "ItemToItem", source: "Item", destination: "Item", policyClassName: "Odd")
        let plan = Planner(
            catalog: ModelCatalog(versions: [store.version, target]),
            mappingModels: [
                MappingModel(
                    name: "Step", path: "", sourceVersion: store.version.name, destinationVersion: "New",
                    entityMappings: [mapping])
            ], policies: registry.known
        ).plan(from: store.version, to: target, rows: [:], areRowsEstimated: true)
        if let refusal = plan.refusals.first { throw refusal }
        return StepRun(
            step: plan.steps[0], sourcePath: source, isSourcePrivate: true, folder: folder.path,
            options: EngineOptions(chunkSize: .rows(chunkSize), now: 0), policies: registry)
    }
}

/// Drops, skips, copies, and associates with sources before and after the current one; then records the associations
/// that it receives.
private struct OddPolicy: EntityMigrationPolicy {
    func createDestinationInstances(
        forSource source: SourceObject, in mapping: PolicyEntityMapping, manager: MigrationManager
    ) throws {
        func insert(_ name: String) throws -> DestinationObject {
            let object = try manager.insert("Item")
            try object.setValue(.string(name), forKey: "name")
            return object
        }
        func other(_ name: String) throws -> SourceObject? {
            var found: SourceObject?
            try manager.forEachSourceObject(ofEntity: "Item", where: "name == '\(name)'") { found = $0 }
            return found
        }
        switch source.primaryKey % 7 {
        case 0: return
        case 1: try defaultPolicy.createDestinationInstances(forSource: source, in: mapping, manager: manager)
        case 2: _ = try insert("alone \(source.primaryKey)")
        case 3:
            try defaultPolicy.createDestinationInstances(forSource: source, in: mapping, manager: manager)
            let copy = try insert("copy of \(source.primaryKey)")
            try manager.associate(sourceInstance: source, withDestinationInstance: copy, for: mapping)
            // A repeated call has no effect.
            try manager.associate(sourceInstance: source, withDestinationInstance: copy, for: mapping)
        case 4:
            let made = try insert("for a later one, by \(source.primaryKey)")
            try defaultPolicy.createDestinationInstances(forSource: source, in: mapping, manager: manager)
            if let later = try other("n\(source.primaryKey + 4)") {
                try manager.associate(sourceInstance: later, withDestinationInstance: made, for: mapping)
            }
        case 5:
            try defaultPolicy.createDestinationInstances(forSource: source, in: mapping, manager: manager)
            let made = try manager.destinationInstances(
                forEntityMappingName: mapping.name, sourceInstances: [source])[0]
            if let earlier = try other("n\(source.primaryKey - 4)") {
                try manager.associate(sourceInstance: earlier, withDestinationInstance: made, for: mapping)
            }
        default:
            try defaultPolicy.createDestinationInstances(forSource: source, in: mapping, manager: manager)
            let made = try manager.destinationInstances(
                forEntityMappingName: mapping.name, sourceInstances: [source])
            let back = try manager.sourceInstances(forEntityMappingName: mapping.name, destinationInstances: made)
            try made[0].setValue(.string("from \(back.map(\.primaryKey))"), forKey: "note")
        }
    }

    func createRelationships(
        forDestination destination: DestinationObject, in mapping: PolicyEntityMapping, manager: MigrationManager
    ) throws {
        try defaultPolicy.createRelationships(forDestination: destination, in: mapping, manager: manager)
        let seen = try manager.userInfo([Int64].self, forKey: "seen") ?? []
        try manager.setUserInfo(seen + [destination.primaryKey], forKey: "seen")
    }

    func performCustomValidation(forMapping mapping: PolicyEntityMapping, manager: MigrationManager) throws {
        var lines = "seen \(try manager.userInfo([Int64].self, forKey: "seen") ?? [])"
        try manager.forEachSourceObject(ofEntity: "Item") { source in
            let made = try manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [source])
            lines += "; \(source.primaryKey) to \(made.map(\.primaryKey))"
        }
        try manager.forEachDestinationObject(ofEntity: "Item") { object in
            let sources = try manager.sourceInstances(
                forEntityMappingName: mapping.name, destinationInstances: [object])
            lines += "; \(object.primaryKey) from \(sources.map(\.primaryKey))"
        }
        try manager.insert("Item").setValue(.string(lines), forKey: "note")
    }
}
