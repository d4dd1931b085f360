import Ferry
import FerryBase
import FerrySQLite
import Foundation
import TestSupport

/// A small command whose every operation can fail, with the possible states of the store before and after.
struct Scenario {
    enum Kind: String, CaseIterable {
        /// `inPlace` leaves WAL mode for its transaction, as large stores do; `inPlaceByLog` does not.
        /// `unchangedToOutput` copies a store that is at its target. `staged` has hooks that write between steps.
        case copy, copyToOutput, inPlace, inPlaceByLog, inPlaceToOutput, mixed, mixedToOutput, policies, snapshot,
            rollback, unchangedToOutput, staged
        /// By mapping models that keep every row: verified before COMMIT on the store itself, and step by step in the run
        /// folder.
        case mapped, mappedInFolder
        /// A step that fills a table beside one that stays, and a step in place after it; `keptAlone` ends after the first.
        case kept, keptAlone, keptToOutput
        /// As `kept`, with a policy in the second step that also writes to a table that stays.
        case keptBesidePolicy
        /// A snapshot, and a migration with one, on a volume with copy-on-write files.
        case clonedSnapshot, keptCloned

        var clones: Bool { self == .clonedSnapshot || self == .keptCloned }
    }

    let kind: Kind
    let folder: TemporaryFolder
    let store: String
    private let work: Work

    private enum Work {
        case migration((FileLayer) throws -> Migrator)
        case other((FileLayer) throws -> Void)
    }

    /// Runs every step separately, with small chunks, and with the same time for all calls, which measure no machine.
    static let configuration = Configuration.allowingLosses {
        $0.chunks.size = .rows(5)
        $0.composition = false
        $0.now = { Date(timeIntervalSinceReferenceDate: 0) }
        $0.thresholds.machine = 1
    }

    init(_ kind: Kind, form: TinyStore.Form) throws {
        self.kind = kind
        switch kind {
        case .copy, .copyToOutput, .policies:
            let small = try SmallMigration(form: form, hasPolicy: kind == .policies)
            (folder, store) = (small.folder, small.store)
            work = .migration { try small.migrator(files: $0) }
        case .inPlace, .inPlaceByLog, .inPlaceToOutput, .unchangedToOutput:
            let inferred = try InferredMigration(form: form)
            (folder, store) = (inferred.folder, inferred.store)
            work = .migration { try inferred.migrator(files: $0) }
        case .mapped, .mappedInFolder:
            let mapped = try InferredMigration(form: form, isMapped: true)
            (folder, store) = (mapped.folder, mapped.store)
            work = .migration { try mapped.migrator(files: $0) }
        case .kept, .keptAlone, .keptToOutput, .keptCloned, .keptBesidePolicy:
            let small = try SmallMigration(form: form, hasPolicy: kind == .keptBesidePolicy, keepsWriter: true)
            (folder, store) = (small.folder, small.store)
            work = .migration { try small.migrator(files: $0) }
        case .mixed, .mixedToOutput, .staged:
            let mixed = try MixedMigration(form: form)
            (folder, store) = (mixed.folder, mixed.store)
            work = .migration { try mixed.migrator(files: $0) }
        case .snapshot, .clonedSnapshot, .rollback:
            folder = try TemporaryFolder()
            let store = folder.file("App.sqlite")
            self.store = store
            try TinyStore.make(store, title: "old", form: form)
            if kind != .rollback {
                work = .other {
                    _ = try StoreFiles(URL(fileURLWithPath: store), files: $0).createSnapshot(clones: kind.clones)
                }
                return
            }
            _ = try StoreFiles(URL(fileURLWithPath: store)).createSnapshot()
            for file in StoreFileNames(store).all { try FileLayer().removeIfPresent(file) }
            try TinyStore.make(store, title: "new", form: form)
            work = .other { _ = try StoreFiles(URL(fileURLWithPath: store), files: $0).rollback() }
        }
    }

    /// This hook has another result when it finds another store than the first time.
    private static func change(_ stage: MigrationStage, _ faults: FaultPlan?) throws {
        let vfs = try VFS(temporaryFolder: nil, faults: faults)
        let connection = try Connection(path: stage.store.path, mode: .readWrite, vfs: vfs)
        try connection.execute("UPDATE ZBOOK SET ZCOPIES = 3 * ZCOPIES + 1 WHERE Z_PK % 2 = 1")
        try connection.execute("UPDATE ZBOOK SET ZCOPIES = 5 * ZCOPIES + \(stage.number) WHERE Z_PK % 3 = 1")
    }

    private static func look(_ stage: MigrationStage, _ faults: FaultPlan?) throws {
        let vfs = try VFS(temporaryFolder: nil, faults: faults)
        let connection = try Connection(path: stage.store.path, mode: .readOnly, vfs: vfs)
        guard try connection.value("SELECT count(*) FROM ZBOOK") == .integer(12) else {
            throw FerryError(.internalError, "The hook does not find the rows.")
        }
    }

    /// The path of the new store if it does not replace the old one.
    var output: String? {
        [.copyToOutput, .inPlaceToOutput, .mixedToOutput, .unchangedToOutput, .keptToOutput].contains(kind)
            ? folder.file("New.sqlite") : nil
    }

    /// Returns the migration's configuration, with possible faults.
    func configuration(_ faults: FaultPlan? = nil) -> Configuration {
        var configuration = Self.configuration
        configuration.output = output.map { URL(fileURLWithPath: $0) }
        configuration.thresholds.largestLoggedStore = kind == .inPlaceByLog ? 1 << 20 : 0
        if kind == .unchangedToOutput { configuration.target = "App 1" }
        configuration.snapshots.form = kind.clones ? .clone : .archive
        if [.mapped, .keptAlone].contains(kind) { configuration.target = "App 2" }
        if [.copy, .copyToOutput].contains(kind) { configuration.executor = .set }
        if kind == .staged {
            configuration.willMigrate = { try Self.look($0, faults) }
            configuration.didMigrate = { try Self.change($0, faults) }
        }
        return configuration
    }

    /// Returns the migration of the scenario; snapshots and rollbacks have none.
    func migrator(_ faults: FaultPlan? = nil) throws -> Migrator {
        guard case .migration(let make) = work else { preconditionFailure("\(kind) is no migration") }
        return try make(files(faults))
    }

    private func files(_ faults: FaultPlan?) -> FileLayer {
        FileLayer(faults: faults ?? (kind.clones ? FaultPlan(copiesClones: true) : nil))
    }

    func run(_ faults: FaultPlan? = nil, _ change: (inout Configuration) -> Void = { _ in }) throws {
        if case .other(let run) = work { return try run(files(faults)) }
        var configuration = configuration(faults)
        change(&configuration)
        _ = try migrator(faults).migrate(configuration)
    }

    /// Returns the store's content as a plain client reads it, after SQLite's recovery.
    func content(sortsColumns: Bool = false) throws -> String {
        let connection = try Connection(path: store, mode: .readWrite)
        // A checkpoint would change the main file, which a resumed run would refuse.
        connection.keepWriteAheadLogOnClose()
        guard try connection.value("PRAGMA integrity_check") == .text("ok") else { return "damaged" }
        return try DatabaseDump.text(store, sortsColumns: sortsColumns)
    }

    /// Returns the command's result: the new store, or the undamaged snapshots.
    ///
    /// `sortsColumns`: a step that a budget divides fills tables anew, in which columns have another order.
    func result(sortsColumns: Bool = false) throws -> String {
        if let output { return try DatabaseDump.text(output, sortsColumns: sortsColumns) }
        guard [.snapshot, .clonedSnapshot].contains(kind) else { return try content(sortsColumns: sortsColumns) }
        let snapshots = try StoreFiles(URL(fileURLWithPath: store)).verifySnapshots()
        return snapshots.isEmpty || snapshots.contains { $0.verified != true } ? "damaged" : try content()
    }

    /// Returns the files that a finished command leaves beside the store.
    func leftovers() throws -> [String] {
        try FileLayer().list(folder.path).map(\.name).filter {
            ($0.hasPrefix("App.sqlite") || $0.hasPrefix("New.sqlite")) && $0.hasSuffix(".ferry")
        }
    }
}
