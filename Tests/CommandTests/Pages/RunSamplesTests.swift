import FerryBase
import FerryCommand
import Testing

@Suite("Samples of a run")
struct RunSamplesTests {
    @Test(
        "The samples of a run of any length are limited in number, and lose no row and no peak",
        arguments: [1, 60, 36_000])
    func staysBounded(seconds: Int) {
        var samples = RunSamples()
        samples.begin(.rows, step: 1, at: 0, memoryBytes: 1 << 20)
        let updates = 20_000
        for number in 1...updates {
            var update = ProgressUpdate(phase: .rows, subject: number % 2 == 0 ? "A" : "B")
            update.done = Int64((number + 1) / 2 * 10)
            samples.take(
                update, at: Double(seconds) * Double(number) / Double(updates),
                memoryBytes: number == 777 ? 99 << 20 : 5 << 20)
        }
        #expect(samples.intervals.count <= RunSamples.most && samples.intervals.count > 5)
        #expect(samples.intervals.map(\.rows).reduce(0, +) == Int64(updates * 10))
        #expect(samples.intervals.compactMap(\.memoryBytes).max() == 99 << 20)
        #expect(Double(samples.intervals.count) * samples.intervalSeconds >= Double(seconds))
    }

    @Test("Bytes of a snapshot and pages of a swap are not rows, and restarted work is counted from its start")
    func countsRows() {
        var samples = RunSamples()
        samples.begin(.snapshot, step: nil, at: 0, memoryBytes: nil)
        samples.take(ProgressUpdate(phase: .snapshot, done: 1_000_000), at: 0.05, memoryBytes: nil)
        samples.begin(.rows, step: 1, at: 0.1, memoryBytes: nil)
        samples.take(ProgressUpdate(phase: .rows, subject: "A", done: 40), at: 0.15, memoryBytes: nil)
        samples.begin(.rows, step: 2, at: 0.31, memoryBytes: nil)
        samples.take(ProgressUpdate(phase: .rows, subject: "A", done: 30), at: 0.35, memoryBytes: nil)
        samples.begin(.swap, step: nil, at: 0.41, memoryBytes: nil)
        samples.take(ProgressUpdate(phase: .swap, done: 500), at: 0.45, memoryBytes: nil)
        #expect(samples.intervals.map(\.rows) == [0, 40, 0, 30, 0])
        #expect(samples.intervals.map(\.step) == [nil, 1, nil, 2, nil])
    }
}
