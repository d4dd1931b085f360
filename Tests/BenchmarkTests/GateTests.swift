import BenchmarkHarness
import FerryBase
import TestSupport
import Testing

@Suite("Gates")
struct GateTests {
    /// Returns a result in which Ferry took this time, and as much processor time.
    private func result(ferry: Double) -> CaseResult {
        CaseResult(SampleBench(), rounds: [SampleBench.round(ferry: ferry, floor: 1)])
    }

    private func failures(_ seconds: Double, recorded: Double, at scale: Thresholds.Scale) -> [String] {
        var thresholds = Thresholds()
        thresholds.record(result(ferry: recorded), at: scale)
        return Gate([result(ferry: seconds)], thresholds: thresholds, scale: scale).failures.map(\.measure)
    }

    @Test(
        "A recorded result passes, also when the next run is a little slower", arguments: Thresholds.Scale.allCases)
    func holds(_ scale: Thresholds.Scale) {
        #expect(failures(2, recorded: 2, at: scale).isEmpty)
        #expect(failures(2.3, recorded: 2, at: scale).isEmpty)
    }

    @Test("A clear regression fails with its name: times at full scale, processor time at each")
    func fails() {
        #expect(failures(4, recorded: 2, at: .full) == ["speed ferry/floor", "processor time ferry/floor"])
        #expect(failures(4, recorded: 2, at: .small) == ["processor time ferry/floor"])
    }

    @Test("The full scale, for an idle machine, allows less than the small one")
    func scales() {
        #expect(!failures(2.6, recorded: 2, at: .full).isEmpty)
        #expect(failures(2.6, recorded: 2, at: .small).isEmpty)
    }

    @Test("One slow repetition among others does not fail")
    func noise() {
        var thresholds = Thresholds()
        thresholds.record(result(ferry: 2), at: .small)
        let noisy = CaseResult(SampleBench(), rounds: [9, 2, 9].map { SampleBench.round(ferry: $0, floor: 1) })
        #expect(Gate([noisy], thresholds: thresholds, scale: .small).failures.isEmpty)
    }

    @Test("A case that fails is measured again: what holds then holds, and what fails again fails")
    func repeated() {
        var thresholds = Thresholds()
        thresholds.record(result(ferry: 2), at: .small)
        let busy = Gate([result(ferry: 4)], thresholds: thresholds, scale: .small)
        var gate = busy
        gate.takeBetter(of: busy)
        #expect(gate.failures == busy.failures && !gate.failures.isEmpty)
        gate.takeBetter(of: Gate([result(ferry: 2)], thresholds: thresholds, scale: .small))
        #expect(gate.failures.isEmpty)
    }

    @Test("A measure without a threshold fails if its case has others")
    func renamed() throws {
        var recorded = result(ferry: 2)
        recorded.measures.removeFirst()
        var thresholds = Thresholds()
        thresholds.record(recorded, at: .full)
        let gate = Gate([result(ferry: 2)], thresholds: thresholds, scale: .full)
        #expect(gate.failures.count == 1 && gate.failures == gate.unknown)
    }

    @Test("A scale without recorded thresholds passes, and says so")
    func unknown() {
        var thresholds = Thresholds()
        thresholds.record(result(ferry: 2), at: .small)
        let gate = Gate([result(ferry: 4)], thresholds: thresholds, scale: .full)
        #expect(gate.failures.isEmpty)
        #expect(gate.unknown.count == gate.verdicts.count)
    }

    @Test("A written thresholds file can be read; a missing one is an error")
    func file() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("thresholds.json")
        #expect(throws: FerryError.self) { try Thresholds.read(path, files: FileLayer()) }
        var thresholds = Thresholds()
        thresholds.record(result(ferry: 2), at: .full)
        try thresholds.write(to: path, files: FileLayer())
        #expect(try Thresholds.read(path, files: FileLayer()) == thresholds)
        #expect(thresholds.limit(of: "statements of ferry", in: "sample", at: .full) == 12.2)
    }
}
