import FerryBase
import Testing

/// Terms in nested groups, which SQLite reads to a small depth.
@Suite("Balanced terms")
struct BalancedTermsTests {
    @Test("Few terms stand in a row", arguments: [0, 1, 2, 32])
    func few(_ count: Int) {
        let terms = (0..<count).map { "a\($0)" }
        #expect(terms.balanced(by: "OR") == terms.joined(separator: " OR "))
    }

    @Test("Many terms keep their order, in groups of a small depth", arguments: [33, 1_000, 2_000, 40_000])
    func many(_ count: Int) {
        let terms = (0..<count).map { "a\($0)" }
        let text = terms.balanced(by: "+")
        #expect(text.filter { !"()".contains($0) } == terms.joined(separator: " + "))
        var (depth, deepest, inRow, longest) = (0, 0, [1], 1)
        for character in text {
            switch character {
            case "(":
                depth += 1
                inRow.append(1)
            case ")":
                depth -= 1
                inRow.removeLast()
            case "+":
                inRow[depth] += 1
                longest = max(longest, inRow[depth])
            default: break
            }
            deepest = max(deepest, depth)
        }
        #expect(depth == 0 && deepest <= 3 && longest <= 32)
    }
}
