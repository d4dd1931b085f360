/// Bytes that are read by position and never outside their bounds.
///
/// Positions and counts come from the file itself, so each is checked here, without arithmetic that can overflow.
package struct ByteReader: Sendable {
    package let bytes: [UInt8]

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Whether `count` bytes can be read at `offset`.
    package func holds(_ count: Int, at offset: Int) -> Bool {
        offset >= 0 && count >= 0 && offset <= bytes.count && count <= bytes.count - offset
    }

    package func byte(at offset: Int) -> UInt8? { holds(1, at: offset) ? bytes[offset] : nil }

    /// A big-endian unsigned number of 1 to 8 bytes, or nil when it would leave the bounds.
    package func bigEndian(at offset: Int, width: Int) -> UInt64? {
        precondition((1...8).contains(width), "A number has 1 to 8 bytes.")
        guard holds(width, at: offset) else { return nil }
        var number: UInt64 = 0
        for position in offset..<offset + width { number = number << 8 | UInt64(bytes[position]) }
        return number
    }

    /// The `count` bytes at `offset`, or nil when they would leave the bounds.
    package func slice(at offset: Int, count: Int) -> ArraySlice<UInt8>? {
        holds(count, at: offset) ? bytes[offset..<offset + count] : nil
    }
}
