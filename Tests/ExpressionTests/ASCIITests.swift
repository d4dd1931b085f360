import FerryExpression
import Foundation
import Testing

/// ASCII text takes a shorter path, which must give the results of Unicode's rules.
@Suite("Text of plain ASCII")
struct ASCIITests {
    /// Every single character, and every length around the eight bytes of one comparison.
    private static let texts: [String] = {
        let characters = (0..<128).map { String(UnicodeScalar(UInt8($0))) }
        let all = characters.joined()
        let lengths = (0...33).map { length in String(all.unicodeScalars.dropFirst(length * 2 + 33).prefix(length)) }
        return characters + lengths.map { String($0) } + [all]
    }()

    @Test("has the length and the letters of Unicode's rules")
    func letters() throws {
        for text in Self.texts {
            #expect(try call("ferry_length", .text(text)) == .integer(Int64(text.utf16.count)))
            #expect(try call("ferry_uppercase", .text(text)) == .text(text.uppercased()))
            #expect(try call("ferry_lowercase", .text(text)) == .text(text.lowercased()))
            #expect(
                try call("ferry_canonical", .text(text))
                    == .text(text.folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil)))
        }
    }

    @Test("beside a character that is not ASCII has the same letters", arguments: ["é", "😀", "\u{130}"])
    func beside(_ other: String) throws {
        for text in Self.texts {
            // The hyphen between them combines with no character.
            let mixed = text + "-" + other
            #expect(try call("ferry_length", .text(mixed)) == .integer(Int64(mixed.utf16.count)))
            #expect(try call("ferry_uppercase", .text(mixed)) == .text(mixed.uppercased()))
            #expect(try call("ferry_lowercase", .text(mixed)) == .text(mixed.lowercased()))
        }
    }

    @Test("with letters of two bytes, one by one and mixed, has the letters of Unicode's rules")
    func twoBytes() throws {
        let letters = (0x80..<0x800).compactMap { Unicode.Scalar($0 as UInt32) }.map { String(Character($0)) }
        var random = SystemRandomNumberGenerator()
        let mixed = (0..<400).map { _ in
            (0..<Int.random(in: 1...24, using: &random)).map { _ in
                Bool.random(using: &random) ? letters.randomElement() ?? "" : Self.texts[Int.random(in: 0..<128)]
            }.joined()
        }
        for text in letters + mixed + ["ΟΔΥΣΣΕΥΣ Σ", "straße", "ǅ ŉ İ ı ß ﬁ", "é\u{301}", "Ünï€"] {
            #expect(try call("ferry_uppercase", .text(text)) == .text(text.uppercased()), "\(text)")
            #expect(try call("ferry_lowercase", .text(text)) == .text(text.lowercased()), "\(text)")
        }
    }

    @Test("with characters of three and four bytes has the letters of Unicode's rules")
    func longerCharacters() throws {
        // Characters that share all bytes but the last, up to the last assigned one.
        for start in stride(from: UInt32(0x800), to: 0x34000, by: 64) {
            let characters = (start..<start + 64).compactMap { Unicode.Scalar($0) }.map { String(Character($0)) }
            let text = characters.joined()
            #expect(try call("ferry_uppercase", .text(text)) == .text(text.uppercased()), "from \(start)")
            #expect(try call("ferry_lowercase", .text(text)) == .text(text.lowercased()), "from \(start)")
        }
        for text in ["書物 Échange – “ÉTÉ” 5 €", "ひらがな ß 한국어 ÿ", "😀 ÀÉ 𠮷", "ﬁ 書 Ⅷ ⓐ Ꙁ", "ไทย ÇA हिन्दी"] {
            #expect(try call("ferry_uppercase", .text(text)) == .text(text.uppercased()), "\(text)")
            #expect(try call("ferry_lowercase", .text(text)) == .text(text.lowercased()), "\(text)")
        }
    }

    @Test("is compared by Unicode's rules", arguments: [nil, "c", "d", "cd", "n"])
    func comparisons(_ letters: String?) throws {
        let options: Cell = letters.map { .text($0) } ?? .null
        var compare: String.CompareOptions = []
        if letters?.contains("c") == true { compare.insert(.caseInsensitive) }
        if letters?.contains("d") == true { compare.insert(.diacriticInsensitive) }
        for left in Self.texts.suffix(60) {
            for right in Self.texts.suffix(60) + [left.lowercased(), left.uppercased(), left + "a"] {
                let first = compare.isEmpty ? left : left.folding(options: compare, locale: nil)
                let second = compare.isEmpty ? right : right.folding(options: compare, locale: nil)
                let isLess = Array(first.utf8).lexicographicallyPrecedes(Array(second.utf8))
                let isEqual = first.utf8.elementsEqual(second.utf8)
                #expect(
                    try call("ferry_text_equal", .text(left), .text(right), options) == (isEqual ? 1 : 0),
                    "\(left.debugDescription) and \(right.debugDescription)")
                #expect(try call("ferry_text_less", .text(left), .text(right), options) == (isLess ? 1 : 0))
                #expect(
                    try call("ferry_text_less_equal", .text(left), .text(right), options)
                        == (isLess || isEqual ? 1 : 0))
            }
        }
    }
}
