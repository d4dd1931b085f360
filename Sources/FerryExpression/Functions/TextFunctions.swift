internal import FerryBase
internal import Foundation

/// Functions of text; nil gives nil.
extension ScalarFunction {
    static let text: [ScalarFunction] = [
        ScalarFunction("ferry_length", title: "length", arguments: 1) { arguments, result throws(FerryError) in
            guard let bytes = try arguments[0].text("length") else { return }
            result.set(codeUnits(in: bytes))
        },
        mapping("ferry_uppercase", "uppercase:", { $0.uppercased() }, ascii: .upper),
        mapping("ferry_lowercase", "lowercase:", { $0.lowercased() }, ascii: .lower),
        mapping(
            "ferry_canonical", "canonical:",
            { folded($0, TextOptions(ignoresCase: true, ignoresDiacritics: true)) }, ascii: .lower),
    ]

    /// UTF-16 code units of UTF-8 text: one per character, two for characters outside the BMP.
    ///
    /// Malformed text counts as what stands in for it when it is read as characters.
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

    /// The bytes of a well-formed character (Unicode, table 3-7); 0 for a malformed one.
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

    /// A function of one text: by Unicode's rules, or letter by letter where the text is ASCII, which gives the same.
    private static func mapping(
        _ name: String, _ title: String, _ transform: @escaping @Sendable (String) -> String,
        ascii letterCase: ASCII.LetterCase
    ) -> ScalarFunction {
        ScalarFunction(name, title: title, arguments: 1) { arguments, result throws(FerryError) in
            guard let bytes = try arguments[0].text(title) else { return }
            guard !ASCII.holds(bytes) else { return result.set(ascii: bytes, in: letterCase) }
            guard let string = try arguments[0].string(title) else { return }
            result.set(text: transform(string).utf8)
        }
    }

    /// Text without the differences that the options ignore.
    static func folded(_ string: String, _ options: TextOptions) -> String {
        let compare = options.compareOptions
        return compare.isEmpty ? string : string.folding(options: compare, locale: nil)
    }
}

/// The letters in brackets after a string operator.
struct TextOptions: Hashable {
    var ignoresCase = false
    var ignoresDiacritics = false
    /// Whether texts are ordered as a language does, not by their code units.
    var isLocalized = false

    var compareOptions: String.CompareOptions {
        var compare: String.CompareOptions = []
        if ignoresCase { compare.insert(.caseInsensitive) }
        if ignoresDiacritics { compare.insert(.diacriticInsensitive) }
        return compare
    }

    private static let root = Locale(identifier: "")

    /// Negative, zero or positive, as the root of all languages orders texts: what a device's own language says differs
    /// from one to the next.
    func localizedOrder(_ left: String, _ right: String) -> Int {
        left.compare(right, options: compareOptions, range: nil, locale: Self.root).rawValue
    }
}

extension TextOptions {
    init(_ letters: String) {
        ignoresCase = letters.contains("c")
        ignoresDiacritics = letters.contains("d")
        isLocalized = letters.contains("l")
    }

    /// Reads the argument that carries the letters; `n` (compare as it is) changes nothing.
    init(_ value: FunctionValue, _ title: String) throws(FerryError) {
        guard let letters = try value.text(title) else { return }
        ignoresCase = letters.contains(UInt8(ascii: "c"))
        ignoresDiacritics = letters.contains(UInt8(ascii: "d"))
        isLocalized = letters.contains(UInt8(ascii: "l"))
    }
}

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
