/// Bytes with checked access by position.
///
/// Positions and counts come from untrusted files, so each is checked without arithmetic that can overflow.
package struct ByteReader: Sendable {
    package let bytes: [UInt8]

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    package func holds(_ count: Int, at offset: Int) -> Bool {
        offset >= 0 && count >= 0 && offset <= bytes.count && count <= bytes.count - offset
    }

    package func byte(at offset: Int) -> UInt8? { holds(1, at: offset) ? bytes[offset] : nil }

    /// A big-endian unsigned number of 1 to 8 bytes, or nil outside the bounds.
    package func bigEndian(at offset: Int, width: Int) -> UInt64? {
        precondition((1...8).contains(width), "A number has 1 to 8 bytes.")
        guard holds(width, at: offset) else { return nil }
        var number: UInt64 = 0
        for position in offset..<offset + width { number = number << 8 | UInt64(bytes[position]) }
        return number
    }

    /// The `count` bytes at `offset`, or nil outside the bounds.
    package func slice(at offset: Int, count: Int) -> ArraySlice<UInt8>? {
        holds(count, at: offset) ? bytes[offset..<offset + count] : nil
    }
}

/// A borrowed value: an argument of a function or a cell of a row.
package enum BorrowedValue {
    case null
    case integer(Int64)
    case real(Double)
    /// UTF-8, not terminated; may hold NUL.
    case text(UnsafeRawBufferPointer)
    case blob(UnsafeRawBufferPointer)
}

// `String(validating:as:)` of the standard library needs the systems of 2024 on Apple's platforms.
//
extension Collection<UInt8> where Self: BidirectionalCollection {
    /// The end of the UTF-8 characters that no further bytes can complete.
    package var endOfWholeCharacters: Index { suffix(3).lastIndex { $0 >= 0xC0 } ?? endIndex }
}

// A decoder replaces invalid bytes with U+FFFD, so the text's bytes equal the input only if the input is valid.
extension String {
    /// Nil if the bytes are not valid UTF-8.
    package init?(utf8 bytes: some Collection<UInt8>) {
        let text = bytes.withContiguousStorageIfAvailable { String(utf8: UnsafeRawBufferPointer($0)) }
        guard let text = text ?? Array(bytes).withUnsafeBytes({ String(utf8: $0) }) else { return nil }
        self = text
    }

    /// Nil if the bytes are not valid UTF-8.
    package init?(utf8 bytes: UnsafeRawBufferPointer) {
        var text = String(decoding: bytes, as: UTF8.self)
        let isSame = text.withUTF8 { own in
            own.count == bytes.count && UnsafeRawBufferPointer(own).elementsEqual(bytes)
        }
        guard isSame else { return nil }
        self = text
    }

    /// Nil if the units are not valid UTF-16.
    package init?(utf16 units: some Collection<UInt16>) {
        let text = String(decoding: units, as: UTF16.self)
        guard text.utf16.elementsEqual(units) else { return nil }
        self = text
    }
}
