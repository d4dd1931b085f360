import FerryExpression
import Testing

@Suite("Estimates from the first bytes of JSON")
struct JSONSampleTests {
    private static func estimate(_ text: String, first bytes: Int? = nil, under key: String = "list") -> Double? {
        let text = Array(text.utf8)
        return text.withUnsafeBytes {
            JSONSample.elements(
                under: key, in: UnsafeRawBufferPointer(rebasing: $0.prefix(bytes ?? text.count)), of: text.count)
        }
    }

    @Test("A text that is read to its end is counted")
    func countsWhole() {
        #expect(Self.estimate(#"{"a": [1, 2], "list": [{"x": ","}, [2, 3], "]", null]}"#) == 4)
        #expect(Self.estimate(#"{"list": []}"#) == 0)
        #expect(Self.estimate(#"{"list": null}"#) == 0)
        #expect(Self.estimate("[1, 2, 3]", under: "") == 3)
    }

    @Test("The rest of a long text counts by the average element at its beginning")
    func extrapolates() throws {
        let elements = (0..<10_000).map { "{\"name\": \"Artist \($0 + 10_000)\"}" }
        let text = "{\"before\": {\"list\": 1}, \"list\": [\(elements.joined(separator: ", "))]}"
        let estimate = try #require(Self.estimate(text, first: 4_096))
        #expect((9_900...10_100).contains(estimate))
    }

    @Test("Nothing is estimated where the first bytes show no array under the key")
    func knowsNothing() {
        #expect(Self.estimate(#"{"list": 1}"#) == nil)
        #expect(Self.estimate(#"{"other": [1]}"#) == nil)
        #expect(Self.estimate(#"{"other": "long", "list": [1]}"#, first: 12) == nil)
        #expect(Self.estimate("no JSON") == nil)
    }
}
