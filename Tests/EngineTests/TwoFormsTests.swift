import FerryBase
import FerryEngine
import FerryExpression
import FerryModel
import FerrySQLite
import Foundation
import TestSupport
import Testing

/// SQL and Swift run the same computation: for any values both give the same type and bytes, or both fail.
@Suite("The two forms of a computation")
struct TwoFormsTests {
    /// The number of values for each function and operator; about 10⁴ in all, 10⁶ in a sweep.
    static let rounds = Sweep.isFull ? 20_000 : 200

    static let functions = ScalarFunction.all.map(\.name).sorted()

    @Test("A function gives the same from SQL and from Swift", arguments: functions)
    func function(_ name: String) throws {
        let known = try #require(ScalarFunction.named(name))
        var random = SmallRandom(name)
        let counts = known.argumentCount < 0 ? [1, 2, 3] : [known.argumentCount]
        for count in counts {
            let forms = try Forms(.call(name, (0..<count).map(Forms.place)), places: count)
            for _ in 0..<(Self.rounds / counts.count) {
                try forms.compare((0..<count).map { random.value(for: name, argument: $0) })
            }
        }
    }

    static let computed = ["add", "subtract", "multiply", "divide", "length"]
    static let conversions = ["integer16", "integer32", "decimal", "float"]

    @Test(
        "A computed number is converted to an attribute's type equally by SQL and by Swift", arguments: computed,
        conversions)
    func fitted(_ inner: String, _ outer: String) throws {
        let known = try #require(ScalarFunction.named("ferry_\(inner)"))
        var random = SmallRandom(inner + outer)
        let count = known.argumentCount
        let forms = try Forms(
            .call("ferry_to_\(outer)", [.call(known.name, (0..<count).map(Forms.place))]), places: count)
        for _ in 0..<(Self.rounds / 4) {
            try forms.compare((0..<count).map { _ in random.value(inner == "length" ? .text : .number) })
        }
    }

    static let operators: [(String, Computation, Int, SmallRandom.Kind)] = [
        ("+", .operation(.plus, [Forms.place(0), Forms.place(1)]), 2, .real),
        ("-", .operation(.minus, [Forms.place(0), Forms.place(1)]), 2, .real),
        ("*", .operation(.times, [Forms.place(0), Forms.place(1)]), 2, .real),
        ("ifnull", .operation(.ifNull, [Forms.place(0), Forms.place(1)]), 2, .any),
        ("equal", .operation(.same, [Forms.place(0), Forms.place(1)]), 2, .any),
        ("equal numbers", .operation(.same, [Forms.place(0), Forms.place(1)]), 2, .number),
        ("equal texts", .operation(.same, [Forms.place(0), Forms.place(1)]), 2, .text),
        ("nil", .operation(.isNull, [Forms.place(0)]), 1, .any),
        ("not nil", .operation(.isNotNull, [Forms.place(0)]), 1, .any),
        ("less", .operation(.less, [Forms.place(0), Forms.place(1)]), 2, .number),
        ("less or equal", .operation(.lessOrEqual, [Forms.place(0), Forms.place(1)]), 2, .number),
        (
            "and",
            .all([.operation(.isNotNull, [Forms.place(0)]), .operation(.less, [Forms.place(0), Forms.place(1)])]),
            2, .number
        ),
        (
            "or",
            .any([.operation(.isNull, [Forms.place(0)]), .operation(.same, [Forms.place(0), Forms.place(1)])]),
            2, .number
        ),
        ("not", .not(.operation(.lessOrEqual, [Forms.place(0), Forms.place(1)])), 2, .number),
        ("no conditions", .not(.all([.all([]), .any([])])), 1, .any),
        (
            "nested",
            .call(
                "ferry_to_string",
                [
                    .call(
                        "ferry_add",
                        [
                            .operation(.times, [Forms.place(0), Forms.place(1)]),
                            .parameter(.constant(.integer(3))),
                        ])
                ]), 2, .real
        ),
        (
            "constants",
            .call(
                "ferry_text_equal",
                [
                    .parameter(.constant(.string("ÄÖ"))), Forms.place(0), .parameter(.constant(.string("cd"))),
                ]), 1, .text
        ),
    ]

    @Test("An operator gives the same from SQL and from Swift", arguments: operators.indices)
    func `operator`(_ index: Int) throws {
        let (name, computation, count, kind) = Self.operators[index]
        var random = SmallRandom(name)
        let forms = try Forms(computation, places: count)
        for _ in 0..<Self.rounds { try forms.compare((0..<count).map { _ in random.value(kind) }) }
    }
}

/// One computation, as a statement and as an evaluator.
private final class Forms {
    private let connection: Connection
    private let statement: Statement
    private let evaluator: RowEvaluator
    /// The places of the evaluator's arguments.
    private let arguments: [Int]
    private let computation: Computation

    static func place(_ index: Int) -> Computation {
        .column(
            ResolvedPath(
                start: .source, end: .attribute(Attribute(name: "\(index)", type: .binary), path: ["\(index)"])))
    }

    init(_ computation: Computation, places: Int) throws {
        self.computation = computation
        connection = try Connection(path: ":memory:", mode: .create)
        try FunctionRegistry.register(on: connection)
        let scope = ExpressionScope(model: ManagedObjectModel(versionIdentifiers: [], entities: []), entity: "")
        var translator = SQLTranslator(scope: scope, resolver: Placeholders(places: places))
        let sql = try translator.sql(computation)
        statement = try connection.prepare("SELECT \(sql)")
        for (index, value) in translator.resolver.constants.enumerated() {
            try statement.bind(value, at: places + 1 + index)
        }
        for (name, computation) in translator.resolver.deep {
            try statement.bind(object: RowEvaluator(computation), named: name)
        }
        let bound = BoundComputation(computation)
        evaluator = RowEvaluator(bound)
        arguments = bound.arguments.map(Placeholders.index)
    }

    func compare(_ values: [Value]) throws {
        for (index, value) in values.enumerated() where index < 9 && statement.parameter("?\(index + 1)") != nil {
            try statement.bind(value, at: index + 1)
        }
        var expected: Value?
        do {
            expected = try statement.step() ? statement.value(0) : .null
        } catch {
            expected = nil
        }
        statement.reset()
        let row = ValueRow(values)
        var found: Value?
        do {
            found =
                switch try arguments.map({ row.values[$0] }).withUnsafeBufferPointer({ try evaluator.value(of: $0) }) {
                case .null: .null
                case .integer(let integer): .integer(integer)
                case .real(let real): .real(real)
                case .text(let bytes): .text(String(decoding: bytes, as: UTF8.self))
                case .blob(let bytes): .blob(Array(bytes))
                }
        } catch {
            found = nil
        }
        if !isSame(expected, found) {
            Issue.record(
                "\(computation) of \(values): \(String(describing: expected)) in SQL, \(String(describing: found)) in Swift"
            )
        }
    }

    /// The bits decide: −0.0 and 0.0 are different values here.
    private func isSame(_ left: Value?, _ right: Value?) -> Bool {
        if case .real(let left)? = left, case .real(let right)? = right { return left.bitPattern == right.bitPattern }
        if case .text(let left)? = left, case .text(let right)? = right { return Array(left.utf8) == Array(right.utf8) }
        return left == right
    }
}

private struct Placeholders: PathResolver {
    let places: Int
    var constants: [Value] = []
    /// The parameters of what Swift computes.
    var deep: [(name: String, computation: BoundComputation)] = []

    static func index(_ part: Computation) -> Int {
        guard case .column(let path) = part, case .attribute(let attribute, _) = path.end,
            let index = Int(attribute.name)
        else { return 0 }
        return index
    }

    mutating func column(_ path: ResolvedPath) throws(FerryError) -> String { "?\(Self.index(.column(path)) + 1)" }
    mutating func elementText() throws(FerryError) -> String { "?1" }

    mutating func parameter(_ deep: BoundComputation) -> String {
        constants.append(.null)
        let name = "?\(places + constants.count)"
        self.deep.append((name, deep))
        return name
    }

    mutating func parameter(_ value: SQLParameter) -> String {
        switch value {
        case .now: constants.append(.real(5))
        case .constant(.null): constants.append(.null)
        case .constant(.boolean(let flag)): constants.append(.integer(flag ? 1 : 0))
        case .constant(.integer(let integer)): constants.append(.integer(integer))
        case .constant(.double(let real)): constants.append(.real(real))
        case .constant(.string(let text)): constants.append(.text(text))
        }
        return "?\(places + constants.count)"
    }
}

/// Values in the form of a row.
private final class ValueRow {
    private(set) var values: [FunctionValue] = []
    private var buffers: [UnsafeMutableRawBufferPointer] = []

    init(_ values: [Value]) {
        for value in values {
            switch value {
            case .null: self.values.append(.null)
            case .integer(let integer): self.values.append(.integer(integer))
            // SQLite stores NaN as NULL.
            case .real(let real): self.values.append(real.isNaN ? .null : .real(real))
            case .text(let text): self.values.append(.text(hold(Array(text.utf8))))
            case .blob(let bytes): self.values.append(.blob(hold(bytes)))
            }
        }
    }

    deinit { for buffer in buffers { buffer.deallocate() } }

    private func hold(_ bytes: [UInt8]) -> UnsafeRawBufferPointer {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
        buffer.copyBytes(from: bytes)
        buffers.append(buffer)
        return UnsafeRawBufferPointer(buffer)
    }
}

/// Random values near the edges, the same in every run.
struct SmallRandom {
    enum Kind: Sendable { case any, number, real, text }

    private var state: UInt64

    init(_ seed: String) {
        state = seed.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
    }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var value = state
        value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
        return value ^ (value >> 31)
    }

    mutating func below(_ count: Int) -> Int { Int(next() % UInt64(count)) }

    private static let integers: [Int64] = [
        0, 1, -1, 2, 60, 63, 64, -64, 32767, 32768, -32769, 1 << 31, 1 << 53, (1 << 53) + 1, .max, .min, .max - 1,
    ]
    private static let reals: [Double] = [
        0, -0.0, .nan, 1, -1, 0.5, 2.5, -2.5, 1e300, -1e300, .infinity, -.infinity, .leastNonzeroMagnitude,
        -.leastNonzeroMagnitude, .leastNormalMagnitude, 9_223_372_036_854_775_808, -9_223_372_036_854_775_808,
        9_223_372_036_854_774_784, 9_007_199_254_740_992, 3.4e38, 3.5e38, 1e-46,
    ]
    private static let texts = [
        "", "a", "A", "ab", "ß", "SS", "é", "e\u{301}", "\u{FFFD}", "\u{E000}", "😀", "a😀", "a\0b", "\0", "İ", "ı",
        "0", "1", "-1", "+7", "12", "1.5", "-1.5e3", "1e400", "9223372036854775807", "9223372036854775808", " 1",
        "0x10", "true", "NO", "yes", "0E984725-C51C-4BF4-9960-E1C80E27ABA0", "0e984725-c51c-4bf4-9960-e1c80e27aba0",
        "{\"a\": 1, \"b\": {\"c\": \"x\\u00e9\"}}", "{\"a\": 1.0}", "[1, 2]", "{", "[a-c].*", ".*", "(", "a+",
        "c", "d", "cd", "n",
    ]

    mutating func value(_ kind: Kind) -> Value {
        let choice: Int
        switch kind {
        case .any: choice = below(9)
        case .number: choice = below(5)
        case .real: choice = [0, 3, 4][below(3)]
        case .text: choice = [0, 5, 6][below(3)]
        }
        switch choice {
        case 0: return below(3) == 0 ? .null : value(kind)
        case 1: return .integer(Self.integers[below(Self.integers.count)])
        case 2: return .integer(Int64(bitPattern: next()) >> Int64(below(64)))
        case 3: return .real(Self.reals[below(Self.reals.count)])
        case 4: return .real(Double(bitPattern: next()))
        case 5: return .text(Self.texts[below(Self.texts.count)])
        case 6: return .text(Self.texts[below(Self.texts.count)] + Self.texts[below(Self.texts.count)])
        case 7: return .blob((0..<below(20)).map { _ in UInt8(truncatingIfNeeded: next()) })
        default: return .blob((0..<16).map { _ in UInt8(truncatingIfNeeded: next()) })
        }
    }

    /// Returns mostly a value of the function's argument type, sometimes any value.
    mutating func value(for function: String, argument: Int) -> Value {
        if below(8) == 0 { return value(.any) }
        let takesText = ["text", "matches", "json", "length", "case", "canonical", "uuid"].contains {
            function.contains($0)
        }
        if takesText { return value(.text) }
        return function.contains("_to_") || function.contains("equal") || function.contains("less")
            ? value(.any) : value(.number)
    }
}
