internal import FerryBase
internal import Foundation

/// Functions of text; nil gives nil.
extension ScalarFunction {
    static let text: [ScalarFunction] = [
        ScalarFunction("ferry_length", title: "length", arguments: 1) { arguments, result throws(FerryError) in
            guard let bytes = try arguments[0].text("length") else { return }
            result.set(codeUnits(in: bytes))
        },
        mapping("ferry_uppercase", "uppercase:", { $0.uppercased() }, ascii: .upper) { .upper },
        mapping("ferry_lowercase", "lowercase:", { $0.lowercased() }, ascii: .lower) { .lower },
        mapping(
            "ferry_canonical", "canonical:",
            { folded($0, TextOptions(ignoresCase: true, ignoresDiacritics: true)) }, ascii: .lower),
    ]

    /// Counts the UTF-16 code units of UTF-8 text; malformed bytes count as their replacement characters.
    private static func codeUnits(in bytes: UnsafeRawBufferPointer) -> Int64 {
        if ASCII.holds(bytes) { return Int64(bytes.count) }
        var (count, index): (Int64, Int) = (0, 0)
        while index < bytes.count {
            let length = length(ofCharacterAt: index, in: bytes)
            guard length > 0 else { return Int64(String(decoding: bytes, as: UTF8.self).utf16.count) }
            count += length == 4 ? 2 : 1
            index += length
        }
        return count
    }

    /// Returns the number of bytes of a well-formed character (Unicode, table 3-7); 0 for a malformed one.
    static func length(ofCharacterAt index: Int, in bytes: UnsafeRawBufferPointer) -> Int {
        let (length, second): (Int, ClosedRange<UInt8>) =
            switch bytes[index] {
            case 0...0x7F: (1, 0...0)
            case 0xC2...0xDF: (2, 0x80...0xBF)
            case 0xE0: (3, 0xA0...0xBF)
            case 0xED: (3, 0x80...0x9F)
            case 0xE1...0xEF: (3, 0x80...0xBF)
            case 0xF0: (4, 0x90...0xBF)
            case 0xF1...0xF3: (4, 0x80...0xBF)
            case 0xF4: (4, 0x80...0x8F)
            default: (0, 0...0)
            }
        guard length > 1 else { return length }
        guard index + length <= bytes.count, second.contains(bytes[index + 1]) else { return 0 }
        for place in index + 2..<index + length where bytes[place] & 0xC0 != 0x80 { return 0 }
        return length
    }

    /// Makes a function of one text by Unicode's rules; ASCII and most other text gives the same character by character.
    private static func mapping(
        _ name: String, _ title: String, _ transform: @escaping @Sendable (String) -> String,
        ascii letterCase: ASCII.LetterCase, letters: @escaping @Sendable () -> CaseInPlace? = { nil }
    ) -> ScalarFunction {
        ScalarFunction(name, title: title, arguments: 1) { arguments, result throws(FerryError) in
            guard let bytes = try arguments[0].text(title) else { return }
            guard !ASCII.holds(bytes) else { return result.set(ascii: bytes, in: letterCase) }
            if let letters = letters(), result.set(text: bytes, in: letters) { return }
            var start = 0
            var problem: FerryError?
            result.setText { text in
                while start < bytes.count, problem == nil {
                    let end = endOfPiece(of: bytes, from: start)
                    if let piece = String(utf8: UnsafeRawBufferPointer(rebasing: bytes[start..<end])) {
                        text.append(contentsOf: transform(piece).utf8)
                    } else {
                        problem = .row(title, "the text is not valid UTF-8")
                    }
                    start = end
                }
            }
            if let problem { throw problem }
        }
    }

    /// Returns the end of a piece of a long text, before an ASCII character: no rule looks past it.
    private static func endOfPiece(of bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
        bytes[min(start + pieceBytes, bytes.count)...].firstIndex { $0 < 0x80 } ?? bytes.count
    }

    private static let pieceBytes = 1 << 16

    /// Returns the text without the differences that the options ignore.
    static func folded(_ string: String, _ options: TextOptions) -> String {
        let compare = options.compareOptions
        return compare.isEmpty ? string : string.folding(options: compare, locale: nil)
    }
}

/// The options of a string operator, letters in brackets.
struct TextOptions: Hashable {
    var ignoresCase = false
    var ignoresDiacritics = false
    /// Whether texts compare by the rules of a language, not by code unit.
    var isLocalized = false

    var compareOptions: String.CompareOptions {
        var compare: String.CompareOptions = []
        if ignoresCase { compare.insert(.caseInsensitive) }
        if ignoresDiacritics { compare.insert(.diacriticInsensitive) }
        return compare
    }

    private static let root = Locale(identifier: "")

    /// Compares by the root locale, as locales of devices differ: negative, zero or positive.
    func localizedOrder(_ left: String, _ right: String) -> Int {
        left.compare(right, options: compareOptions, range: nil, locale: Self.root).rawValue
    }
}

extension TextOptions {
    /// Reads the letters; `n` (normalized) changes nothing.
    init(_ letters: some Sequence<UInt8>) {
        ignoresCase = letters.contains(UInt8(ascii: "c"))
        ignoresDiacritics = letters.contains(UInt8(ascii: "d"))
        isLocalized = letters.contains(UInt8(ascii: "l"))
    }

    init(_ value: FunctionValue, _ title: String) throws(FerryError) {
        self.init(try value.text(title) ?? UnsafeRawBufferPointer(start: nil, count: 0))
    }
}

/// ASCII text, the most frequent, which needs no Unicode rules.
enum ASCII {
    /// Whether all bytes are ASCII; reads eight bytes at a time.
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

    enum LetterCase: Sendable {
        case upper, lower

        fileprivate var firstOther: UInt8 { self == .upper ? UInt8(ascii: "a") : UInt8(ascii: "A") }

        func bring(_ byte: UInt8) -> UInt8 { byte &- firstOther < 26 ? byte ^ 0x20 : byte }
    }

    static func bring(_ bytes: UnsafeMutableRawBufferPointer, into letterCase: LetterCase) {
        for index in bytes.indices { bytes[index] = letterCase.bring(bytes[index]) }
    }

    /// Compares two texts without case: negative, zero or positive.
    static func orderIgnoringCase(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
        for index in 0..<min(left.count, right.count) where left[index] != right[index] {
            let (first, second) = (LetterCase.lower.bring(left[index]), LetterCase.lower.bring(right[index]))
            if first != second { return first < second ? -1 : 1 }
        }
        return left.count - right.count
    }
}
