internal import FerryEngine
internal import FerrySQLite
internal import Testing

@Suite("What find-or-create remembers")
struct KnownObjectsTests {
    private let connection: Connection

    init() throws {
        connection = try Connection(path: ":memory:", mode: .create)
        try KnownObjects(bytes: 3 << 19).register(find: "find", keep: "keep", values: 2, on: connection)
    }

    @Test("Values are equal only when their types and bytes are")
    func equality() throws {
        let values: [Value] = [
            .null, .integer(1), .real(1), .text("1"), .blob([0x31]), .text(""), .blob([]), .integer(0), .real(-0.0),
            .text("é"), .text("e\u{301}"), .text("a\u{0}b"), .text("a"),
        ]
        for (key, value) in values.enumerated() {
            #expect(try find(value, .null) == nil, "\(value) is taken for one before it")
            try keep(Int64(key), value, .null)
        }
        for (key, value) in values.enumerated() { #expect(try find(value, .null) == Int64(key)) }
        #expect(try find(.text("1"), .text("1")) == nil)
    }

    @Test("Neighbouring texts do not run into each other")
    func borders() throws {
        try keep(1, .text("ab"), .text("c"))
        #expect(try find(.text("a"), .text("bc")) == nil)
        #expect(try find(.text("ab"), .text("c")) == 1)
    }

    @Test("The first key stays")
    func first() throws {
        try keep(1, .text("a"), .null)
        try keep(2, .text("a"), .null)
        #expect(try find(.text("a"), .null) == 1)
    }

    @Test("What is too long is not remembered, and not confused")
    func long() throws {
        let long = String(repeating: "x", count: 5_000)
        try keep(1, .text(long), .null)
        #expect(try find(.text(long), .null) == nil)
        #expect(try find(.text(long + "y"), .null) == nil)
    }

    @Test("More values than fit make it forget, never answer wrongly", arguments: [8, 200])
    func overflow(length: Int) throws {
        let rows = 60_000
        let padding = String(repeating: "p", count: length)
        _ = try connection.rows(
            """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
            SELECT count(keep(i, i || '\(padding)', NULL)) FROM n
            """)
        let answers = try connection.rows(
            """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
            SELECT count(*), sum(k <> i) FROM (SELECT i, find(i || '\(padding)', NULL) AS k FROM n) WHERE k IS NOT NULL
            """)
        let (known, wrong) = (answers[0][0].integer ?? 0, answers[0][1].integer ?? -1)
        #expect(wrong == 0)
        #expect(known > 0 && known < Int64(rows))
        #expect(try find(.text("\(rows)\(padding)"), .null) == Int64(rows))
    }

    private func find(_ first: Value, _ second: Value) throws -> Int64? {
        try connection.rows("SELECT find(?1, ?2)", [first, second])[0][0].integer
    }

    private func keep(_ key: Int64, _ first: Value, _ second: Value) throws {
        _ = try connection.rows("SELECT keep(?1, ?2, ?3)", [.integer(key), first, second])
    }
}
