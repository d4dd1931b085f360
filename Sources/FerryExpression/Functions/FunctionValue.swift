package import FerryBase

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

    mutating func set(text: some Sequence<UInt8>) {
        bytes.removeAll(keepingCapacity: true)
        bytes.append(contentsOf: text)
        value = .text
    }

    /// Sets text of ASCII with its letters in one case.
    mutating func set(ascii text: UnsafeRawBufferPointer, in letterCase: ASCII.LetterCase) {
        set(text: text)
        bytes.withUnsafeMutableBytes { ASCII.bring($0, into: letterCase) }
    }

    mutating func set(blob: some Sequence<UInt8>) {
        bytes.removeAll(keepingCapacity: true)
        bytes.append(contentsOf: blob)
        value = .blob
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
