import BenchmarkHarness
import FerryBase
import TestSupport
import Testing

@Suite("Gates")
struct GateTests {
    private func result(ferry: Double) -> CaseResult {
        CaseResult(SampleBench(), rounds: [SampleBench.round(ferry: ferry, floor: 1)])
    }

    @Test("What was recorded holds, also when it is a little slower the next time")
    func holds() {
        var thresholds = Thresholds()
        thresholds.record(result(ferry: 2), at: .small)
        #expect(Gate([result(ferry: 2)], thresholds: thresholds, scale: .small).failures.isEmpty)
        #expect(Gate([result(ferry: 2.5)], thresholds: thresholds, scale: .small).failures.isEmpty)
    }

    @Test("What got clearly worse fails, by its name")
    func fails() {
        var thresholds = Thresholds()
        thresholds.record(result(ferry: 2), at: .small)
        let failures = Gate([result(ferry: 4)], thresholds: thresholds, scale: .small).failures
        #expect(failures.map(\.measure) == ["speed ferry/floor"])
    }

    @Test("One slow repetition among others fails nothing")
    func noise() {
        var thresholds = Thresholds()
        thresholds.record(result(ferry: 2), at: .small)
        let noisy = CaseResult(SampleBench(), rounds: [9, 2, 9].map { SampleBench.round(ferry: $0, floor: 1) })
        #expect(Gate([noisy], thresholds: thresholds, scale: .small).failures.isEmpty)
    }

    @Test("A scale that nothing was recorded for passes, and says so")
    func unknown() {
        var thresholds = Thresholds()
        thresholds.record(result(ferry: 2), at: .small)
        let gate = Gate([result(ferry: 4)], thresholds: thresholds, scale: .full)
        #expect(gate.failures.isEmpty)
        #expect(gate.unknown.count == gate.verdicts.count)
    }

    @Test("A thresholds file is read as it was written; a missing one holds nothing")
    func file() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("thresholds.json")
        #expect(try Thresholds.read(path, files: FileLayer()) == Thresholds())
        var thresholds = Thresholds()
        thresholds.record(result(ferry: 2), at: .full)
        try thresholds.write(to: path, files: FileLayer())
        #expect(try Thresholds.read(path, files: FileLayer()) == thresholds)
        #expect(thresholds.limit(of: "statements of ferry", in: "sample", at: .full) == 12.2)
    }
}
