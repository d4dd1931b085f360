import Ferry
import FerryBase
import FerrySQLite
import FerryStore
import Foundation
import TestSupport
import Testing

@Suite("A rollback after a migration in place")
struct RollbackAfterMigrationTests {
    /// How the transaction on the store is written.
    enum Way: CaseIterable {
        case verified
        /// A large store in WAL mode leaves it meanwhile.
        case quick
        /// A store in WAL mode stays in it.
        case quickLogged
    }

    private func configuration(_ way: Way = .verified, _ trace: TraceHook? = nil) -> Configuration {
        var configuration = Configuration.allowingLosses {
            $0.verification = way == .verified ? .full : .quick
            $0.trace = trace
        }
        if way == .quick { configuration.thresholds.largestLoggedStore = 0 }
        return configuration
    }

    private func rollback(_ migration: InferredMigration) throws -> RollbackReport {
        try StoreFiles(URL(fileURLWithPath: migration.store)).rollback()
    }

    @Test(
        "Keeps one though nothing was written since, so that a second rollback undoes the first and needs no other",
        arguments: TinyStore.Form.allCases, Way.allCases)
    func undoes(_ form: TinyStore.Form, _ way: Way) throws {
        let migration = try InferredMigration(form: form)
        let original = try DatabaseDump.text(migration.store)
        #expect(try migration.migrator().migrate(configuration(way)).mode == .inPlace)
        // An app that only reads changes nothing.
        #expect(try Connection(path: migration.store, mode: .readOnly).integer("SELECT count(*) FROM ZBOOK") == 30)
        let migrated = try DatabaseDump.text(migration.store)
        #expect(try rollback(migration).kept.count == 1)
        #expect(try DatabaseDump.text(migration.store) == original)
        let second = try rollback(migration)
        #expect(second.kept.isEmpty && second.replaced != nil && second.replaced != second.version)
        #expect(try DatabaseDump.text(migration.store) == migrated)
        #expect(try rollback(migration).kept.isEmpty)
        #expect(try DatabaseDump.text(migration.store) == original)
    }

    @Test("Is refused if the store has the content of its only snapshot, and knows the version after a change")
    func onlySnapshot() throws {
        let migration = try InferredMigration(form: .plain)
        _ = try migration.migrator().migrate(configuration())
        let store = StoreFiles(URL(fileURLWithPath: migration.store))
        let first = try store.rollback(keepsReplaced: false)
        let error = #expect(throws: FerryError.self) { try store.rollback() }
        #expect(error?.code == .noSnapshot)
        try Connection(path: migration.store, mode: .readWrite).execute("UPDATE ZBOOK SET ZTITLE = 'x' WHERE Z_PK = 1")
        let second = try store.rollback()
        #expect(second.kept.count == 1 && second.replaced == first.version && first.version != nil)
        #expect(try store.snapshots().last?.version == first.version)
    }

    @Test("Keeps one if the app has written since", arguments: TinyStore.Form.allCases, Way.allCases)
    func keepsWrites(_ form: TinyStore.Form, _ way: Way) throws {
        let migration = try InferredMigration(form: form)
        _ = try migration.migrator().migrate(configuration(way))
        try Connection(path: migration.store, mode: .readWrite).execute("UPDATE ZBOOK SET ZCOPIES = 3 WHERE Z_PK = 1")
        #expect(try rollback(migration).kept.count == 1)
    }

    @Test("Keeps one if the app has written as soon as COMMIT let it", arguments: [TinyStore.Form.plain, .filledLog])
    func keepsEarlyWrites(_ form: TinyStore.Form) throws {
        let migration = try InferredMigration(form: form)
        let path = migration.store
        let written = SharedList<Bool>()
        let report = try migration.migrator().migrate(
            configuration(.quickLogged) { event in
                guard event.text == "COMMIT", written.all.isEmpty else { return }
                do {
                    let app = try Connection(path: path, mode: .readWrite)
                    app.keepWriteAheadLogOnClose()
                    try app.execute("UPDATE ZBOOK SET ZCOPIES = 3 WHERE Z_PK = 1")
                    written.append(true)
                } catch {
                    Issue.record(error)
                }
            })
        #expect(report.mode == .inPlace && written.all == [true])
        #expect(try rollback(migration).kept.count == 1)
    }
}
