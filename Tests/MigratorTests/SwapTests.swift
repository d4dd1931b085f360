import Ferry
import FerryBase
import FerrySQLite
import FerryStore
import TestSupport
import Testing

/// A store, a finished destination in a run folder, and the command that swaps them.
private struct SwapStage {
    let folder: TemporaryFolder
    private let form: TinyStore.Form
    private let inode: UInt64
    var path: String { folder.file("App.sqlite") }
    static let oldFile = "11111111-0000-4000-8000-000000000001"
    static let newFile = "22222222-0000-4000-8000-000000000002"

    init(_ form: TinyStore.Form) throws {
        folder = try TemporaryFolder()
        self.form = form
        let files = FileLayer()
        try TinyStore.make(folder.file("App.sqlite"), title: "old", form: form, external: [Self.oldFile])
        inode = try files.attributes(folder.file("App.sqlite")).inode
        try files.createDirectory(external)
        try files.replace(external + "/" + Self.oldFile, with: [1, 2, 3])
        try files.setMode(0o640, of: path)
        try begin()
    }

    var external: String { ExternalData.folder(forStore: path) }
    private var destination: String { RunFolder.path(beside: path) + "/step-1/destination.sqlite" }

    /// Does the work of a migration up to the verification of its last step.
    private func begin() throws {
        let files = FileLayer()
        let run = try RunFolder(path: RunFolder.path(beside: path), files: files)
        let guardian = try SourceGuard(path: path, purpose: .migrating, files: files)
        try RunSession(run, RunRecord(in: run, on: guardian)).save()
        try guardian.close()
        try files.createDirectory(run.stepFolder(1))
        try TinyStore.make(destination, title: "new", external: [Self.newFile])
        let newFiles = ExternalData.folder(forStore: destination)
        try files.createDirectory(newFiles)
        try files.replace(newFiles + "/" + Self.newFile, with: [4, 5, 6])
    }

    /// Runs a command from the swap on, as every command with this run does.
    ///
    /// - Parameters:
    ///   - faults: The injected failures.
    ///   - largestLogged: The largest size in bytes that is swapped through the `-wal`; 0 for a rollback journal.
    /// - Throws: The error of the swap.
    func command(faults: FaultPlan? = nil, largestLogged: Int64 = 1 << 30) throws {
        let files = FileLayer(faults: faults)
        let run = try RunFolder(path: RunFolder.path(beside: path), files: files)
        guard let session = try run.load().map({ RunSession(run, $0) }) else { return try run.remove() }
        if try !session.recover(at: path) {
            let guardian = try SourceGuard(
                path: path, purpose: .migrating, files: files, sideFiles: session.head.sideFiles,
                vfs: try faults.map { try VFS(temporaryFolder: nil, faults: $0) })
            do {
                var now = try guardian.fingerprint()
                now.inputs = session.head.source.inputs
                if session.head.comparison(with: now) != .same {
                    throw FerryError(.sourceChanged, "The store is not what the record says.")
                }
                try Swap(destination, over: guardian, in: session, largestLogged: largestLogged).run()
            } catch {
                do { try guardian.close() } catch {}
                throw error
            }
        }
        try session.cleanUp(at: path)
        try run.remove()
    }

    func checkDone() throws {
        let files = FileLayer()
        #expect(try files.attributes(path).inode == inode, "every client keeps its file")
        #expect(try DatabaseHeader(files.read(path))?.usesWriteAheadLog == (form != .plain))
        #expect(try TinyStore.title(path) == "new")
        #expect(try files.attributes(path).mode == 0o640)
        #expect(try files.list(external).map(\.name) == [Self.newFile])
        #expect(try !files.exists(RunFolder.path(beside: path)))
        // The client above leaves its companion files.
        let names = try StoreFileNames.lasting(files.list(folder.path).map(\.name)).sorted()
        #expect(names == [".App_SUPPORT", "App.sqlite", "App.sqlite.ferry-log.json"])
    }
}

@Suite("The swap")
struct SwapTests {
    @Test("The swap puts the new store in place and leaves no other files", arguments: TinyStore.Form.allCases)
    func swaps(_ form: TinyStore.Form) throws {
        let stage = try SwapStage(form)
        try stage.command()
        try stage.checkDone()
    }

    @Test(
        "A failure at any operation leaves the old or the new store, whole, and the swap can be resumed",
        arguments: TinyStore.Form.allCases)
    func survivesFaults(_ form: TinyStore.Form) throws {
        let count = FaultPlan()
        try SwapStage(form).command(faults: count)
        #expect(count.count > 30)
        var seen: Set<String> = []
        for operation in 1...count.count {
            let stage = try SwapStage(form)
            #expect(throws: (any Error).self, "operation \(operation)") {
                try stage.command(faults: FaultPlan(trigger: operation))
            }
            let title = try TinyStore.title(stage.path)
            let old = form == .filledLog ? "old late" : "old"
            #expect(title == old || title == "new", "operation \(operation)")
            // Every file that the store names must exist.
            let file = title == "new" ? SwapStage.newFile : SwapStage.oldFile
            #expect(try FileLayer().exists(stage.external + "/" + file), "operation \(operation)")
            seen.insert(title)
            try stage.command()
            try stage.checkDone()
        }
        #expect(seen.count == 2)
    }

    @Test(
        "With a rollback journal, too, any failure leaves the old or the new store",
        arguments: [TinyStore.Form.closedLog, .filledLog])
    func survivesFaultsByJournal(_ form: TinyStore.Form) throws {
        let count = FaultPlan()
        try SwapStage(form).command(faults: count, largestLogged: 0)
        var (seen, refused): (Set<String>, Int) = ([], 0)
        for operation in 1...count.count {
            let stage = try SwapStage(form)
            #expect(throws: (any Error).self, "operation \(operation)") {
                try stage.command(faults: FaultPlan(trigger: operation), largestLogged: 0)
            }
            let files = FileLayer()
            let journal = stage.path + "-journal"
            let isHot = try files.exists(journal) && files.read(journal).first.map { $0 != 0 } == true
            let title = try TinyStore.title(stage.path)
            let old = form == .filledLog ? "old late" : "old"
            #expect(title == old || title == "new", "operation \(operation)")
            seen.insert(title)
            do {
                try stage.command(largestLogged: 0)
                try stage.checkDone()
            } catch let error as FerryError where error.code == .sourceChanged {
                // The client above, not Ferry, has rolled back the change of the journal mode without a trace.
                #expect(isHot && title == old, "operation \(operation)")
                refused += 1
            }
        }
        #expect(seen.count == 2 && refused < count.count / 10)
    }

    @Test(
        "A store that an app has open stays unchanged, and the same command succeeds later",
        arguments: [TinyStore.Form.closedLog, .filledLog])
    func waitsForApp(_ form: TinyStore.Form) throws {
        let stage = try SwapStage(form)
        let old = try TinyStore.title(stage.path)
        do {
            let app = try Connection(path: stage.path, mode: .readWrite)
            app.keepWriteAheadLogOnClose()
            #expect(try app.integer("SELECT count(*) FROM ZNOTE") == 40)
            let error = #expect(throws: FerryError.self) { try stage.command() }
            #expect(error?.code == .storeInUseAtSwap)
            #expect(error?.code.consequence == .resumable)
            #expect(try app.integer("SELECT count(*) FROM ZNOTE") == 40)
        }
        #expect(try TinyStore.title(stage.path) == old)
        try stage.command()
        try stage.checkDone()
    }
}
