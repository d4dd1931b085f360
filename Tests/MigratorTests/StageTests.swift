import Ferry
import FerryBase
import FerryModel
import FerrySQLite
import FerryStore
import Foundation
import TestSupport
import Testing

@Suite("Hooks between the steps of a migration")
struct StageTests {
    /// The calls of the hooks, in order.
    private final class Calls: Sendable {
        private let list = Locked<[String]>([])
        var all: [String] { list.withLock { $0 } }

        func note(_ name: String, _ stage: MigrationStage) throws {
            let version = try StageTests.hashes(stage.store.path)
            list.withLock { $0.append("\(name) \(stage.number)/\(stage.count) \(stage.from) > \(stage.to)") }
            let catalog = stage.store.deletingLastPathComponent().path
            #expect(!version.isEmpty && !catalog.isEmpty)
        }
    }

    private struct Veto: Error {}

    private static func hashes(_ path: String) throws -> [String: [UInt8]] {
        try StoreMetadata.read(from: Connection(path: path, mode: .readOnly)).hashes
    }

    private func configuration(
        _ calls: Calls, will: @escaping Configuration.StageHook = { _ in },
        did: @escaping Configuration.StageHook = { _ in }
    ) -> Configuration {
        Configuration.allowingLosses {
            $0.willMigrate = {
                try calls.note("will", $0)
                try will($0)
            }
            $0.didMigrate = {
                try calls.note("did", $0)
                try did($0)
            }
        }
    }

    private static func write(_ sql: String, _ stage: MigrationStage) throws {
        try Connection(path: stage.store.path, mode: .readWrite).execute(sql)
    }

    private static let whole = ["App 1", "App 2", "App 3", "App 4", "App 5"].adjacent().enumerated().flatMap {
        ["will \($0 + 1)/4 \($1.0) > \($1.1)", "did \($0 + 1)/4 \($1.0) > \($1.1)"]
    }

    @Test(
        "Hooks are called before and after each step, with stores of the step's two versions",
        arguments: TinyStore.Form.allCases)
    func areCalled(_ form: TinyStore.Form) throws {
        let (mixed, plain) = (try MixedMigration(form: form), try MixedMigration(form: form))
        let calls = Calls()
        let catalog = try ModelCatalog(paths: [mixed.folder.file("App.xcdatamodeld")])
        let report = try mixed.migrator().migrate(
            configuration(calls) { stage in
                let found = try Self.hashes(stage.store.path)
                let wanted = try catalog.version(named: stage.from).hashes
                #expect(found == wanted)
            } did: { stage in
                let found = try Self.hashes(stage.store.path)
                let wanted = try catalog.version(named: stage.to).hashes
                #expect(found == wanted)
            })
        #expect(calls.all == Self.whole && report.mode == .copy && report.outcome == .migrated)
        _ = try plain.migrator().migrate(.allowingLosses { $0.composition = false })
        #expect(try StoreRows.text(atPath: mixed.store) == StoreRows.text(atPath: plain.store))
    }

    @Test("A migration that could be one transaction has a store for each hook, and the plan says so")
    func stagesInPlace() throws {
        let inferred = try InferredMigration(form: .filledLog)
        let calls = Calls()
        let asked = configuration(calls) { stage in
            #expect(stage.number > 1 || stage.store.path == inferred.store)
        }
        var chained = asked
        chained.chain = .versions(["App 1", "App 2", "App 3"])
        let plan = try inferred.migrator().plan(chained)
        #expect(plan.steps.map(\.mode) == [.inPlace, .inPlace] && plan.steps[0].reason.contains("hook"))
        let report = try inferred.migrator().migrate(chained)
        #expect(calls.all.count == 4 && report.verification.differences.isEmpty)
    }

    @Test(
        "A hook's error ends the run with the store unchanged, and the next call calls the hook again", arguments: 1...8
    )
    func vetoes(_ call: Int) throws {
        let (mixed, calls) = (try MixedMigration(), Calls())
        let before = try StoreBytes(mixed.store)
        let veto: Configuration.StageHook = { _ in if calls.all.count == call { throw Veto() } }
        let error = #expect(throws: FerryError.self) {
            try mixed.migrator().migrate(configuration(calls, will: veto, did: veto))
        }
        #expect(error?.code == .stageFailed && error?.code.consequence == .failed && error?.cause is Veto)
        #expect(try StoreBytes(mixed.store) == before)
        let report = try mixed.migrator().migrate(configuration(calls))
        #expect(report.outcome == .migrated)
        var wanted = Self.whole
        wanted.insert(wanted[call - 1], at: call)
        #expect(calls.all == wanted)
    }

    @Test("Rows that a hook has changed are in the next step and in the store", arguments: [false, true])
    func writes(isStopped: Bool) throws {
        let (mixed, calls) = (try MixedMigration(form: .closedLog), Calls())
        let did: Configuration.StageHook = { stage in
            // Writes as Core Data does: in WAL mode, with a log that is left behind.
            let connection = try Connection(path: stage.store.path, mode: .readWrite)
            connection.keepWriteAheadLogOnClose()
            _ = try connection.setPragma("journal_mode", to: "WAL")
            try connection.execute("UPDATE ZBOOK SET ZCOPIES = 10 * ZCOPIES + \(stage.number)")
        }
        if isStopped {
            let error = #expect(throws: FerryError.self) {
                try mixed.migrator().migrate(
                    configuration(calls) { stage in
                        if stage.number == 3 { throw Veto() }
                    } did: {
                        try did($0)
                    })
            }
            #expect(error?.code == .stageFailed)
        }
        let report = try mixed.migrator().migrate(configuration(calls, did: did))
        #expect(report.resumed == isStopped && report.verification.differences.isEmpty)
        let connection = try Connection(path: mixed.store, mode: .readWrite)
        #expect(try connection.rows("SELECT DISTINCT ZCOPIES FROM ZBOOK") == [[.integer(21234)]])
        #expect(try connection.pragma("journal_mode") == .text("wal"))
        #expect(calls.all.count { $0.hasPrefix("did") } == 4)
    }

    @Test("A hook that throws after a write receives the step's store again without the write")
    func takesBack() throws {
        let (mixed, calls) = (try MixedMigration(), Calls())
        let write: Configuration.StageHook = { try Self.write("UPDATE ZBOOK SET ZCOPIES = ZCOPIES + 1", $0) }
        for number in 1...4 {
            let error = #expect(throws: FerryError.self) {
                try mixed.migrator().migrate(
                    configuration(calls) { _ in
                    } did: { stage in
                        try write(stage)
                        if stage.number == number { throw Veto() }
                    })
            }
            #expect(error?.cause is Veto)
        }
        _ = try mixed.migrator().migrate(configuration(calls, did: write))
        let connection = try Connection(path: mixed.store, mode: .readWrite)
        #expect(try connection.rows("SELECT DISTINCT ZCOPIES FROM ZBOOK") == [[.integer(6)]])
    }

    @Test("A hook's damage to a store is found, and the app's store stays unchanged")
    func findsDamage() throws {
        let (mixed, calls) = (try MixedMigration(), Calls())
        let before = try StoreBytes(mixed.store)
        let error = #expect(throws: FerryError.self) {
            try mixed.migrator().migrate(
                configuration(
                    calls,
                    did: { if $0.number == 2 { try Self.write("UPDATE ZBOOK SET ZAUTHOR = 99 WHERE Z_PK = 1", $0) } }))
        }
        #expect(error?.code == .verificationFailed && error?.cause is VerificationDifferences)
        #expect(try StoreBytes(mixed.store) == before)
        let other = #expect(throws: FerryError.self) {
            try mixed.migrator().migrate(
                configuration(
                    calls,
                    did: {
                        if $0.number == 2 { try Self.write("UPDATE Z_METADATA SET Z_PLIST = x'00'", $0) }
                    }))
        }
        #expect(other != nil)
        #expect(try StoreBytes(mixed.store) == before)
        #expect(try mixed.migrator().migrate(configuration(calls)).outcome == .migrated)
    }

    @Test("willMigrate must not change a store, neither the app's nor a step's", arguments: 1...2)
    func refusesWrites(_ number: Int) throws {
        let (mixed, calls) = (try MixedMigration(), Calls())
        let error = #expect(throws: FerryError.self) {
            try mixed.migrator().migrate(
                configuration(calls) { if $0.number == number { try Self.write("UPDATE ZBOOK SET ZTITLE = 'x'", $0) } })
        }
        #expect(error?.code == .stageFailed)
        #expect(try Self.hashes(mixed.store).keys.contains("Book"))
        #expect(
            try Connection(path: mixed.store, mode: .readOnly).value("SELECT count(*) FROM ZBOOK WHERE ZTITLE = 'x'")
                == .integer(0))
    }

    @Test("A run that began with hooks is not resumed without them")
    func keepsHooks() throws {
        let (mixed, calls) = (try MixedMigration(), Calls())
        _ = #expect(throws: FerryError.self) {
            try mixed.migrator().migrate(configuration(calls) { if $0.number == 2 { throw Veto() } })
        }
        let error = #expect(throws: FerryError.self) {
            try mixed.migrator().migrate(.allowingLosses { $0.composition = false })
        }
        #expect(error?.code == .runDiffers && error?.message.contains("hooks") == true)
    }
}

extension Array {
    fileprivate func adjacent() -> [(Element, Element)] { Array<(Element, Element)>(zip(self, dropFirst())) }
}
