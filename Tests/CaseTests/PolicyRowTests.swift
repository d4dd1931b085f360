import FerryBase
import FerryEngine
import FerryExpression
import FerryMapping
import FerryModel
import FerryPlan
import FerrySQLite
import FerryStore
import TestSupport
import Testing

/// A row has the same result from SQL and from Swift, and an object is visited only if a policy needs the visit.
@Suite("Rows of policies")
struct PolicyRowTests {
    @Test("Objects are visited for relationships only if the policy has code for them")
    func relating() throws {
        let plain: PolicyFactory = { Plain() }
        let delegating: PolicyFactory = { Delegating() }
        let ownCode: PolicyFactory = { OwnCode() }
        let cases: [(PolicyFactory, Int64, Value)] = [
            (plain, 1, .null), (delegating, 4, .text("14")), (ownCode, 4, .null),
        ]
        for (policy, chunks, note) in cases {
            let folder = try TemporaryFolder()
            let run = try Self.step(["note": .value(.constant(.null))], policy, in: folder)
            _ = try run.run()
            let new = try Connection(path: run.destinationPath, mode: .readOnly)
            let unit = try new.rows("SELECT chunks, done FROM ferry_progress WHERE unit = 'relate:0'")
            #expect(unit == [[.integer(chunks), .integer(1)]])
            #expect(try new.value("SELECT ZNOTE FROM ZITEM WHERE Z_PK = 1") == note)
        }
    }

    @Test("A failing expression stops the run only if the policy uses its value")
    func failingExpression() throws {
        let attributes: [String: AttributeRule] = ["share": .value(try Expression.parse("12 / $source.amount"))]
        let folder = try TemporaryFolder()
        let run = try Self.step(attributes, { Sharing(isSpared: true) }, in: folder)
        _ = try run.run()
        let new = try Connection(path: run.destinationPath, mode: .readOnly)
        // The amount of the first item is 0.
        #expect(
            try new.rows("SELECT ZSHARE FROM ZITEM WHERE Z_PK IN (1, 2, 3, 4) ORDER BY Z_PK").map(\.[0])
                == [.integer(-1), .integer(12), .integer(6), .integer(4)])
        let other = try TemporaryFolder()
        let failing = try Self.step(attributes, { Sharing(isSpared: false) }, in: other)
        let error = #expect(throws: FerryError.self) { _ = try failing.run() }
        #expect(error?.code == .rowFailed && error?.message.contains("ItemToItem") == true)
    }

    @Test("No object of a run outlives the run, so that its files are closed")
    func letsGo() throws {
        let folder = try TemporaryFolder()
        let witness = Witness()
        let run = try Self.step(["note": .value(.constant(.null))], { witness }, in: folder)
        _ = try run.run()
        #expect(witness.calls > 0)
        #expect(witness.manager == nil)
    }

    @Test("A long value is computed like a short one")
    func longExpression() throws {
        let long = String(repeating: "ü", count: 5000)
        let folder = try TemporaryFolder()
        let run = try Self.step(
            ["note": .value(try Expression.parse("uppercase($source.name)"))], { Plain() }, in: folder
        ) { "UPDATE ZITEM SET ZNAME = '\(long)' WHERE Z_PK = 3" }
        _ = try run.run()
        let new = try Connection(path: run.destinationPath, mode: .readOnly)
        #expect(try new.value("SELECT ZNOTE FROM ZITEM WHERE Z_PK = 3") == .text(long.uppercased()))
        #expect(try new.value("SELECT ZNOTE FROM ZITEM WHERE Z_PK = 4") == .text("N4"))
    }

    @Test("A policy's values are written as set, and the next object has its own values again")
    func values() throws {
        let folder = try TemporaryFolder()
        let run = try Self.step(["note": .value(.constant(.string("as mapped")))], { Setting() }, in: folder)
        _ = try run.run()
        let new = try Connection(path: run.destinationPath, mode: .readOnly)
        let columns = (["name", "note"] + Self.texts).map { "Z" + $0.uppercased() }.joined(separator: ", ")
        let rows = try new.rows("SELECT \(columns) FROM ZITEM WHERE Z_PK <= 14 ORDER BY Z_PK")
        try #require(rows.count == 14)
        for (index, row) in rows.enumerated() {
            let isSet = index % 2 == 0
            let expected = Self.texts.indices.map { isSet ? Value.text(Setting.text($0, index + 1)) : .null }
            #expect(row == [.text("n\(index + 1)"), .text(isSet ? "as set" : "as mapped")] + expected)
        }
        // Objects beyond the default ones have the model's default values, and the last set values.
        let more = try new.rows("SELECT ZNAME, ZNOTE, ZT0 FROM ZITEM WHERE Z_PK > 14 ORDER BY Z_PK")
        #expect(more == (1...7).map { [.text("later"), .null, .text("copy \(2 * $0)")] })
    }

    @Test("A chunk has the requested number of rows, also with sparse keys")
    func sparseKeys() throws {
        for (rows, chunks) in [(14, 4), (12, 3), (4, 1), (1, 1), (0, 1)] as [(Int64, Int64)] {
            let folder = try TemporaryFolder()
            let run = try Self.step([:], { Plain() }, in: folder) {
                "DELETE FROM ZITEM WHERE Z_PK > \(rows); UPDATE ZITEM SET Z_PK = Z_PK * 1000 + Z_PK % 3"
            }
            _ = try run.run()
            let new = try Connection(path: run.destinationPath, mode: .readOnly)
            let unit = try new.rows("SELECT max(chunks, 1), done, read FROM ferry_progress WHERE unit = 'rows:0'")
            #expect(unit == [[.integer(chunks), .integer(1), .integer(rows)]])
            #expect(try new.integer("SELECT count(*) FROM ZITEM WHERE Z_PK > 1000") == rows)
        }
    }

    /// More attributes than a word has bits.
    private static let texts = (0..<70).map { "t\($0)" }

    private static func model(isNew: Bool) -> ManagedObjectModel {
        var attributes = [Attribute(name: "name", type: .string, isOptional: true)]
        if isNew {
            attributes += (["note"] + texts).map { Attribute(name: $0, type: .string, isOptional: true) }
            attributes.append(Attribute(name: "share", type: .integer64, isOptional: true))
        } else {
            attributes.append(Attribute(name: "amount", type: .integer64, isOptional: true))
        }
        return ManagedObjectModel(
            versionIdentifiers: [isNew ? "2" : "1"],
            entities: [Entity(name: "Item", attributes: attributes, relationships: [])])
    }

    private static func step(
        _ attributes: [String: AttributeRule], _ policy: @escaping PolicyFactory, in folder: TemporaryFolder,
        _ change: () -> String? = { nil }
    ) throws -> StepRun {
        let store = try StoreBuilder(model(isNew: false), maximumKeys: ["Item": 14])
        try store.execute(
            """
            WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 14)
            INSERT INTO ZITEM (Z_PK, Z_ENT, Z_OPT, ZNAME, ZAMOUNT) SELECT n, 1, 1, 'n' || n, n - 1 FROM c
            """)
        if let change = change() { try store.execute(change) }
        let source = folder.file("source.sqlite")
        _ = try FileLayer().copy(store.path, to: source)
        let target = ModelVersion(of: model(isNew: true), name: "New")
        let registry = PolicyRegistry(["Code": policy])
        let mapping = MappingModel(
            name: "Step", path: "", sourceVersion: store.version.name, destinationVersion: "New",
            entityMappings: [
                EntityMapping(
                    name: "ItemToItem", source: "Item", destination: "Item", attributes: attributes,
                    policyClassName: "Code")
            ])
        let plan = Planner(
            catalog: ModelCatalog(versions: [store.version, target]), mappingModels: [mapping],
            policies: registry.known
        ).plan(from: store.version, to: target, rows: [:], areRowsEstimated: true)
        if let refusal = plan.refusals.first { throw refusal }
        return StepRun(
            step: plan.steps[0], sourcePath: source, isSourcePrivate: true, folder: folder.path,
            options: EngineOptions(chunkSize: .rows(4), now: 0), policies: registry)
    }

    private struct Plain: EntityMigrationPolicy {}

    /// Records whether the manager is released; one thread at a time calls it.
    private final class Witness: EntityMigrationPolicy, @unchecked Sendable {
        weak var manager: MigrationManager?
        var calls = 0

        func createDestinationInstances(
            forSource source: SourceObject, in mapping: PolicyEntityMapping, manager: MigrationManager
        ) throws {
            self.manager = manager
            calls += 1
            try defaultPolicy.createDestinationInstances(forSource: source, in: mapping, manager: manager)
            // An object without another reference is used again.
            for _ in 0..<2 { try manager.insert("Item").setValue(.string("another"), forKey: "note") }
        }
    }

    /// Does more than the policy that it calls, which has no code of its own.
    private struct Delegating: EntityMigrationPolicy {
        let inner: any EntityMigrationPolicy = Plain()

        func createRelationships(
            forDestination destination: DestinationObject, in mapping: PolicyEntityMapping, manager: MigrationManager
        ) throws {
            try inner.createRelationships(forDestination: destination, in: mapping, manager: manager)
            try manager.setUserInfo((try manager.userInfo(Int.self, forKey: "visits") ?? 0) + 1, forKey: "visits")
        }

        func end(_ mapping: PolicyEntityMapping, manager: MigrationManager) throws {
            let visits = try manager.userInfo(Int.self, forKey: "visits") ?? 0
            try manager.firstDestinationObject(ofEntity: "Item", where: "name == 'n1'")?
                .setValue(.string("\(visits)"), forKey: "note")
        }
    }

    private struct OwnCode: EntityMigrationPolicy {
        func createRelationships(
            forDestination destination: DestinationObject, in mapping: PolicyEntityMapping, manager: MigrationManager
        ) throws {}
    }

    private struct Sharing: EntityMigrationPolicy {
        let isSpared: Bool

        func createDestinationInstances(
            forSource source: SourceObject, in mapping: PolicyEntityMapping, manager: MigrationManager
        ) throws {
            try defaultPolicy.createDestinationInstances(forSource: source, in: mapping, manager: manager)
            guard isSpared, try source.integer(forKey: "amount") == 0 else { return }
            try manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [source])[0]
                .setValue(-1, forKey: "share")
        }
    }

    /// Sets all attributes of every other object, some of them twice, and makes another object.
    private struct Setting: EntityMigrationPolicy {
        static func text(_ number: Int, _ key: Int) -> String {
            String(repeating: "\(key).", count: number * number)
        }

        func createDestinationInstances(
            forSource source: SourceObject, in mapping: PolicyEntityMapping, manager: MigrationManager
        ) throws {
            try defaultPolicy.createDestinationInstances(forSource: source, in: mapping, manager: manager)
            let item = try manager.destinationInstances(
                forEntityMappingName: mapping.name, sourceInstances: [source])[0]
            guard source.primaryKey % 2 == 1 else {
                let other = try manager.insert("Item")
                try other.setValue(.string("copy \(source.primaryKey)"), forKey: "t0")
                // The object is written before its next change.
                _ = try manager.firstDestinationObject(ofEntity: "Item", where: "name == 'nobody'")
                return try other.setValue("later", forKey: "name")
            }
            try item.setValue("soon replaced", forKey: "note")
            for number in PolicyRowTests.texts.indices {
                try item.setValue(
                    .string(Self.text(number, Int(source.primaryKey))), forKey: PolicyRowTests.texts[number])
            }
            try item.setValue("as set", forKey: "note")
        }
    }
}
