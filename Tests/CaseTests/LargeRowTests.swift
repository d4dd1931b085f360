import FerryBase
import FerryEngine
import FerryExpression
import FerryMapping
import FerryModel
import FerryPlan
import FerrySQLite
import FerryStore
import FerryVerify
import Foundation
import TestSupport
import Testing

/// Rows with values above a limit of a thousand bytes, each kind separately.
@Suite("Large values")
struct LargeRowTests {
    private static let limit = 1_000
    /// Whether values above the memory limit can be carried.
    private static let goesInPieces = !SQLiteLibrary.limitsWholeRows
    private static let why: Comment = "SQLite before 3.39 counts a row with all its values."

    private func model(adding: Bool) -> ManagedObjectModel {
        var attributes = [
            Attribute(name: "first", type: .binary, isOptional: true),
            Attribute(name: "second", type: .binary, isOptional: true),
            Attribute(name: "photo", type: .binary, isOptional: true, allowsExternalStorage: true),
            Attribute(name: "number", type: .integer32, isOptional: true),
            Attribute(name: "text", type: .string, isOptional: true),
        ]
        if adding { attributes.append(Attribute(name: "added", type: .integer32, isOptional: true)) }
        return ManagedObjectModel(versionIdentifiers: [], entities: [Entity(name: "Item", attributes: attributes)])
    }

    /// Bytes that differ from place to place, so that a misplaced piece shows.
    private static func bytes(_ count: Int, _ seed: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8 &+ seed &* 7) }
    }

    private static func large(_ seed: Int) -> Value { .blob(bytes(5_000 + seed, seed)) }
    private static func small(_ seed: Int) -> Value { .blob(bytes(20, seed)) }

    /// The values of first, second, photo and text.
    private static let rows: [[Value]] = [
        [large(1), .null, .null, .null],
        [small(2), small(2), .null, .text("two")],
        [.null, large(3), .null, .text("three")],
        [large(4), large(5), .null, .text("four")],
        [large(6), .null, .blob([1] + bytes(9, 1)), .null],
        [small(7), large(7), .blob([1]), .null],
        [.null, .null, .blob([1] + bytes(4_000, 8)), .text("seven")],
        [large(9), small(9), .blob(ExternalData.reference(to: "0D5A1F4E-3C6B-4E7A-9A55-1B2C3D4E5F60")), .null],
        [.blob(bytes(700, 1)), .blob(bytes(700, 2)), .null, .text(String(repeating: "n", count: 700))],
        [.null, .null, .null, .text(String(repeating: "ä", count: 3_000))],
        [small(11), .null, .null, .text("eleven")],
        [large(12), .text(String(repeating: "x", count: 2_000)), .blob([1] + bytes(3_000, 12)), .null],
        [large(13), .integer(5), .blob([]), .text(String(repeating: "y", count: 2_000))],
    ]

    private func store(_ rows: [[Value]] = rows) throws -> StoreBuilder {
        let store = try StoreBuilder(model(adding: false))
        for (index, row) in rows.enumerated() {
            // Keys are sparse.
            try store.connection.run(
                """
                INSERT INTO ZITEM (Z_PK, Z_ENT, Z_OPT, ZFIRST, ZSECOND, ZPHOTO, ZTEXT, ZNUMBER)
                VALUES (?, 1, 3, ?, ?, ?, ?, 7)
                """, [.integer(Int64(index * 3 + 1))] + row)
        }
        try store.execute("UPDATE Z_PRIMARYKEY SET Z_MAX = 90")
        return store
    }

    private func migrate(
        _ store: StoreBuilder, chunkSize: ChunkSize, limit: Int?, memory: Int = 32 << 20,
        attributes: [String: AttributeRule] = [:], vfs: VFS? = nil, in folder: TemporaryFolder? = nil
    ) throws -> String {
        let folder = try folder ?? TemporaryFolder()
        var run = try CodedStep.prepare(
            store.path, store.version, to: model(adding: true), in: folder, chunkSize: chunkSize,
            attributes: attributes, vfs: vfs)
        run.options.valueLimit = limit
        run.options.memoryLimit = memory
        let report = try run.run()
        var verification = Verification(
            mode: .full, step: run.step.resolved, sourcePath: run.sourcePath, isSourcePrivate: true,
            destinationPath: run.destinationPath, workFolder: run.folder, counts: report.counts, now: 0)
        if let limit { verification.valueLimit = limit }
        #expect(try verification.run().differences.isEmpty)
        try run.finish()
        return try DatabaseDump.text(run.destinationPath, leavingOut: ["Z_METADATA"])
    }

    @Test(
        "Every kind of row has the same result as without a limit",
        arguments: [.rows(1), .rows(2), .rows(3), .rows(100), .automatic] as [ChunkSize])
    func comesOutTheSame(chunkSize: ChunkSize) throws {
        let store = try store()
        let expected = try migrate(store, chunkSize: .rows(100), limit: nil)
        #expect(try migrate(store, chunkSize: chunkSize, limit: Self.limit) == expected)
    }

    @Test("Verification finds a single different byte in a large value")
    func differenceIsSeen() throws {
        let store = try store()
        let folder = try TemporaryFolder()
        var run = try CodedStep.prepare(
            store.path, store.version, to: model(adding: true), in: folder, chunkSize: .rows(4))
        run.options.valueLimit = Self.limit
        let report = try run.run()
        do {
            let handle = try BlobHandle(
                "ZSECOND", of: "ZITEM", row: 10, schema: "main", writable: true,
                on: Connection(path: run.destinationPath, mode: .readWrite))
            try withUnsafeBytes(of: 0xFF as UInt8) { try handle.write($0, at: 4_999) }
        }
        var verification = Verification(
            mode: .full, step: run.step.resolved, sourcePath: run.sourcePath, isSourcePrivate: true,
            destinationPath: run.destinationPath, workFolder: run.folder, counts: report.counts, now: 0)
        verification.valueLimit = Self.limit
        let differences = try verification.run().differences
        #expect(differences.map(\.check) == [.rows])
        #expect(differences.first?.example == "ZITEM Z_PK 10 ZSECOND")
    }

    @Test("A text above the memory limit is refused with its entity and key; half of the limit passes")
    func textAboveMemory() throws {
        let row = { (count: Int) -> [Value] in
            [.null, .null, .null, .text(String(repeating: "t", count: count))]
        }
        let fitting = try store([row(10), row(1_900)])
        _ = try migrate(fitting, chunkSize: .rows(10), limit: Self.limit, memory: 4_000)
        let tooLarge = try store([row(10), row(1_900), row(2_100)])
        let error = #expect(throws: FerryError.self) {
            _ = try migrate(tooLarge, chunkSize: .rows(10), limit: Self.limit, memory: 4_000)
        }
        #expect(error?.code == .valueTooLarge)
        #expect(error?.place.entity == "Item")
        #expect(error?.place.primaryKey == 7)
        #expect(error?.message.contains("ttt") == false)
    }

    @Test("A BLOB of any size passes with any memory limit", .enabled(if: Self.goesInPieces, Self.why))
    func blobAboveMemory() throws {
        _ = try migrate(
            store([[Self.large(1), Self.large(2), .null, .null]]), chunkSize: .rows(10), limit: Self.limit,
            memory: 4_000)
    }

    @Test(
        "If SQLite counts whole rows, a BLOB above the memory limit is refused with entity, key and reason",
        .enabled(if: !Self.goesInPieces, "Newer libraries carry it."))
    func blobAboveMemoryRefused() throws {
        let error = #expect(throws: FerryError.self) {
            _ = try migrate(
                store([[Self.small(1), .null, .null, .null], [Self.large(2), .null, .null, .null]]),
                chunkSize: .rows(10), limit: Self.limit, memory: 4_000)
        }
        #expect(error?.code == .valueTooLarge && error?.remedy.settings.map(\.name) == [.memoryLimit])
        #expect(error?.place.entity == "Item" && error?.place.primaryKey == 4)
        #expect(error?.message.contains("3.39 and later read BLOBs in pieces") == true)
    }

    @Test(
        "A BLOB of any size passes if its possible replacement does, too",
        .enabled(if: Self.goesInPieces, Self.why))
    func blobWithSubstitute() throws {
        let expression = try FerryExpression.Expression.parse(
            "ifnil:then:($source.first, ifnil:then:($source.second, $source.first))")
        let rows: [[Value]] = [[Self.large(1), .null, .null, .null], [.null, Self.small(2), .null, .null]]
        let written = { (limit: Int?, memory: Int) throws in
            try migrate(
                store(rows), chunkSize: .rows(10), limit: limit, memory: memory,
                attributes: ["first": .value(expression)])
        }
        #expect(try written(Self.limit, 4_000) == written(nil, 32 << 20))
    }

    @Test("A run that fails at any operation, also within a large row, resumes to the same store")
    func resumes() throws {
        let store = try store(Array(Self.rows[2...5]))
        let expected = try migrate(store, chunkSize: .rows(2), limit: nil)
        let counting = FaultPlan()
        let folder = try TemporaryFolder()
        _ = try migrate(
            store, chunkSize: .rows(2), limit: Self.limit,
            vfs: VFS(temporaryFolder: folder.path, faults: counting))
        #expect(counting.count > 100)
        for operation in stride(from: 1, through: counting.count, by: 5) {
            let folder = try TemporaryFolder()
            let faults = FaultPlan(trigger: operation, outcome: .fail)
            #expect(throws: (any Error).self, "operation \(operation)") {
                _ = try migrate(
                    store, chunkSize: .rows(2), limit: Self.limit,
                    vfs: VFS(temporaryFolder: folder.path, faults: faults), in: folder)
            }
            #expect(
                try migrate(store, chunkSize: .rows(2), limit: Self.limit, in: folder) == expected,
                "resumed after operation \(operation)")
        }
    }
}
