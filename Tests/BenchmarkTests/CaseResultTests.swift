import BenchmarkHarness
import Testing

@Suite("Results of a case")
struct CaseResultTests {
    private let rounds = [(2.0, 1.0), (1.0, 1.0), (4.0, 1.0)].map { SampleBench.round(ferry: $0.0, floor: $0.1) }

    private func measure(_ name: String) throws -> CaseResult.MeasureResult {
        try #require(CaseResult(SampleBench(), rounds: rounds).measures.first { $0.name == name })
    }

    @Test("A speed is the median of the ratios of the same repetition, not the ratio of the medians")
    func speed() throws {
        let rounds = [(1.0, 2.0), (10.0, 1.0), (1.0, 1.0)].map { SampleBench.round(ferry: $0.0, floor: $0.1) }
        let result = CaseResult(SampleBench(), rounds: rounds)
        let speed = try #require(result.measures.first { $0.name == "speed ferry/floor" })
        #expect(speed.value == Spread([2, 0.1, 1]))
        #expect(speed.meetsBudget == true)
    }

    @Test("A missed budget is reported")
    func missed() throws {
        #expect(try measure("speed ferry/floor").meetsBudget == false)
        #expect(try measure("peak memory of ferry").meetsBudget == false)
    }

    @Test("A measure without a budget is neither met nor missed")
    func withoutBudget() throws { #expect(try measure("statements of ferry").meetsBudget == nil) }

    @Test("Counts come from the counting run, sizes from the timed runs")
    func sources() throws {
        #expect(try measure("statements of ferry").value.median == 12)
        #expect(try measure("allocations per row of ferry").value.median == 0.5)
        #expect(try measure("bytes written ferry/floor").value.median == 1.5)
        #expect(try measure("processor time ferry/floor").value == Spread([2, 1, 4]))
    }

    @Test("The table shows every side, measure and verdict")
    func table() {
        let text = ResultTable(CaseResult(SampleBench(), rounds: rounds)).lines.joined(separator: "\n")
        for part in ["floor: quicker", "speed ferry/floor", "≥ 0.90", "missed", "statements of ferry"] {
            #expect(text.contains(part))
        }
    }

    @Test("The page for the documentation has a row for each measure, and names the program of whole commands")
    func page() {
        let suite = SuiteResult(
            libraries: ["sqlite": "3"], program: nil, cases: [CaseResult(SampleBench(), rounds: rounds)])
        let text = ResultPage(suite).text
        #expect(text.contains("| `sample` | 100 | speed ferry/floor | 0.50 | 0.25 – 1.00 | ≥ 0.90 | missed |"))
        #expect(text.contains("| statements of ferry | 12 |"))
        #expect(text.contains("the library within the benchmark"))
    }
}
