import FerryBase
import Testing

@testable import FerryCommand

@Suite("Samples of a run")
struct RunSamplesTests {
    @Test(
        "The samples of a run of any length are limited in number, and lose no peak and no phase",
        arguments: [1, 60, 36_000])
    func staysBounded(seconds: Int) {
        var samples = RunSamples()
        samples.begin(.rows, step: 1, at: 0, memoryBytes: 1 << 20)
        let all = 20_000
        for number in 1...all {
            let moment = Double(seconds) * Double(number) / Double(all)
            if number == 700 { samples.begin(.indexes, step: 1, at: moment, memoryBytes: nil) }
            samples.sample(at: moment, memoryBytes: number == 777 ? 99 << 20 : 5 << 20)
        }
        #expect(samples.memory.count <= RunSamples.most && samples.memory.count > 5)
        #expect(samples.memory.compactMap { $0 }.max() == 99 << 20)
        #expect(Double(samples.memory.count) * samples.intervalSeconds >= Double(seconds))
        #expect(samples.spans.map(\.phase) == [.rows, .indexes])
        #expect(samples.spans[0].end == samples.spans[1].start && samples.spans[1].end == Double(seconds))
    }
}
