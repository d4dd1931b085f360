import BenchmarkHarness
import FerryBase
import Testing

@Suite("Probe")
struct ProbeTests {
    @Test("A counting run counts the statements of the measured work and no others")
    func statements() throws {
        let probe = Probe(isCounting: true)
        let trace = try #require(probe.trace)
        let statement = TraceEvent(kind: .statement, text: "SELECT 1", nanoseconds: 1)
        trace(statement)
        try probe.measure(rows: 10) {
            trace(statement)
            trace(statement)
            trace(TraceEvent(kind: .file, text: "open", nanoseconds: 1))
        }
        #expect(probe.sample?.statements == 2)
        #expect(probe.sample?.rows == 10)
    }

    #if os(Linux)
        @Test("A counting run counts allocations")
        func allocations() throws {
            let probe = Probe(isCounting: true)
            var kept: [[Int]] = []
            try probe.measure(rows: 1) {
                for number in 0..<1_000 { kept.append([number]) }
            }
            // Each array needs at least one allocation; other tests of the process may allocate meanwhile.
            #expect(kept.count == 1_000)
            if let allocations = probe.sample?.allocations { #expect(allocations >= 1_000) }
        }
    #endif

    @Test("A timed run is not traced")
    func timed() throws {
        let probe = Probe(isCounting: false)
        #expect(probe.trace == nil)
        try probe.measure(rows: 1) {}
        #expect(probe.sample?.statements == nil)
        probe.note("chunks", 3)
        #expect(probe.sample?.notes == ["chunks": 3])
    }

    @Test("Processor time of this process and of its child programs counts, time asleep does not")
    func processorTime() throws {
        let probe = Probe(isCounting: false)
        try probe.measure(rows: 1) { try Tool.run("/bin/sleep", ["0.2"]) }
        let sample = try #require(probe.sample)
        #expect(sample.seconds >= 0.2)
        // Other tests of this process run at the same time; the child program's time is the probe's alone.
        let spinning = Probe(isCounting: false)
        try spinning.measure(rows: 1) {
            try Tool.run("/bin/sh", ["-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"])
        }
        #expect(try #require(spinning.sample?.processorSeconds) > 0.01)
    }

    @Test("A failing or missing program gives no measurement")
    func failingTool() {
        #expect(throws: FerryError.self) { try Tool.run("/bin/sh", ["-c", "exit 3"]) }
        #expect(throws: FerryError.self) { try Tool.run("/no/such/program", []) }
    }

    @Test("A child's request survives as words")
    func words() {
        let request = SampleProcess.Request(
            benchmark: "copy", side: "ferry", point: BenchPoint("a b", rows: 5, parameter: 7), data: "/d", work: "/w",
            isCounting: true, tool: "/f")
        #expect(SampleProcess.Request(words: request.words) == request)
        #expect(SampleProcess.Request(words: ["copy"]) == nil)
    }
}
