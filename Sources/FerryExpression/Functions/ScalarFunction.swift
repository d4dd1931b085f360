package import FerryBase

/// A function on values, the only implementation for SQL and for Swift; equal arguments give equal results.
package struct ScalarFunction: Sendable {
    package typealias Arguments = UnsafeBufferPointer<FunctionValue>
    package typealias Body =
        @Sendable (_ arguments: Arguments, _ result: inout FunctionResult) throws(FerryError) -> Void

    /// The name in SQL; begins with `ferry_`.
    package let name: String
    /// The name in messages: the selector or operator in the user's expression.
    package let title: String
    /// The number of arguments; -1 for any number.
    package let argumentCount: Int
    private let body: Body

    init(_ name: String, title: String, arguments: Int, body: @escaping Body) {
        self.name = name
        self.title = title
        argumentCount = arguments
        self.body = body
    }

    /// Evaluates the function; the call reuses the result's buffer.
    ///
    /// - Throws: ``FerryError`` `.rowFailed` with the function, never with a value.
    package func call(_ arguments: Arguments, result: inout FunctionResult) throws(FerryError) {
        precondition(argumentCount < 0 || arguments.count == argumentCount, "\(name) takes \(argumentCount) arguments")
        result.setNull()
        try body(arguments, &result)
    }

    package static let all: [ScalarFunction] =
        arithmetic + powers + roundings + bitwise + text + comparison + matching + conversions + lists + methods
        + searches + dates + encodings + sets + draws + propertyLists

    /// The functions that take every value of the types that their translation checks; damaged text aside.
    static let takingAll = Set(
        text.map(\.name) + comparison.map(\.name) + [
            "ferry_uuid_to_string", "ferry_since_1970", fromExternalName, toExternalName, "ferry_hex", "ferry_base64",
            "ferry_data_from_text", "ferry_uuid_from_name", "ferry_join",
        ])

    package static func named(_ name: String) -> ScalarFunction? { byName[name] }

    private static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })
}

extension FunctionValue {
    enum Number {
        case integer(Int64)
        case real(Double)

        var real: Double {
            switch self {
            case .integer(let integer): Double(integer)
            case .real(let real): real
            }
        }
    }

    var isNull: Bool { if case .null = self { true } else { false } }

    func number(_ title: String) throws(FerryError) -> Number? {
        switch self {
        case .null: return nil
        case .integer(let integer): return .integer(integer)
        case .real(let real): return .real(real)
        case .text, .blob: throw .row(title, "expected a number, found \(kind)")
        }
    }

    func text(_ title: String) throws(FerryError) -> UnsafeRawBufferPointer? {
        switch self {
        case .null: return nil
        case .text(let bytes): return bytes
        case .integer, .real, .blob: throw .row(title, "expected text, found \(kind)")
        }
    }

    func content(_ title: String, _ wanted: String) throws(FerryError) -> UnsafeRawBufferPointer? {
        switch self {
        case .null: return nil
        case .text(let bytes), .blob(let bytes): return bytes
        case .integer, .real: throw .row(title, "expected \(wanted), found a number")
        }
    }

    func string(_ title: String) throws(FerryError) -> String? {
        guard let bytes = try text(title) else { return nil }
        guard let string = String(utf8: bytes) else {
            throw .row(title, "the text is not valid UTF-8")
        }
        return string
    }

    var kind: String {
        switch self {
        case .null: "nil"
        case .integer: "an integer"
        case .real: "a floating-point number"
        case .text: "text"
        case .blob: "binary data"
        }
    }
}

extension FerryError {
    /// Returns the error of an argument that a function does not accept; never contains the value.
    static func row(_ title: String, _ problem: String) -> FerryError {
        FerryError(
            .rowFailed, "\(title) failed: \(problem).",
            remedy: "Correct the object in the source store, or leave it out with a `where` in the mapping.")
    }
}

/// One argument of a scalar function, borrowed during the call.
package typealias FunctionValue = BorrowedValue

/// The result of a scalar function, with the buffers and caches that calls reuse.
///
/// One value serves many calls, so a call allocates nothing once the buffer has grown. A value belongs to one thread.
package struct FunctionResult {
    package enum Value {
        case null
        case integer(Int64)
        /// Never NaN: NaN becomes ``null``, as in SQLite.
        case real(Double)
        /// The UTF-8 text in ``FunctionResult/bytes``.
        case text
        /// The bytes in ``FunctionResult/bytes``.
        case blob
        /// A part of an argument's text, valid as long as the arguments.
        case borrowedText(UnsafeRawBufferPointer)
        /// The argument at this index, unchanged.
        case argument(Int)
    }

    package private(set) var value: Value = .null
    /// The bytes of owned text and BLOBs; calls reuse the memory.
    package private(set) var bytes: [UInt8] = []
    var patterns = PatternCache()
    var formatters = FormatterCache()

    package init() {}

    mutating func setNull() { value = .null }

    /// Frees the memory of a large value, which the caller has copied; later calls seldom need as much.
    package mutating func releaseLargeBuffer() {
        guard bytes.capacity > Self.largestKept else { return }
        bytes = []
        value = .null
    }

    private static let largestKept = 1 << 16

    mutating func set(_ integer: Int64) { value = .integer(integer) }

    mutating func set(_ flag: Bool) { value = .integer(flag ? 1 : 0) }

    mutating func set(_ real: Double) { value = real.isNaN ? .null : .real(real) }

    mutating func set(text: some Sequence<UInt8>) { setText { $0.append(contentsOf: text) } }

    /// Sets one text after another, in memory of exactly their size.
    mutating func set(texts: [UnsafeRawBufferPointer]) {
        setText { bytes in
            bytes.reserveCapacity(texts.reduce(0) { $0 + $1.count })
            for text in texts { bytes.append(contentsOf: text) }
        }
    }

    mutating func set(ascii text: UnsafeRawBufferPointer, in letterCase: ASCII.LetterCase) {
        set(text: text)
        bytes.withUnsafeMutableBytes { ASCII.bring($0, into: letterCase) }
    }

    /// Sets the text in another case; false, with a part of it changed, if a result has another length than its character.
    mutating func set(text: UnsafeRawBufferPointer, in letters: CaseInPlace) -> Bool {
        set(text: text)
        return bytes.withUnsafeMutableBytes { letters.bring($0) }
    }

    mutating func set(blob: some Sequence<UInt8>) {
        set(text: blob)
        value = .blob
    }

    mutating func set(_ copied: FunctionValue) {
        switch copied {
        case .null: setNull()
        case .integer(let integer): set(integer)
        case .real(let real): set(real)
        case .text(let bytes): set(text: bytes)
        case .blob(let bytes): set(blob: bytes)
        }
    }

    /// Sets the text that `body` appends to the empty buffer.
    mutating func setText(_ body: (inout [UInt8]) -> Void) {
        bytes.removeAll(keepingCapacity: true)
        body(&bytes)
        value = .text
    }

    mutating func set(borrowedText: UnsafeRawBufferPointer) { value = .borrowedText(borrowedText) }

    mutating func set(argument index: Int) { value = .argument(index) }
}

/// A cache of a statement's latest values by key; a statement has few, and keys from rows replace the oldest.
struct RecentValues<Key, Value> {
    private static var limit: Int { 16 }

    private var entries: [(key: Key, value: Value)] = []
    private var oldest = 0

    func first(where isWanted: (Key) -> Bool) -> Value? { entries.first { isWanted($0.key) }?.value }

    mutating func keep(_ value: Value, for key: Key) -> Value {
        if entries.count < Self.limit {
            entries.append((key, value))
        } else {
            entries[oldest] = (key, value)
            oldest = (oldest + 1) % Self.limit
        }
        return value
    }
}
