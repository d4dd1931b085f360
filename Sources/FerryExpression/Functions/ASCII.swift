/// Text of plain ASCII, for which nothing of Unicode has to be asked: most text is.
enum ASCII {
    /// Whether all bytes are ASCII; looks at eight at a time.
    static func holds(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var bits: UInt64 = 0
        var place = 0
        while place + 8 <= bytes.count {
            bits |= bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)
            place += 8
        }
        while place < bytes.count {
            bits |= UInt64(bytes[place])
            place += 1
        }
        return bits & 0x8080_8080_8080_8080 == 0
    }

    /// One of the two cases of a letter.
    enum LetterCase: Sendable {
        case upper, lower

        /// The first letter of the other case; the two differ in one bit.
        fileprivate var firstOther: UInt8 { self == .upper ? UInt8(ascii: "a") : UInt8(ascii: "A") }
    }

    /// Brings the letters among the bytes into one case.
    static func bring(_ bytes: UnsafeMutableRawBufferPointer, into letterCase: LetterCase) {
        let first = letterCase.firstOther
        for index in bytes.indices {
            let byte = bytes[index]
            bytes[index] = byte &- first < 26 ? byte ^ 0x20 : byte
        }
    }

    /// Negative, zero or positive, as two texts compare where case does not count.
    static func orderIgnoringCase(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
        for index in 0..<min(left.count, right.count) where left[index] != right[index] {
            let (first, second) = (lowercased(left[index]), lowercased(right[index]))
            if first != second { return first < second ? -1 : 1 }
        }
        return left.count - right.count
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        byte &- UInt8(ascii: "A") < 26 ? byte ^ 0x20 : byte
    }
}
