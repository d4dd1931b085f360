import FerryModel
import Testing

@Suite("The order of names")
struct CodeUnitOrderTests {
    @Test("is that of UTF-16 code units, for all characters")
    func order() {
        let parts = ["", "a", "Z", "é", "\u{D7FF}", "\u{E000}", "\u{FFFD}", "\u{10000}", "😀", "a\u{301}", "\u{0}"]
        let names = parts.flatMap { one in parts.map { one + $0 } }
        for left in names {
            for right in names {
                #expect(codeUnitOrder(left, right) == left.utf16.lexicographicallyPrecedes(right.utf16))
            }
        }
    }
}
