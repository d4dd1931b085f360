import FerryBase
import FerryExpression
import TestSupport
import Testing

/// The cost of LIKE, and its correctness at that cost.
@Suite("Patterns of LIKE")
struct PatternTests {
    private func matches(_ text: String, like pattern: String, _ result: inout FunctionResult) throws -> Bool {
        guard case .comparison(let comparison) = try Predicate.parse("name LIKE '\(pattern)'"),
            case .constant(.string(let expression)) = comparison.right
        else { return false }
        return try call("ferry_matches", [.text(text), .text(expression), .text("")], &result) == 1
    }

    @Test(
        "The time of many wildcards grows only with the lengths of text and pattern",
        arguments: ["?*?*?*?*?*?*?*?*?*", "*a*a*a*a*a*a*a*a*a*a*b", "*?*?*?*?*?*?*?*?*?*?*?*?b", "**********b"])
    func time(_ pattern: String) throws {
        var result = FunctionResult()
        let text = String(repeating: "a", count: 5_000)
        var fits = false
        let time = try ProcessorTime.measure { fits = try matches(text, like: pattern, &result) }
        #expect(fits == !pattern.hasSuffix("b"))
        #expect(time < .seconds(2), "\(time)")
    }

    /// Matches a pattern place by place, as a reference.
    private func fits(_ text: ArraySlice<Character>, _ pattern: ArraySlice<Character>) -> Bool {
        guard let first = pattern.first else { return text.isEmpty }
        if first == "*" {
            return (text.startIndex...text.endIndex).contains { fits(text[$0...], pattern.dropFirst()) }
        }
        guard let letter = text.first, first == "?" || first == letter else { return false }
        return fits(text.dropFirst(), pattern.dropFirst())
    }

    @Test("Patterns match as the reference does, on random texts")
    func random() throws {
        var generator = SplitMix(seed: 11)
        var result = FunctionResult()
        var fitting = 0
        for _ in 0..<3_000 {
            let text = (0..<Int.random(in: 0...9, using: &generator)).map { _ in "ab".randomElement(using: &generator)!
            }
            let pattern = (0..<Int.random(in: 0...7, using: &generator)).map { _ in
                "ab?**".randomElement(using: &generator)!
            }
            let expected = fits(text[...], pattern[...])
            if expected { fitting += 1 }
            #expect(
                try matches(String(text), like: String(pattern), &result) == expected,
                "\(String(text)) \(String(pattern))")
        }
        #expect(fitting > 300 && fitting < 2_700)
    }

    private struct SplitMix: RandomNumberGenerator {
        private var state: UInt64
        init(seed: UInt64) { state = seed }
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }

    @Test("A list of very many values, or of long ones, is refused with its place")
    func lists() throws {
        _ = try Predicate.parse("a IN {\(Array(repeating: "1", count: 2_000).joined(separator: ","))}")
        let long = Array(repeating: "a", count: 150).joined(separator: " + ")
        for text in [
            "a IN {\(Array(repeating: "1", count: 2_001).joined(separator: ","))}",
            "\(long) IN {\(Array(repeating: "1", count: 1_900).joined(separator: ","))}",
        ] {
            let error = #expect(throws: FerryError.self) { try Predicate.parse(text) }
            #expect(error?.code == .badExpression && error?.message.contains("IN has more") == true)
        }
    }
}
