import BenchmarkHarness
import FerryBase
import TestSupport
import Testing

@Suite("Gates")
struct GateTests {
    /// A result in which Ferry took so long, and as much of a processor.
    private func result(ferry: Double) -> CaseResult {
        CaseResult(SampleBench(), rounds: [SampleBench.round(ferry: ferry, floor: 1)])
    }

    private func failures(_ seconds: Double, recorded: Double, at scale: Thresholds.Scale) -> [String] {
        var thresholds = Thresholds()
        thresholds.record(result(ferry: recorded), at: scale)
        return Gate([result(ferry: seconds)], thresholds: thresholds, scale: scale).failures.map(\.measure)
    }

    @Test(
        "What was recorded holds, also when it is a little slower the next time", arguments: Thresholds.Scale.allCases)
    func holds(_ scale: Thresholds.Scale) {
        #expect(failures(2, recorded: 2, at: scale).isEmpty)
        #expect(failures(2.3, recorded: 2, at: scale).isEmpty)
    }

    @Test("What got clearly worse fails, by its name: times at full scale, processor time at each")
    func fails() {
        #expect(failures(4, recorded: 2, at: .full) == ["speed ferry/floor", "processor time ferry/floor"])
        #expect(failures(4, recorded: 2, at: .small) == ["processor time ferry/floor"])
    }

    @Test("The full scale, which has the machine for itself, lets through less than the small one")
    func scales() {
        #expect(!failures(2.6, recorded: 2, at: .full).isEmpty)
        #expect(failures(2.6, recorded: 2, at: .small).isEmpty)
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
