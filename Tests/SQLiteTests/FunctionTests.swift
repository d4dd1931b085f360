import FerryBase
import FerrySQLite
import TestSupport
import Testing

private struct Refusal: Error, Equatable { var reason: String }

/// Yields the numbers from 1 to its argument, with a text and a NULL beside them.
private final class Counting: TableCursor {
    private var limit: Int64 = 0
    private var current: Int64 = 0

    func start(_ arguments: borrowing FunctionArguments) throws {
        if arguments.integer(0) < 0 { throw Refusal(reason: "negative") }
        limit = arguments.integer(0)
        current = 0
    }

    func next() throws -> Bool {
        if current == 13 { throw Refusal(reason: "thirteen") }
        current += 1
        return current <= limit
    }

    func column(_ index: Int, _ result: inout FunctionResult) throws {
        switch index {
        case 0: result.set(current)
        case 1: Array("number \(current)".utf8).withUnsafeBytes { result.setText($0) }
        default: result.setNull()
        }
    }
}

@Suite("Functions on a connection")
struct FunctionTests {
    let connection: Connection

    init() throws { connection = try Connection(path: ":memory:", mode: .create) }

    @Test(
        "Every kind of value passes through a function unchanged",
        arguments: [
            Value.null, .integer(.min), .integer(.max), .real(-0.0), .real(.leastNonzeroMagnitude), .real(.infinity),
            .text(""),
            .text("a\0b"), .text("ü𝄞"), .blob([]), .blob([0, 255]),
        ])
    func values(value: Value) throws {
        try connection.register("same", arguments: 1, deterministic: true) { arguments, result in
            result.pass(argument: 0, of: arguments)
        }
        try connection.register("rebuilt", arguments: -1, deterministic: true) { arguments, result in
            #expect(arguments.count == 1)
            switch arguments.storageClass(0) {
            case .null: result.setNull()
            case .integer: result.set(arguments.integer(0))
            case .real: result.set(arguments.real(0))
            case .text: arguments.withBytes(0) { result.setText($0) }
            case .blob: arguments.withBytes(0) { result.setBlob($0) }
            }
        }
        for function in ["same", "rebuilt"] {
            let statement = try connection.prepare("SELECT \(function)(?1), typeof(\(function)(?1)) = typeof(?1)")
            try statement.bind([value])
            #expect(try statement.step())
            #expect(statement.value(0) == value && statement.integer(1) == 1)
        }
    }

    @Test("Arguments are read borrowed, in any type")
    func borrowing() throws {
        try connection.register("size", arguments: 2, deterministic: true) { arguments, result in
            #expect(arguments.storageClass(0) == .text && arguments.storageClass(1) == .blob)
            let sum = arguments.withBytes(0) { $0.count } + arguments.withBytes(1) { $0.count }
            result.set(Int64(sum))
        }
        #expect(try connection.integer("SELECT size('äb', x'0011')") == 5)
        try connection.register("half", arguments: 1, deterministic: true) { arguments, result in
            if !arguments.isNull(0) { result.set(arguments.real(0) / 2) }
        }
        #expect(try connection.value("SELECT half('3')") == .real(1.5))
        #expect(try connection.value("SELECT half(NULL)") == .null)
        #expect(try connection.value("SELECT half(9e999 - 9e999)") == .null)
    }

    @Test("A function's error ends the statement and can be taken once")
    func errors() throws {
        try connection.register("refuse", arguments: 1, deterministic: false) { arguments, _ in
            throw Refusal(reason: arguments.withBytes(0) { String(decoding: $0, as: UTF8.self) })
        }
        #expect {
            try connection.value("SELECT refuse('secret')")
        } throws: {
            "\($0)".contains("refuse failed") && !"\(($0 as? DatabaseError)?.message ?? "")".contains("secret")
        }
        #expect(connection.takeFunctionError() as? Refusal == Refusal(reason: "secret"))
        #expect(connection.takeFunctionError() == nil)
        #expect(throws: DatabaseError.self) { try connection.value("SELECT refuse()") }
        #expect(connection.takeFunctionError() == nil)
    }

    @Test("No schema can call a function that is for statements only")
    func access() throws {
        for (name, isOpen) in [("direct", false), ("open", true)] {
            try connection.register(name, arguments: 0, deterministic: true, isForSchema: isOpen) { _, result in
                result.set(7 as Int64)
            }
            try connection.execute("CREATE VIEW v_\(name) AS SELECT \(name)() AS x")
        }
        #expect(try connection.integer("SELECT x FROM v_open") == 7)
        #expect(throws: DatabaseError.self) { try connection.integer("SELECT x FROM v_direct") }
    }

    @Test("A second registration of a function replaces the first")
    func replacing() throws {
        for number in 1...3 as ClosedRange<Int64> {
            try connection.register("f", arguments: 0, deterministic: true) { _, result in result.set(number) }
            #expect(try connection.integer("SELECT f()") == number)
        }
    }

    @Test("A table-valued function streams its rows, also inside a join")
    func tables() throws {
        try connection.register(table: "counting", columns: ["n", "name", "gap"], argumentCount: 1) { Counting() }
        #expect(
            try connection.rows("SELECT n, name, gap FROM counting(2)") == [
                [.integer(1), .text("number 1"), .null], [.integer(2), .text("number 2"), .null],
            ])
        try connection.execute(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, x); INSERT INTO t(x) VALUES (2), (0), (NULL), (1)")
        #expect(
            try connection.rows("SELECT t.id, c.n FROM t, counting(t.x) AS c ORDER BY t.id") == [
                [.integer(1), .integer(1)], [.integer(1), .integer(2)], [.integer(4), .integer(1)],
            ])
        #expect(try connection.integer("SELECT count(*) FROM counting(10) WHERE n % 2 = 0") == 5)
        // A million stored rows would show in memory; streamed, they only take a moment.
        #expect(try connection.integer("SELECT max(n) FROM counting(12)") == 12)
    }

    @Test("A table-valued function needs all its arguments and passes its errors on", arguments: ["-1", "20"])
    func tableErrors(argument: String) throws {
        try connection.register(table: "counting", columns: ["n", "name", "gap"], argumentCount: 1) { Counting() }
        #expect(throws: DatabaseError.self) { try connection.rows("SELECT * FROM counting") }
        #expect(connection.takeFunctionError() == nil)
        #expect(throws: DatabaseError.self) { try connection.rows("SELECT * FROM counting(\(argument))") }
        #expect(
            connection.takeFunctionError() as? Refusal == Refusal(reason: argument == "-1" ? "negative" : "thirteen"))
        #expect(throws: DatabaseError.self) {
            try connection.execute("CREATE VIEW v AS SELECT n FROM counting(3); SELECT n FROM v")
        }
    }

    @Test("Settings of a connection: limits, pragmas, attached databases")
    func settings() throws {
        let before = connection.limit(.length)
        #expect(connection.limit(.length, 1000) == before)
        #expect { try connection.value("SELECT zeroblob(2000)") } throws: { ($0 as? DatabaseError)?.isTooBig == true }
        try connection.setPragma("user_version", to: 7)
        #expect(try connection.pragma("user_version")?.integer == 7)
        let folder = try TemporaryFolder()
        let path = folder.file("it's? 100%#.sqlite")
        do {
            let made = try Connection(path: path, mode: .create)
            try made.execute("CREATE TABLE t(x); INSERT INTO t VALUES (1)")
        }
        #expect(try FileLayer().exists(path))
        try connection.attach(path: path, as: "o\"ther", mode: .readOnly)
        #expect(try connection.integer("SELECT x FROM \"o\"\"ther\".t") == 1)
        #expect(throws: DatabaseError.self) { try connection.execute("DELETE FROM \"o\"\"ther\".t") }
        try connection.execute("DETACH \(Connection.quoted("o\"ther"))")
        // The same path with two leading slashes, the first part of which a URI would read as a host.
        #expect(try Connection(path: "/" + path, mode: .immutable).integer("SELECT x FROM t") == 1)
    }
}
