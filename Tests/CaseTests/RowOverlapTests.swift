import FerryBase
import FerryEngine
import FerryExpression
import FerryMapping
import FerryModel
import FerryPlan
import FerrySQLite
import Foundation
import TestSupport
import Testing

/// One thread reads rows while another one writes: the same destination, the same errors, no row twice.
@Suite("Reading rows ahead")
struct RowOverlapTests {
    /// More rows than the buffers between the threads hold, a few of them larger than a buffer.
    private static let rows: Int64 = 700

    private static func model(_ name: String) -> ManagedObjectModel {
        let attribute = { (name: String, type: AttributeType) in Attribute(name: name, type: type, isOptional: true) }
        return ManagedObjectModel(
            versionIdentifiers: [name],
            entities: [
                Entity(
                    name: "Item",
                    attributes: [
                        attribute(name, .string), attribute("number", .integer64), attribute("ratio", .double),
                        attribute("data", .binary), attribute("share", .integer64),
                    ], relationships: [])
            ])
    }

    private func store() throws -> StoreBuilder {
        let store = try StoreBuilder(Self.model("title"), maximumKeys: ["Item": Self.rows])
        try store.connection.transaction {
            // Texts of all lengths, some with NUL; empty texts; every storage class; rows of up to 300 KB.
            try store.execute(
                """
                WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < \(Self.rows))
                INSERT INTO ZITEM (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZNUMBER, ZRATIO, ZDATA, ZSHARE)
                SELECT n, 1, n % 5,
                    CASE n % 4 WHEN 0 THEN NULL WHEN 1 THEN '' WHEN 2 THEN 'é' || n || char(0) || '🚢' ELSE
                        substr(hex(zeroblob(400)), 1, n) END,
                    n - 100, n / 7.0,
                    CASE WHEN n % 150 = 0 THEN zeroblob(300000 + n) WHEN n % 3 = 0 THEN x'' WHEN n % 3 = 1 THEN zeroblob(n) END,
                    1
                FROM c
                """,
                "UPDATE ZITEM SET ZTITLE = replace(hex(zeroblob(100000)), '0', 'x') WHERE Z_PK IN (299, 300, 301)")
        }
        return store
    }

    /// The policy with the default behaviour: the rows pass through Swift.
    private struct Plain: EntityMigrationPolicy {}

    private func step(
        _ store: StoreBuilder, hasPolicy: Bool = true, in folder: TemporaryFolder,
        chunkSize: ChunkSize = .rows(50), progress: ProgressHook? = nil,
        stop: StopRequest = StopRequest()
    ) throws -> StepRun {
        let target = ModelVersion(of: Self.model("heading"), name: "New")
        let attributes = try [
            "heading": "$source.title", "ratio": "$source.ratio * 1.5", "share": "$source.number / $source.share",
        ].mapValues { AttributeRule.value(try Expression.parse($0)) }
        var mapping = EntityMapping(name: "ItemToItem", source: "Item", destination: "Item", attributes: attributes)
        mapping.filter = try Predicate.parse("number != 13")
        if hasPolicy { mapping.policyClassName = "Plain" }
        let registry = PolicyRegistry(["Plain": { Plain() }])
        let plan = Planner(
            catalog: ModelCatalog(versions: [store.version, target]),
            mappingModels: [
                MappingModel(
                    name: "Step", path: "", sourceVersion: store.version.name, destinationVersion: "New",
                    entityMappings: [mapping])
            ], policies: registry.known, executor: hasPolicy ? .automatic : .set
        ).plan(from: store.version, to: target, rows: [:], areRowsEstimated: true)
        if let refusal = plan.refusals.first { throw refusal }
        return StepRun(
            step: plan.steps[0], sourcePath: store.path, isSourcePrivate: true, folder: folder.path,
            options: EngineOptions(chunkSize: chunkSize, now: 0, progress: progress, stop: stop),
            policies: registry)
    }

    private func finish(_ run: StepRun) throws -> String {
        let report = try run.run()
        for counts in report.counts {
            #expect(counts.balances)
            #expect(counts.read == Self.rows && counts.dropped == 1)
        }
        try run.finish()
        return try DatabaseDump.digest(run.destinationPath)
    }

    @Test("Rows that were read ahead are unchanged, with any chunk size")
    func sameDestination() throws {
        let store = try store()
        let folder = try TemporaryFolder()
        let expected = try finish(try step(store, hasPolicy: false, in: folder))
        for chunkSize in [.rows(1), .rows(7), .rows(1000), .automatic] as [ChunkSize] {
            let folder = try TemporaryFolder()
            #expect(try finish(try step(store, in: folder, chunkSize: chunkSize)) == expected)
        }
    }

    @Test("A failing row ends its own chunk, none before it, and the run resumes from there")
    func failingRow() throws {
        let store = try store()
        let whole = try TemporaryFolder()
        let expected = try finish(try step(store, hasPolicy: false, in: whole))
        for failing in [1, 50, 51, 333, 700] as [Int64] {
            try store.execute("UPDATE ZITEM SET ZSHARE = 0 WHERE Z_PK = \(failing)")
            let folder = try TemporaryFolder()
            let run = try step(store, in: folder)
            let error = #expect(throws: FerryError.self) { _ = try run.run() }
            #expect(error?.code == .rowFailed && error?.message.contains("ItemToItem") == true)
            let written = try Connection(path: run.destinationPath, mode: .readOnly)
                .integer("SELECT max(Z_PK) FROM ZITEM")
            #expect(written ?? 0 == (failing - 1) / 50 * 50, "failed at \(failing)")
            try store.execute("UPDATE ZITEM SET ZSHARE = 1 WHERE Z_PK = \(failing)")
            #expect(try finish(run) == expected)
        }
    }

    @Test("A run that is stopped while rows are read ahead ends with its chunk and can be resumed")
    func stops() throws {
        let store = try store()
        let whole = try TemporaryFolder()
        let expected = try finish(try step(store, hasPolicy: false, in: whole))
        let folder = try TemporaryFolder()
        let stop = StopRequest()
        let run = try step(
            store, in: folder,
            progress: { if $0.done >= 150 { stop.request(FerryError(.interrupted, "Enough.")) } }, stop: stop)
        let error = #expect(throws: FerryError.self) { _ = try run.run() }
        #expect(error?.code == .interrupted)
        let written = try Connection(path: run.destinationPath, mode: .readOnly)
            .integer("SELECT max(Z_PK) FROM ZITEM")
        #expect(written == 150)
        #expect(try finish(try step(store, in: folder)) == expected)
    }

    @Test(
        "A step that fails at any operation while rows are read ahead resumes to the expected store",
        arguments: Case.all.filter { ["values-and-expressions", "for-each-json"].contains($0.name) })
    func faults(in testCase: Case) throws {
        let expected = try String(contentsOfFile: "\(testCase.path)/expected.txt", encoding: .utf8)
        let counting = FaultPlan()
        let whole = try TemporaryFolder()
        let run = try testCase.prepare(
            in: whole, chunkSize: .rows(2), policy: { Plain() },
            vfs: VFS(temporaryFolder: whole.path, faults: counting))
        _ = try run.run()
        var failed = 0
        for operation in Swift.stride(from: 1, through: counting.count, by: Sweep.stride ?? 23) {
            let folder = try TemporaryFolder()
            let faults = FaultPlan(trigger: operation, outcome: .fail)
            do {
                let run = try testCase.prepare(
                    in: folder, chunkSize: .rows(2), policy: { Plain() },
                    vfs: VFS(temporaryFolder: folder.path, faults: faults))
                _ = try run.run()
            } catch {
                failed += 1
            }
            let outcome = try testCase.complete(
                testCase.prepare(in: folder, chunkSize: .rows(2), policy: { Plain() }))
            #expect(try outcome.text() == expected, "resumed after operation \(operation)")
        }
        // Not each fails: two threads work, so that a run can need fewer operations than the one that was counted.
        #expect(failed > 1)
    }
}
