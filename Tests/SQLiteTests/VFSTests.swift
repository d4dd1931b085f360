import FerryBase
import FerrySQLite
import TestSupport
import Testing

@Suite("The VFS wrapper")
struct VFSTests {
    let folder: TemporaryFolder
    let files = FileLayer()

    init() throws { folder = try TemporaryFolder() }

    /// Sorts more rows than fit into the cache, so that SQLite needs a temporary file.
    private func spill(_ connection: Connection) throws {
        try connection.execute("PRAGMA cache_size = 10; PRAGMA temp_store = FILE")
        try connection.execute(
            """
            CREATE TEMP TABLE big AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
            SELECT i, hex(randomblob(500)) AS t FROM n;
            """)
        #expect(try connection.integer("SELECT count(*) FROM (SELECT t FROM big ORDER BY t LIMIT 4000)") == 4000)
    }

    @Test("Temporary files are created in the given folder and are removed", arguments: [false, true])
    func temporaryFiles(withFaults: Bool) throws {
        let faults = FaultPlan(keepsNames: true)
        let temporary = folder.file("temporary")
        try files.createDirectory(temporary)
        let vfs = try VFS(temporaryFolder: temporary, faults: withFaults ? faults : nil)
        do {
            let connection = try Connection(path: folder.file("a.sqlite"), mode: .create, vfs: vfs)
            try spill(connection)
        }
        #expect(try files.list(temporary).isEmpty)
        if withFaults {
            #expect(faults.names.contains { $0.hasPrefix("create \(temporary)/ferry-tmp-") })
        }
    }

    @Test("A missing folder for temporary files is an error, so the files are really there")
    func missingFolder() throws {
        let vfs = try VFS(temporaryFolder: folder.file("nowhere"))
        let connection = try Connection(path: folder.file("a.sqlite"), mode: .create, vfs: vfs)
        #expect(throws: DatabaseError.self) { try spill(connection) }
    }

    @Test("A folder whose path is too long for SQLite is refused")
    func longFolder() {
        #expect(throws: DatabaseError.self) {
            try VFS(temporaryFolder: "/" + String(repeating: "x", count: 5000))
        }
    }

    @Test("WAL databases work through the wrapper, shared memory included")
    func writeAheadLog() throws {
        let vfs = try VFS(temporaryFolder: folder.path, faults: FaultPlan())
        let path = folder.file("a.sqlite")
        let one = try Connection(path: path, mode: .create, vfs: vfs)
        #expect(try one.setPragma("journal_mode", to: "wal")?.text == "wal")
        try one.execute("CREATE TABLE t(x); INSERT INTO t VALUES (1)")
        let two = try Connection(path: path, mode: .readWrite, vfs: vfs)
        #expect(try two.integer("SELECT x FROM t") == 1)
        try one.execute("BEGIN IMMEDIATE")
        #expect { try two.execute("BEGIN IMMEDIATE") } throws: { ($0 as? DatabaseError)?.isBusy == true }
        try one.execute("COMMIT")
        try two.execute("INSERT INTO t VALUES (2); PRAGMA wal_checkpoint(TRUNCATE)")
        #expect(try one.integer("SELECT count(*) FROM t") == 2)
    }

    @Test(
        "A transaction that fails at any operation leaves the old rows or the new ones", arguments: ["DELETE", "WAL"])
    func faults(journalMode: String) throws {
        let original = folder.file("original.sqlite")
        do {
            let connection = try Connection(path: original, mode: .create)
            _ = try connection.setPragma("journal_mode", to: journalMode)
            try connection.execute("CREATE TABLE t(x); INSERT INTO t VALUES (1), (1), (1)")
        }
        var sawOld = false
        var trigger = 1
        while true {
            let path = folder.file("\(trigger).sqlite")
            try Fixtures.copyStore(from: original, to: path)
            let plan = FaultPlan(trigger: trigger, keepsNames: true)
            do {
                let vfs = try VFS(temporaryFolder: folder.path, faults: plan)
                let connection = try Connection(path: path, mode: .readWrite, vfs: vfs)
                try connection.transaction { try connection.execute("UPDATE t SET x = 2") }
            } catch {
                #expect(error is DatabaseError)
            }
            // A plain client must find a valid database.
            let plain = try Connection(path: path, mode: .readWrite)
            let values = try plain.rows("SELECT DISTINCT x FROM t")
            #expect(values == [[.integer(1)]] || values == [[.integer(2)]])
            #expect(try plain.value("PRAGMA integrity_check")?.text == "ok")
            if values == [[.integer(1)]] { sawOld = true }
            if plan.count < trigger {
                #expect(values == [[.integer(2)]])
                break
            }
            trigger += 1
        }
        #expect(sawOld && trigger > 4)
    }

    @Test("Two wrappers have different names, and a connection keeps its own alive")
    func lifetime() throws {
        var vfs: VFS? = try VFS(temporaryFolder: nil)
        let other = try VFS(temporaryFolder: nil)
        #expect(vfs?.name != other.name)
        let connection = try Connection(path: folder.file("a.sqlite"), mode: .create, vfs: vfs)
        vfs = nil
        try connection.execute("CREATE TABLE t(x)")
        #expect(try connection.integer("SELECT count(*) FROM t") == 0)
    }
}
