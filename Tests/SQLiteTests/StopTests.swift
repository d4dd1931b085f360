import FerryBase
import FerrySQLite
import TestSupport
import Testing

@Suite("A long statement")
struct StopTests {
    private static let endless =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    private static let spent = FerryError(.budgetSpent, "It is spent.")

    private func open() throws -> (TemporaryFolder, Connection) {
        let folder = try TemporaryFolder()
        return (folder, try Connection(path: folder.file("a.sqlite"), mode: .create))
    }

    @Test("Is interrupted by a stop request, together with its transaction, and the connection stays usable")
    func isGivenUp() throws {
        let (folder, connection) = try open()
        try connection.execute("CREATE TABLE t(x)")
        let stop = StopRequest()
        connection.abandonStatements(on: stop)
        stop.request(FerryError(.interrupted, "Stopped."))
        let error = #expect(throws: DatabaseError.self) {
            try connection.transaction {
                try connection.execute("INSERT INTO t VALUES (1)")
                _ = try connection.integer(Self.endless)
            }
        }
        #expect(error?.isInterrupted == true && !connection.isInTransaction)
        let other = try Connection(path: folder.file("a.sqlite"), mode: .readWrite)
        #expect(try other.integer("SELECT count(*) FROM t") == 0)
    }

    @Test("Is interrupted by an exhausted budget only after a finished unit", arguments: [true, false])
    func keepsFirstUnit(_ isDone: Bool) throws {
        let (folder, connection) = try open()
        let stop = StopRequest(following: StopRequest(), budgetNanoseconds: 1, budgetSpent: Self.spent)
        let long =
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 4000000) SELECT count(*) FROM n"
        try connection.abandoning(on: stop) {
            if isDone {
                stop.unitIsDone()
                #expect(throws: FerryError.self) { try stop.check() }
                let error = #expect(throws: DatabaseError.self) { _ = try connection.integer(Self.endless) }
                #expect(error?.isInterrupted == true)
            } else {
                try stop.check()
                #expect(try connection.integer(long) == 4_000_000)
                #expect(stop.isDue && !stop.isRequested)
            }
        }
        withExtendedLifetime(folder) {}
    }

    /// All primary codes from SQLITE_ERROR to SQLITE_NOTADB, and some extended ones; 9 is SQLITE_INTERRUPT itself.
    static let codes: [Int32] = Array(1...26) + [266, 522, 778, 1_555, 2_067, 4_874]

    @Test(
        "Is stopped whatever code a failure after the request has, and keeps its own code before it", arguments: codes)
    func anyCode(_ code: Int32) throws {
        let (folder, connection) = try open()
        try connection.register("fails", arguments: 0, deterministic: false) { _, _ in
            throw DatabaseError(code: code, message: "a text that no list knows")
        }
        let (stop, other) = (StopRequest(), StopRequest())
        connection.abandoning(on: stop) {
            connection.abandoning(on: other) {
                let before = #expect(throws: DatabaseError.self) { try connection.run("SELECT fails()") }
                #expect(before?.code == code && before?.isInterrupted == (code == 9))
                stop.request(FerryError(.interrupted, "Stopped."))
                let after = #expect(throws: DatabaseError.self) { try connection.run("SELECT fails()") }
                #expect(after?.isInterrupted == true && after?.isCorrupt == false && after?.isInSQL == false)
                #expect(after?.message.contains("fails failed") == true, "\(String(describing: after))")
            }
        }
        let later = #expect(throws: DatabaseError.self) { try connection.run("SELECT fails()") }
        #expect(later?.code == code)
        withExtendedLifetime(folder) {}
    }

    /// Statements that fail in other places than a step of a function.
    @Test(
        "Is stopped wherever it fails after the request, and fails for its own reason before it",
        arguments: [
            "SELECT * FROM missing", "SELECT 1; SELEC 2", "INSERT INTO t VALUES (1)", "ATTACH '/missing/a' AS a",
            "SELECT * FROM pragma_table_xinfo('t', 'main', 3)", "INSERT INTO t VALUES (zeroblob(2000000000))",
            "CREATE VIRTUAL TABLE v USING missing", "ROLLBACK",
        ])
    func anyPlace(_ sql: String) throws {
        let (folder, connection) = try open()
        try connection.execute("CREATE TABLE t(x UNIQUE); INSERT INTO t VALUES (1)")
        let stop = StopRequest()
        connection.abandonStatements(on: stop)
        let before = #expect(throws: DatabaseError.self) { try connection.execute(sql) }
        #expect(before?.isInterrupted == false)
        stop.request(FerryError(.interrupted, "Stopped."))
        let after = #expect(throws: DatabaseError.self) { try connection.execute(sql) }
        #expect(after?.isInterrupted == true && after?.message.contains(before?.message ?? "-") == true)
        withExtendedLifetime(folder) {}
    }

    @Test("Reports damage that it finds before the request as damage")
    func damageBefore() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("a.sqlite")
        do {
            let connection = try Connection(path: path, mode: .create)
            try connection.execute("CREATE TABLE t(x); INSERT INTO t VALUES (1)")
        }
        var bytes = try FileLayer().read(path)
        // The type byte of the table's root page.
        bytes[4_096] = 0xFF
        let files = FileLayer()
        try files.removeIfPresent(path)
        var output = try files.create(path, mode: 0o600)
        try output.write(bytes)
        try output.close()
        let connection = try Connection(path: path, mode: .readOnly)
        let stop = StopRequest()
        connection.abandonStatements(on: stop)
        let error = #expect(throws: DatabaseError.self) { try connection.run("SELECT x FROM t") }
        stop.request(FerryError(.interrupted, "Stopped."))
        #expect(error?.isCorrupt == true && error?.isInterrupted == false)
        // The same damage after the request: the next call finds it again.
        let after = #expect(throws: DatabaseError.self) { try connection.run("SELECT x FROM t") }
        #expect(after?.isInterrupted == true)
    }

    /// A statement that a budget interrupts also stops the work beside it.
    @Test("Keeps the budget as its reason if the budget ended before another stop", arguments: [true, false])
    func keepsReason(_ isSpent: Bool) {
        let parent = StopRequest(
            following: StopRequest(), budgetNanoseconds: isSpent ? 1 : .max, budgetSpent: Self.spent)
        let stop = StopRequest(following: parent, budgetNanoseconds: nil, budgetSpent: Self.spent)
        parent.unitIsDone()
        parent.request(FerryError(.interrupted, "A statement was interrupted."))
        for request in [parent, stop] {
            let error = #expect(throws: FerryError.self) { try request.check() }
            #expect(error?.code == (isSpent ? .budgetSpent : .interrupted))
        }
    }

    @Test("Is not interrupted after the body of its request, nor by a released request")
    func endsWithBody() throws {
        let (folder, connection) = try open()
        let parent = StopRequest()
        var stop: StopRequest? = StopRequest(following: parent, budgetNanoseconds: nil, budgetSpent: Self.spent)
        connection.abandoning(on: stop ?? parent) {}
        parent.request(FerryError(.interrupted, "Stopped."))
        #expect(stop?.isRequested == true)
        stop = nil
        #expect(try connection.integer("SELECT 7") == 7)
        withExtendedLifetime(folder) {}
    }
}
