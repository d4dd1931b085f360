import FerryBase
import Testing

@Suite("Text from bytes that may be invalid")
struct ValidTextTests {
    private static let texts: [String] = [
        "", "a", "é𝄞\u{10FFFF}\u{0}", "\u{FFFD}", "e\u{301}", String(repeating: "ß", count: 99),
    ]

    @Test("Valid bytes give their text, with the same scalars", arguments: texts)
    func sound(_ text: String) {
        #expect(String(utf8: Array(text.utf8)).map { Array($0.utf8) } == Array(text.utf8))
        #expect(String(utf8: Array(text.utf8)[...]) == text)
        #expect(Array(text.utf8).withUnsafeBytes { String(utf8: $0) } == text)
        #expect(String(utf16: Array(text.utf16)).map { Array($0.utf16) } == Array(text.utf16))
    }

    @Test(
        "Invalid bytes give nil",
        arguments: [
            [0xFF], [0x80], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0x61, 0xC3],
            [0xEF, 0xBF, 0xBD, 0xC3], [0xE2, 0x82, 0x61],
        ] as [[UInt8]])
    func broken(_ bytes: [UInt8]) {
        #expect(String(utf8: bytes) == nil && String(utf8: bytes[...]) == nil)
        #expect(bytes.withUnsafeBytes { String(utf8: $0) } == nil)
    }

    @Test(
        "Half a surrogate pair gives nil",
        arguments: [[0xD800], [0xDC00, 0xD800], [0x61, 0xD800, 0x61]] as [[UInt16]])
    func halves(_ units: [UInt16]) { #expect(String(utf16: units) == nil) }
}
