import CDatabase
import FerryBase
import FerrySQLite
import Testing

@Suite("Rows that are summed during one reading")
struct RowSumsTests {
    private static let key = KeyedHash.Key(low: 0x0706_0504_0302_0100, high: 0x0f0e_0d0c_0b0a_0908)
    private static let columns = ["a", "b", "id % 2 -- odd"]
    private static let tail = "FROM t WHERE id <= 900"

    /// 1,000 rows with a value of each storage class.
    private func open() throws -> Connection {
        let connection = try Connection(path: ":memory:", mode: .create)
        try connection.execute(
            """
            CREATE TABLE t(id INTEGER PRIMARY KEY, a, b);
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000)
            INSERT INTO t SELECT i, i, CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN i WHEN 2 THEN i * 0.5
                WHEN 3 THEN 'text ' || i ELSE CAST('bytes ' || i AS BLOB) END FROM n;
            """)
        return connection
    }

    private func read(_ connection: Connection, look: () throws -> Void = {}) throws -> RowSums {
        let sums = RowSums(
            [.init(columns: [0, 1]), .init(filter: 2, columns: [1])], counting: 2..<3,
            order: RowOrder([(collation: .binary, isDescending: false)], keyCount: 1, isUnique: true), key: Self.key)
        try sums.add(Self.columns, Self.tail, on: connection, lookingEvery: 100, look)
        return sums
    }

    @Test("One statement gives the results of a step for each row, with as many calls of the closure")
    func ways() throws {
        let connection = try open()
        var looks = 0
        let whole = try read(connection) { looks += 1 }
        #expect(looks == 9)
        #expect(whole.rows == 900 && whole.counts == [450] && whole.misplaced == 0)
        #expect(whole.results.map(\.count) == [900, 450])
        connection.limit(.functionArguments, Self.columns.count)
        looks = 0
        let stepped = try read(connection) { looks += 1 }
        #expect(looks == 9)
        #expect(whole.results.map(\.sum) == stepped.results.map(\.sum))
        #expect(stepped.rows == 900 && stepped.counts == [450] && stepped.misplaced == 0)
    }

    @Test(
        "A sum distinguishes cells",
        arguments: [
            "b = NULL WHERE id = 1", "b = 1.0 WHERE id = 1", "b = CAST(b AS BLOB) WHERE id = 3",
            "b = b || x'00' WHERE id = 3",
            "b = -0.0 WHERE id = 2", "a = CASE id WHEN 10 THEN 11 ELSE 10 END WHERE id IN (10, 11)",
            "b = substr(b, 1, 6) WHERE id = 4",
        ])
    func changes(_ change: String) throws {
        let connection = try open()
        try connection.execute("UPDATE t SET b = 0.0 WHERE id = 2")
        let before = try read(connection).results[0].sum
        try connection.execute("UPDATE t SET \(change)")
        #expect(try read(connection).results[0].sum != before)
    }

    @Test("An error of the closure ends the statement and is thrown, with both ways", arguments: [127, 3])
    func stops(_ arguments: Int) throws {
        let connection = try open()
        connection.limit(.functionArguments, arguments)
        let stopped = FerryError(.interrupted, "Stopped.")
        var looks = 0
        let error = #expect(throws: FerryError.self) {
            _ = try read(connection) {
                looks += 1
                if looks == 3 { throw stopped }
            }
        }
        #expect(error?.message == stopped.message)
        #expect(looks == 3)
        #expect(try read(connection).rows == 900)
    }

    @Test("An error of SQLite during the statement is thrown, with both ways", arguments: [127, 3])
    func fails(_ arguments: Int) throws {
        let connection = try open()
        connection.limit(.functionArguments, arguments)
        try connection.execute("UPDATE t SET b = zeroblob(2000000) WHERE id = 500")
        connection.limit(.length, 1_000_000)
        let error = #expect(throws: DatabaseError.self) { _ = try read(connection) }
        #expect(error?.isTooBig == true)
    }

    @Test("ferry_read is refused outside of a reading")
    func refuses() throws {
        let connection = try open()
        _ = try read(connection)
        for arguments in ["", "1", "NULL, 1"] {
            #expect(throws: DatabaseError.self) { try connection.execute("SELECT ferry_read(\(arguments)) FROM t") }
        }
    }

    @Test("A product of 128 bits is folded equally with and without numbers of 128 bits")
    func folds() {
        var generator = SystemRandomNumberGenerator()
        let edges: [UInt64] = [0, 1, .max, 1 << 32, 1 << 32 - 1, 1 << 63]
        let numbers = edges + (0..<100).map { _ in generator.next() }
        for one in numbers {
            for other in numbers {
                let (high, low) = one.multipliedFullWidth(by: other)
                #expect(ferry_folded(one, other) == high ^ low)
                #expect(ferry_folded_by_halves(one, other) == high ^ low)
            }
        }
    }
}
