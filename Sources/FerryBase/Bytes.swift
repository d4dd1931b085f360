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

/// A check for valid UTF-8 that takes the bytes in pieces of any size.
package struct UTF8Check: Sendable {
    /// The number of bytes that the current character still needs, and the valid values of its next byte.
    private var pending = 0
    private var allowed: ClosedRange<UInt8> = 0x80...0xBF

    package init() {}

    /// Checks the next bytes; false if they are not UTF-8, and later results then mean nothing.
    package mutating func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var place = 0
        while place < bytes.count {
            // Eight ASCII characters at a time.
            if pending == 0, place + 8 <= bytes.count,
                bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
            {
                place += 8
                continue
            }
            guard takes(bytes[place]) else { return false }
            place += 1
        }
        return true
    }

    /// Whether the bytes so far end between two characters.
    package var isAtBoundary: Bool { pending == 0 }

    /// Follows the table of well-formed byte sequences of the Unicode standard.
    private mutating func takes(_ byte: UInt8) -> Bool {
        if pending > 0 {
            guard allowed.contains(byte) else { return false }
            pending -= 1
            allowed = 0x80...0xBF
            return true
        }
        switch byte {
        case 0x00...0x7F: return true
        case 0xC2...0xDF: pending = 1
        case 0xE0: (pending, allowed) = (2, 0xA0...0xBF)
        case 0xED: (pending, allowed) = (2, 0x80...0x9F)
        case 0xE1...0xEF: pending = 2
        case 0xF0: (pending, allowed) = (3, 0x90...0xBF)
        case 0xF1...0xF3: pending = 3
        case 0xF4: (pending, allowed) = (3, 0x80...0x8F)
        default: return false
        }
        return true
    }
}

// `String(validating:as:)` of the standard library needs the systems of 2024 on Apple's platforms.
//
// A decoder replaces invalid bytes with U+FFFD, so the text's bytes equal the input only if the input is valid.
extension String {
    /// Nil if the bytes are not valid UTF-8.
    package init?(utf8 bytes: some Collection<UInt8>) {
        let text = String(decoding: bytes, as: UTF8.self)
        guard text.utf8.count == bytes.count, text.utf8.elementsEqual(bytes) else { return nil }
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

    /// Nil if the bytes are not valid UTF-8.
    package init?(utf8 bytes: [UInt8]) {
        let text = bytes.withUnsafeBytes { String(utf8: $0) }
        guard let text else { return nil }
        self = text
    }

    /// Nil if the units are not valid UTF-16.
    package init?(utf16 units: some Collection<UInt16>) {
        let text = String(decoding: units, as: UTF16.self)
        guard text.utf16.elementsEqual(units) else { return nil }
        self = text
    }
}
