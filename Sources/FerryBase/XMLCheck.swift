/// Looks through the bytes of an XML text before a parser sees them, in pieces of any size.
///
/// Foundation's parser traps where the text is no UTF-8, and expands the entities that a text declares.
package struct XMLCheck: Sendable {
    package enum Problem: String, Sendable {
        case notUTF8 = "it is no UTF-8 text"
        case declaresEntities = "it declares XML entities, which none of its kind does"
    }

    private static let declaration = Array("<!ENTITY".utf8)

    /// Bytes of the current character that are still to come, and what the next of them may be.
    private var pending = 0
    private var allowed: ClosedRange<UInt8> = 0x80...0xBF
    /// How much of ``declaration`` the last bytes are.
    private var matched = 0

    package init() {}

    /// Takes the next bytes; what follows a problem counts no more.
    package mutating func take(_ bytes: UnsafeRawBufferPointer) -> Problem? {
        for byte in bytes {
            guard takesAsUTF8(byte) else { return .notUTF8 }
            // "<" begins the declaration and occurs nowhere else in it.
            matched = byte == Self.declaration[matched] ? matched + 1 : byte == Self.declaration[0] ? 1 : 0
            if matched == Self.declaration.count { return .declaresEntities }
        }
        return nil
    }

    /// What is wrong with the end of the text.
    package var problemAtEnd: Problem? { pending > 0 ? .notUTF8 : nil }

    package static func problem(of bytes: [UInt8]) -> Problem? {
        var check = XMLCheck()
        return bytes.withUnsafeBytes { check.take($0) } ?? check.problemAtEnd
    }

    /// By the table of well-formed byte sequences of the Unicode standard.
    private mutating func takesAsUTF8(_ byte: UInt8) -> Bool {
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
