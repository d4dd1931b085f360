package import FerryBase

/// A function on values: the one implementation behind SQL text and Swift code.
///
/// Equal arguments always give the equal result.
package struct ScalarFunction: Sendable {
    package typealias Arguments = UnsafeBufferPointer<FunctionValue>
    package typealias Body =
        @Sendable (_ arguments: Arguments, _ result: inout FunctionResult) throws(FerryError) -> Void

    /// The name in SQL; begins with `ferry_`.
    package let name: String
    /// What messages call it: the selector or operator that a user wrote.
    package let title: String
    /// How many arguments it takes; -1 for any number.
    package let argumentCount: Int
    private let body: Body

    init(_ name: String, title: String, arguments: Int, body: @escaping Body) {
        self.name = name
        self.title = title
        argumentCount = arguments
        self.body = body
    }

    /// Evaluates the function; the result's buffer is used again.
    ///
    /// - Throws: ``FerryError`` `.rowFailed` naming the function, never a value.
    package func call(_ arguments: Arguments, result: inout FunctionResult) throws(FerryError) {
        precondition(argumentCount < 0 || arguments.count == argumentCount, "\(name) takes \(argumentCount) arguments")
        result.setNull()
        try body(arguments, &result)
    }

    /// Evaluates a function of one argument.
    func call(_ argument: FunctionValue, result: inout FunctionResult) throws(FerryError) {
        try withUnsafePointer(to: argument) { pointer throws(FerryError) in
            try call(UnsafeBufferPointer(start: pointer, count: 1), result: &result)
        }
    }

    /// Every function, in no particular order.
    package static let all: [ScalarFunction] =
        arithmetic + powers + roundings + bitwise + text + comparison + matching + conversions + fitted + programs
        + lists
        + methods + searches + dates + encodings + sets + draws + propertyLists

    func takes(_ count: Int) -> Bool { argumentCount < 0 ? count <= 127 : argumentCount == count }

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

    /// The argument as a number, or nil when it is null.
    func number(_ title: String) throws(FerryError) -> Number? {
        switch self {
        case .null: return nil
        case .integer(let integer): return .integer(integer)
        case .real(let real): return .real(real)
        case .text, .blob: throw .row(title, "needs a number and was given \(kind)")
        }
    }

    /// The bytes of a text argument, or nil when it is null.
    func text(_ title: String) throws(FerryError) -> UnsafeRawBufferPointer? {
        switch self {
        case .null: return nil
        case .text(let bytes): return bytes
        case .integer, .real, .blob: throw .row(title, "needs text and was given \(kind)")
        }
    }

    /// The bytes of an argument that is text or data, or nil when it is null.
    func content(_ title: String, _ wanted: String) throws(FerryError) -> UnsafeRawBufferPointer? {
        switch self {
        case .null: return nil
        case .text(let bytes), .blob(let bytes): return bytes
        case .integer, .real: throw .row(title, "needs \(wanted) and was given a number")
        }
    }

    /// A text argument as a string, or nil when it is null.
    func string(_ title: String) throws(FerryError) -> String? {
        guard let bytes = try text(title) else { return nil }
        guard let string = String(utf8: bytes) else {
            throw .row(title, "was given text that is no valid UTF-8")
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
    /// A value that a function cannot take; never says which value.
    static func row(_ title: String, _ problem: String) -> FerryError {
        FerryError(
            .rowFailed, "\(title) \(problem).",
            remedy: "Correct the object in the source, or leave it out with a `where` in the mapping.")
    }
}

/// One argument of a scalar function, borrowed for the length of the call.
package typealias FunctionValue = BorrowedValue

/// What a scalar function gives back, and what it keeps from call to call.
///
/// One value serves many calls, so that a call allocates nothing once the buffer has grown. It belongs to one thread.
package struct FunctionResult {
    package enum Value {
        case null
        case integer(Int64)
        /// Never NaN: a result that is no number is ``null``, as SQLite stores it.
        case real(Double)
        /// The UTF-8 text in ``FunctionResult/bytes``.
        case text
        /// The bytes in ``FunctionResult/bytes``.
        case blob
        /// A piece of one of the arguments' text, valid as long as they are.
        case borrowedText(UnsafeRawBufferPointer)
        /// The argument of that index, unchanged.
        case argument(Int)
    }

    package private(set) var value: Value = .null
    /// Where owned text and blobs are; kept from call to call.
    package private(set) var bytes: [UInt8] = []
    /// Compiled regular expressions of earlier calls.
    var patterns = PatternCache()
    /// Programs of earlier calls, made ready.
    var programs = ProgramCache()
    /// Date patterns of earlier calls.
    var formatters = FormatterCache()

    package init() {}

    mutating func setNull() { value = .null }

    mutating func set(_ integer: Int64) { value = .integer(integer) }

    mutating func set(_ flag: Bool) { value = .integer(flag ? 1 : 0) }

    mutating func set(_ real: Double) { value = real.isNaN ? .null : .real(real) }

    mutating func set(text: some Sequence<UInt8>) { setText { $0.append(contentsOf: text) } }

    /// Sets text of ASCII with its letters in one case.
    mutating func set(ascii text: UnsafeRawBufferPointer, in letterCase: ASCII.LetterCase) {
        set(text: text)
        bytes.withUnsafeMutableBytes { ASCII.bring($0, into: letterCase) }
    }

    mutating func set(blob: some Sequence<UInt8>) {
        set(text: blob)
        value = .blob
    }

    /// Sets a copy of a value.
    mutating func set(_ copied: FunctionValue) {
        switch copied {
        case .null: setNull()
        case .integer(let integer): set(integer)
        case .real(let real): set(real)
        case .text(let bytes): set(text: bytes)
        case .blob(let bytes): set(blob: bytes)
        }
    }

    /// Lets `body` append the result's text to the emptied buffer.
    mutating func setText(_ body: (inout [UInt8]) -> Void) {
        bytes.removeAll(keepingCapacity: true)
        body(&bytes)
        value = .text
    }

    mutating func set(borrowedText: UnsafeRawBufferPointer) { value = .borrowedText(borrowedText) }

    mutating func set(argument index: Int) { value = .argument(index) }
}

/// What a statement has made ready last, by what it was made of; a statement has a handful of such things, and what comes
/// from rows pushes the oldest out.
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
