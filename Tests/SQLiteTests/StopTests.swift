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

    @Test("Is recognized as interrupted when SQLite reports an error in the SQL")
    func isKnownInDeclaration() {
        // SQLite 3.40.1 reported this error when an interrupt hit its parsing of pragma_table_xinfo's columns.
        let interrupted = DatabaseError(
            code: 1, message: "interrupted", sql: "SELECT name FROM pragma_table_xinfo('t')")
        #expect(interrupted.isInterrupted && !interrupted.isInSQL)
        let mistaken = DatabaseError(code: 1, message: "no such table: interrupted")
        #expect(!mistaken.isInterrupted && mistaken.isInSQL)
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
