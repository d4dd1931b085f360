internal import Dispatch
internal import Ferry
internal import FerryBase

/// The memory and the phases of a run over time, in a limited number of intervals, whose length grows with the run.
struct RunSamples: Sendable {
    /// Enough for a curve that is 400 points wide.
    static let most = 240
    /// More spans than a drawing can show; a further one lengthens the last.
    private static let mostSpans = 600

    /// A phase of a step, from its beginning to that of the next one.
    struct Span: Sendable, Equatable {
        var phase: Phase
        var step: Int?
        var start: Double
        var end: Double
    }

    private(set) var spans: [Span] = []
    private(set) var intervalSeconds = 0.1
    /// The highest memory sample of each interval; nil without a sample.
    private(set) var memory: [Int64?] = []

    init() {}

    mutating func begin(_ phase: Phase, step: Int?, at seconds: Double, memoryBytes: Int64?) {
        let isNew = spans.last?.phase != phase || spans.last?.step != step
        let start = max(0, seconds.isFinite ? seconds : 0)
        if isNew, spans.count < Self.mostSpans {
            if !spans.isEmpty { spans[spans.count - 1].end = max(spans[spans.count - 1].end, start) }
            spans.append(Span(phase: phase, step: step, start: start, end: start))
        }
        sample(at: seconds, memoryBytes: memoryBytes)
    }

    /// Notes the memory; without effect before the first phase.
    mutating func sample(at seconds: Double, memoryBytes: Int64?) {
        guard !spans.isEmpty else { return }
        let seconds = max(0, seconds.isFinite ? seconds : 0)
        spans[spans.count - 1].end = max(spans[spans.count - 1].end, seconds)
        while seconds / intervalSeconds >= Double(Self.most) {
            intervalSeconds *= 2
            memory = stride(from: 0, to: memory.count, by: 2).map {
                Self.highest(memory[$0..<min($0 + 2, memory.count)])
            }
        }
        let index = Int(seconds / intervalSeconds)
        memory += Array(repeating: nil, count: max(0, index + 1 - memory.count))
        memory[index] = Self.highest([memory[index], memoryBytes])
    }

    private static func highest(_ samples: some Sequence<Int64?>) -> Int64? { samples.compactMap { $0 }.max() }

    var json: JSON {
        [
            "intervalSeconds": intervalSeconds, "intervals": JSON.list(memory) { ["memoryBytes": $0] },
            "spans": JSON.list(spans) {
                ["phase": $0.phase.rawValue, "step": $0.step, "start": $0.start, "end": $0.end]
            },
        ]
    }
}

/// Takes samples at the beginning of each phase and by a timer: a long statement has no events.
final class RunSampler: Sendable {
    /// Shorter than an interval of the samples.
    private static let timerMilliseconds = 20

    private let queue = DispatchQueue(label: "ferry.samples")
    private let start = Clock.nanoseconds()
    private let state = Locked(RunSamples())

    var samples: RunSamples { state.withLock { $0 } }

    init() { sampleLater() }

    private func sampleLater() {
        queue.asyncAfter(deadline: .now() + .milliseconds(Self.timerMilliseconds)) { [weak self] in
            guard let self else { return }
            state.withLock { $0.sample(at: Clock.seconds(since: start), memoryBytes: ResidentMemory.bytes()) }
            sampleLater()
        }
    }

    func begin(_ phase: Phase, step: Int?) {
        state.withLock {
            $0.begin(phase, step: step, at: Clock.seconds(since: start), memoryBytes: ResidentMemory.bytes())
        }
    }
}
