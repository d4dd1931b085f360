import FerryBase
import FerryEngine
import FerryMapping
import FerryModel
import FerrySQLite
import Foundation
import TestSupport
import Testing

/// Entities of one table are carried in one pass.
@Suite("Single-table inheritance")
struct SharedPassTests {
    private static let entities = 6
    private static let rows = 6_000

    private func model(adding: Bool) -> ManagedObjectModel {
        let names = [Attribute(name: "name", type: .string, isOptional: true)]
        let added = adding ? [Attribute(name: "added", type: .integer32, isOptional: true)] : []
        var entities = [Entity(name: "Animal", attributes: names + added)]
        for number in 1..<Self.entities {
            entities.append(
                Entity(
                    name: "Kind\(number)", superentity: "Animal",
                    attributes: [Attribute(name: "own\(number)", type: .integer64, isOptional: true)]))
        }
        return ManagedObjectModel(versionIdentifiers: [], entities: entities)
    }

    /// Makes a store with rows of all entities in sequence.
    private func store() throws -> StoreBuilder {
        let store = try StoreBuilder(model(adding: false))
        try store.execute(
            """
            WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < \(Self.rows))
            INSERT INTO ZANIMAL (Z_PK, Z_ENT, Z_OPT, ZNAME)
            SELECT i, 1 + i % \(Self.entities), 1, printf('%.200c', 'n') || i FROM n
            """,
            "UPDATE ZANIMAL SET ZOWN3 = Z_PK WHERE Z_ENT = 4", "UPDATE Z_PRIMARYKEY SET Z_MAX = \(Self.rows)",
            // The index of entity numbers, which a store need not have, is dropped.
            "DROP INDEX IF EXISTS ZANIMAL_Z_ENT_INDEX")
        return store
    }

    @Test(
        "The pages of a table are read about once for all its entities",
        arguments: [.rows(500), .rows(2_000), .automatic] as [ChunkSize])
    func pagesRead(chunkSize: ChunkSize) throws {
        let store = try store()
        let folder = try TemporaryFolder()
        let faults = FaultPlan()
        var run = try CodedStep.prepare(
            store.path, store.version, to: model(adding: true), in: folder, chunkSize: chunkSize,
            vfs: VFS(temporaryFolder: folder.path, faults: faults))
        // With known damage the step does not read the table before its rows.
        run.options.sourceDamage = []
        let report = try run.run()
        #expect(report.counts.map(\.written) == Array(repeating: Int64(Self.rows / Self.entities), count: 6))
        let read = faults.bytesRead.filter { $0.key.hasSuffix("/Store.sqlite") }.values.reduce(0, +)
        let size = try #require(
            FileManager.default.attributesOfItem(atPath: store.path)[.size] as? Int64, "the store has a size")
        #expect(Double(read) < 1.5 * Double(size), "\(read) of \(size) bytes")
    }

    @Test("Chunks, executors and stops do not change the result")
    func sameStore() throws {
        let store = try store()
        var texts: Set<String> = []
        for chunkSize in [.rows(70), .rows(1_000), .automatic] as [ChunkSize] {
            let folder = try TemporaryFolder()
            let run = try CodedStep.prepare(
                store.path, store.version, to: model(adding: true), in: folder, chunkSize: chunkSize)
            _ = try CodedStep.complete(run)
            texts.insert(try DatabaseDump.text(run.destinationPath, leavingOut: ["Z_METADATA"]))
        }
        let folder = try TemporaryFolder()
        for operation in [40, 60, 90, 140] {
            _ = try? CodedStep.prepare(
                store.path, store.version, to: model(adding: true), in: folder, chunkSize: .rows(500),
                vfs: VFS(
                    temporaryFolder: folder.path, faults: FaultPlan(trigger: operation, outcome: .fail))
            ).run()
        }
        let run = try CodedStep.prepare(
            store.path, store.version, to: model(adding: true), in: folder, chunkSize: .rows(500))
        let report = try CodedStep.complete(run).report
        #expect(report.counts.allSatisfy { $0.read == 1_000 && $0.written == 1_000 })
        texts.insert(try DatabaseDump.text(run.destinationPath, leavingOut: ["Z_METADATA"]))
        #expect(texts.count == 1)
    }
}
