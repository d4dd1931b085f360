internal import FerryBase
internal import FerryEngine
internal import FerrySQLite
internal import Testing

@Suite("Objects found by their values")
struct ObjectLookupTests {
    private static let values: [Value] = [
        .null, .integer(0), .integer(1), .integer(-1), .integer(1 << 53), .integer((1 << 53) + 1), .integer(.max),
        .integer(.min), .real(0), .real(-0.0), .real(1), .real(1.5), .real(9_007_199_254_740_992),
        .real(9_223_372_036_854_775_808), .real(-9_223_372_036_854_775_808), .real(.infinity), .real(1e300),
        .text(""), .text("1"), .text("1.0"), .text("1.5"), .text(" 1 "), .text("01"), .text("1e0"), .text("1x"),
        .text("9223372036854775808"), .text("a"), .text("A"), .text("a\u{0}b"), .text("a\u{0}c"), .text("é"),
        .text("e\u{301}"), .text("12345678"), .text("12345678\u{0}"), .blob([]), .blob([0x31]), .blob([0x61]),
        .blob([0]), .blob([0, 0]),
    ]

    @Test(
        "Values are equal exactly when SQLite's comparison in the columns says so",
        arguments: ["VARCHAR", "INTEGER", "FLOAT", "TIMESTAMP", "DECIMAL", "BLOB"])
    func equality(type: String) throws {
        for given in Self.values {
            let rig = try Rig(types: [type, "VARCHAR"])
            try rig.connection.run("INSERT INTO main.T VALUES (1, 1, ?, NULL), (2, 2, 'another entity', NULL)", [given])
            try rig.lookup.begin(after: 2)
            for asked in Self.values {
                let expected = try rig.connection.integer(
                    "SELECT Z_PK FROM (SELECT Z_PK, v0 FROM main.T WHERE Z_ENT = 1) WHERE v0 IS (SELECT v FROM temp.one)",
                    before: "REPLACE INTO temp.one VALUES (1, ?)", [asked])
                #expect(try rig.find([asked, .null]) == expected, "\(asked) among \(given) in \(type)")
                #expect(try rig.find([asked, .text("")]) == nil)
            }
        }
    }

    @Test("Neighbouring values are kept apart")
    func borders() throws {
        let rig = try Rig(types: ["VARCHAR", "VARCHAR"])
        try rig.lookup.begin(after: 0)
        #expect(try rig.findOrCreate([.text("ab"), .text("c")]) == 1)
        #expect(try rig.findOrCreate([.text("a"), .text("bc")]) == 2)
        #expect(try rig.findOrCreate([.null, .text("abc")]) == 3)
        #expect(try rig.findOrCreate([.text("abc"), .null]) == 4)
        #expect(try rig.findOrCreate([.text("ab"), .text("c")]) == 1)
    }

    @Test("The object with the lowest key is found among objects with the same values")
    func lowest() throws {
        let rig = try Rig(types: ["VARCHAR", "INTEGER"])
        try rig.connection.execute(
            "INSERT INTO main.T VALUES (7, 1, 'a', 1), (5, 1, 'a', 1), (9, 1, 'a', 1), (-3, 1, 'b', 1)")
        try rig.lookup.begin(after: 9)
        #expect(try rig.find([.text("a"), .real(1)]) == 5)
        #expect(try rig.find([.text("b"), .integer(1)]) == -3)
    }

    /// `share`: the average number of rows per value.
    @Test("All objects are found, also more than fit into memory", arguments: [1, 3, 50], [8, 10])
    func overflow(share: Int, bits: Int) throws {
        let rig = try Rig(types: ["VARCHAR", "VARCHAR"], bits: bits)
        var random = SmallRandom("overflow \(share) \(bits)")
        var model: [Int: Int64] = [:]
        let rows = 12_000
        try rig.begin()
        for row in 0..<rows {
            // The test commits chunks, rolls chunks back, or resumes in another process.
            if row % 500 == 499 {
                switch random.below(4) {
                case 0:
                    try rig.rollBack()
                    model = model.filter { $0.value <= rig.last }
                case 1:
                    try rig.commit()
                    try rig.openAnew()
                default: try rig.commit()
                }
                try rig.begin()
            }
            let value = share == 1 ? row : random.below(rows / share)
            let expected = model[value] ?? rig.last + 1
            #expect(try rig.findOrCreate([.text("value \(value)"), .null]) == expected)
            model[value] = expected
        }
        try rig.commit()
        #expect(try rig.connection.integer("SELECT count(*) FROM main.T") == Int64(model.count))
        let saved = try rig.connection.rows("SELECT last, count0, count1, count2 FROM scratch.lookups")[0]
        if share < 50 { #expect(saved.dropFirst().contains { $0.integer != 0 }) }
        for (level, count) in saved.dropFirst().enumerated() {
            #expect(try rig.connection.value("SELECT count(*) FROM scratch.\"lookup_T_\(level)\"") == count)
        }
        // The tables have every object up to the last saved one, once.
        #expect(saved.dropFirst().compactMap(\.integer).reduce(0, +) == saved[0].integer ?? 0)
    }

    /// A third of the objects has no key; the others are found among more than fit into memory.
    @Test("Nil equals nothing if it is to", arguments: [8, 10])
    func nilEqualsNothing(bits: Int) throws {
        let rig = try Rig(types: ["VARCHAR", "VARCHAR"], bits: bits, nilIsEqual: false)
        var random = SmallRandom("nil \(bits)")
        var model: [Int: Int64] = [:]
        try rig.begin()
        for chunk in 0..<20 {
            if chunk > 0 {
                let isLost = random.below(4) == 0
                if isLost { try rig.rollBack() } else { try rig.commit() }
                model = model.filter { $0.value <= rig.last }
                if random.below(3) == 0 { try rig.openAnew() }
                try rig.begin()
            }
            let values = (0..<300).map { _ in random.below(3) == 0 ? nil : random.below(2_000) }
            let cells = values.map { $0.map { Value.text("value \($0)") } ?? .null }
            let before = rig.last
            let found = try cells.map { try rig.findOrCreate([$0, .text("")]) }
            var next = before
            for (value, key) in zip(values, found) {
                let known = value.flatMap { model[$0] }
                if known == nil { next += 1 }
                #expect(key == known ?? next)
                if let value { model[value] = key }
            }
        }
        try rig.commit()
    }

    @Test("Saved objects that are found take the room of new ones, and are found again")
    func foundAgain() throws {
        let rig = try Rig(types: ["VARCHAR", "VARCHAR"], bits: 8)
        try rig.begin()
        let value = { (number: Int) in [Value.integer(Int64(number)), .null] }
        // One object more than fits saves all; then half of them are found, and new objects take the other half.
        for number in 1...225 { #expect(try rig.findOrCreate(value(number)) == Int64(number)) }
        for number in [1...112, 1...112, 226...400, 1...400].joined() {
            #expect(try rig.findOrCreate(value(number)) == Int64(number))
        }
        try rig.commit()
    }

    @Test("Objects of another mapping are found without an insert")
    func others() throws {
        let rig = try Rig(types: ["VARCHAR", "VARCHAR"], bits: 8)
        try rig.begin()
        for row in 0..<3_000 {
            try rig.connection.execute("INSERT INTO main.T VALUES (\(row + 1), 1, 'value \(row)', NULL)")
        }
        rig.last = 3_000
        try rig.lookup.begin(after: rig.last)
        for row in stride(from: 0, to: 3_000, by: 7) {
            #expect(try rig.findOrCreate([.text("value \(row)"), .null]) == Int64(row + 1))
        }
        #expect(try rig.findOrCreate([.text("value 3000"), .null]) == 3_001)
        try rig.commit()
    }
}

/// A table of objects, a scratch database and a lookup.
private final class Rig {
    let connection: Connection
    private(set) var lookup: ObjectLookup
    /// The highest key in the table.
    var last: Int64 = 0
    private var start: Int64 = 0
    private let columns: [(name: String, affinity: ColumnAffinity)]
    private let bits: Int
    private var opened = 0

    private let nilIsEqual: Bool

    init(types: [String], bits: Int = 8, nilIsEqual: Bool = true) throws {
        (self.bits, self.nilIsEqual) = (bits, nilIsEqual)
        connection = try Connection(path: ":memory:", mode: .create)
        try connection.execute("ATTACH '' AS scratch")
        let columns = types.enumerated().map { "v\($0) \($1)" }
        try connection.execute(
            "CREATE TABLE main.T (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, \(columns.joined(separator: ", ")))")
        try connection.execute("CREATE TEMP TABLE one (n INTEGER PRIMARY KEY, v \(types[0]))")
        try ScratchDatabase.createLookups(["T"], on: connection)
        self.columns = types.enumerated().map { ("v\($0)", .init(declaredType: $1)) }
        lookup = try Self.open(self.columns, 0, bits: bits, nilIsEqual: nilIsEqual, on: connection)
    }

    private static func open(
        _ columns: [(name: String, affinity: ColumnAffinity)], _ id: Int, bits: Int, nilIsEqual: Bool,
        on connection: Connection
    ) throws -> ObjectLookup {
        let lookup = try ObjectLookup(
            "T", of: "main.T", number: 1, columns: columns, nilIsEqual: nilIsEqual,
            key: ScratchDatabase.key(ofLookup: "T", on: connection), id: id, known: ObjectHashTable(bits: bits),
            on: connection)
        try connection.register("find", arguments: columns.count, deterministic: false) {
            [unowned lookup] arguments, result in
            if let key = try lookup.find(arguments, from: 0) { result.set(key) }
        }
        return lookup
    }

    func openAnew() throws {
        opened += 1
        lookup = try Self.open(columns, opened, bits: bits, nilIsEqual: nilIsEqual, on: connection)
    }

    func find(_ values: [Value]) throws -> Int64? { try connection.integer("SELECT find(?1, ?2)", values) }

    func findOrCreate(_ values: [Value]) throws -> Int64 {
        if let key = try find(values) { return key }
        last += 1
        try lookup.add(last)
        try connection.run("INSERT INTO main.T VALUES (?3, 1, ?1, ?2)", values + [.integer(last)])
        return last
    }

    func begin() throws {
        try connection.execute("BEGIN")
        start = last
        try lookup.begin(after: last)
    }

    func commit() throws { try connection.execute("COMMIT") }

    func rollBack() throws {
        try connection.execute("ROLLBACK")
        last = start
    }
}

extension Connection {
    fileprivate func integer(_ sql: String, before: String, _ values: [Value]) throws -> Int64? {
        try run(before, values)
        return try integer(sql)
    }
}
