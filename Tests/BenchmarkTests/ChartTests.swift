import BenchmarkHarness
import Foundation
import Testing

@Suite("Charts")
struct ChartTests {
    private let chart = Chart(
        "rows", "Rows < chunks & time", horizontal: .parameter, label: "rows", vertical: .rowsPerSecond)
    private let points = [100, 1_000].map { BenchPoint("\($0)", rows: 100, parameter: $0) }

    @Test("A sweep gives one line for each side, and its text is safe in XML")
    func drawing() throws {
        let result = CaseResult(SampleBench(), rounds: [SampleBench.round(ferry: 2, floor: 1, at: points)])
        let text = try #require(ChartDrawing(chart, of: result)).text
        #expect(text.hasPrefix("<svg ") && text.hasSuffix("</svg>\n"))
        #expect(text.components(separatedBy: "<polyline").count == 3)
        #expect(text.components(separatedBy: "<circle").count == 5)
        #expect(text.contains("Rows &lt; chunks &amp; time"))
        #expect(text.contains(">1,000<"))
    }

    @Test("One point gives no chart")
    func single() {
        let result = CaseResult(
            SampleBench(), rounds: [SampleBench.round(ferry: 2, floor: 1, at: [points[0]])])
        #expect(ChartDrawing(chart, of: result) == nil)
    }
}
