import FerrySQLite
import FerryVerify
import TestSupport
import Testing

/// The values that verification expects in a column, compared with the values that SQLite stores in a real column.
@Suite("Columns' conversions")
struct ColumnConversionTests {
    /// Core Data's types, and types that an app may have declared.
    static let types = ["INTEGER", "FLOAT", "VARCHAR", "DECIMAL", "TIMESTAMP", "BLOB", "", "DOUBLE", "TEXT", "BOOL"]

    private static let edges: [Value] =
        numbers.map { Value.real($0) } + integers.map { Value.integer($0) } + texts.map { Value.text($0) }
        + [.null, .blob([]), .blob(Array("12".utf8))]

    // Each list has a type of its own: together they take the compiler seconds.
    private static let numbers: [Double] =
        [
            0, -0.0, .nan, .infinity, -.infinity, 0x1p63, -0x1p63, 0x1p63 - 1024, -0x1p63 - 2048, 0x1p53, 0x1p53 + 2,
            0.5,
            .leastNonzeroMagnitude, -.leastNonzeroMagnitude, .greatestFiniteMagnitude, 1e15, 1e16, 123456789012345.6,
        ]
    private static let integers: [Int64] =
        [0, -1, .max, .min, .max - 1, .min + 1, 1 << 53 + 1, (1 << 53) + 1]
    private static let texts: [String] =
        [
            "", " ", "12", "-0", "-0.0", "0x10", "1e3", "12.5", " 12 ", "\t12\n", "9223372036854775807",
            "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "9007199254740993", "1.0", "nan",
            "inf", "1e", "1e+", ".5", "5.", ".", "+", "-", "+7", "--7", "1 2", "1_000", "1e999", "1e-999", "12a", "٣",
            "\u{a0}1", "1\u{0}",
        ]

    private static func random(_ generator: inout SplitMix) -> Value {
        let bits = generator.next()
        switch generator.next() % 8 {
        case 0: return .real(Double(bitPattern: bits))
        case 1: return .real(Double(Int64(bitPattern: bits) >> Int64(bits & 63)))
        case 2: return .integer(Int64(bitPattern: bits))
        case 3: return .integer(Int64(bitPattern: bits) >> Int64(bits & 63))
        case 4: return .text(String(Int64(bitPattern: bits)))
        case 5: return .text(String(Double(bitPattern: bits)))
        case 6: return .text(String(Double(Int64(bitPattern: bits) >> 20) / 1000))
        default:
            // Random strings of the characters of numbers.
            let letters = Array("0123456789+-.eE  \t")
            return .text(
                String((0..<generator.next() % 9).map { _ in letters[Int(generator.next() % UInt64(letters.count))] }))
        }
    }

    private static func isEqual(_ row: Statement, _ column: Int, to value: PlainValue) -> Bool {
        switch (value, row.storageClass(column)) {
        case (.null, .null): true
        case (.integer(let integer), .integer): row.integer(column) == integer
        case (.real(let real), .real): row.real(column).bitPattern == real.bitPattern
        case (.text(let bytes), .text), (.blob(let bytes), .blob): row.blob(column) == bytes
        default: false
        }
    }

    @Test("Are SQLite's, for every declared type and any value", arguments: types)
    func areSQLites(type: String) throws {
        let connection = try Connection(path: ":memory:", mode: .create)
        try connection.execute("CREATE TABLE t (v \(type))")
        let insert = try connection.prepare("INSERT INTO t VALUES (?)")
        let read = try connection.prepare("SELECT typeof(v), quote(v), v FROM t")
        let conversion = try ColumnConversion(on: connection)
        let affinity = ColumnAffinity(declaredType: type)
        var generator = SplitMix(seed: 20_261_122)
        for value in Self.edges + (0..<2_000).map({ _ in Self.random(&generator) }) {
            try connection.execute("DELETE FROM t")
            try insert.bind([value])
            try insert.run()
            #expect(try read.step())
            let expected = try conversion.stored(PlainValue(value), by: affinity)
            #expect(
                Self.isEqual(read, 2, to: expected),
                "\(value) in \(type): \(read.text(0)) \(read.text(1)), expected \(expected)")
            read.reset()
        }
    }
}

extension PlainValue {
    fileprivate init(_ value: Value) {
        switch value {
        case .null: self = .null
        case .integer(let integer): self = .integer(integer)
        case .real(let real): self = .real(real)
        case .text(let text): self = .string(text)
        case .blob(let bytes): self = .blob(bytes)
        }
    }
}
