internal import Dispatch
package import Ferry
internal import FerryBase

/// The memory and the rows of a run over time, in a limited number of intervals, whose length grows with the run.
package struct RunSamples: Sendable {
    /// Enough for a curve that is 400 points wide.
    package static let most = 240

    package struct Interval: Sendable, Equatable {
        /// The highest memory sample in the interval; nil without a sample.
        package var memoryBytes: Int64?
        package var rows: Int64 = 0
        /// The phase and the step at the interval's end.
        package var phase: Phase?
        package var step: Int?

        fileprivate mutating func join(_ next: Interval) {
            memoryBytes = [memoryBytes, next.memoryBytes].compactMap { $0 }.max()
            rows = [rows, next.rows].clampedSum
            if next.phase != nil { (phase, step) = (next.phase, next.step) }
        }
    }

    /// A phase of a step, from its beginning to that of the next one.
    package struct Span: Sendable, Equatable {
        package var phase: Phase
        package var step: Int?
        package var start: Double
        package var end: Double
    }

    /// More spans than a drawing can show; a further one lengthens the last.
    private static let mostSpans = 600

    package private(set) var spans: [Span] = []
    package private(set) var intervalSeconds = 0.1
    package private(set) var intervals: [Interval] = []
    private var phase: Phase?
    private var step: Int?
    /// Rows done in the current phase by entity mapping or table, as many as the models have.
    private var done: [String: Int64] = [:]

    package init() {}

    /// Begins a phase, of which no work is done yet.
    package mutating func begin(_ phase: Phase, step: Int?, at seconds: Double, memoryBytes: Int64?) {
        if self.phase != phase || self.step != step { done = [:] }
        (self.phase, self.step) = (phase, step)
        note(0, at: seconds, memoryBytes: memoryBytes)
    }

    package mutating func take(_ update: ProgressUpdate, at seconds: Double, memoryBytes: Int64?) {
        if phase != update.phase { (phase, done) = (update.phase, [:]) }
        let subject = update.subject ?? ""
        let before = done[subject] ?? 0
        done[subject] = update.done
        // A snapshot counts bytes, and a swap pages.
        let rows = [.snapshot, .swap].contains(update.phase) ? 0 : max(0, update.done - before)
        note(rows, at: seconds, memoryBytes: memoryBytes)
    }

    private mutating func note(_ rows: Int64, at seconds: Double, memoryBytes: Int64?) {
        let seconds = max(0, seconds.isFinite ? seconds : 0)
        noteSpan(at: seconds)
        while seconds / intervalSeconds >= Double(Self.most) { halve() }
        let index = Int(seconds / intervalSeconds)
        while intervals.count <= index { intervals.append(Interval()) }
        intervals[index].join(Interval(memoryBytes: memoryBytes, rows: rows, phase: phase, step: step))
    }

    private mutating func noteSpan(at seconds: Double) {
        guard let phase else { return }
        if !spans.isEmpty { spans[spans.count - 1].end = max(spans[spans.count - 1].end, seconds) }
        guard spans.last?.phase != phase || spans.last?.step != step, spans.count < Self.mostSpans else { return }
        spans.append(Span(phase: phase, step: step, start: seconds, end: seconds))
    }

    /// Notes the memory between the events of a run.
    package mutating func sample(at seconds: Double, memoryBytes: Int64?) {
        guard phase != nil else { return }
        note(0, at: seconds, memoryBytes: memoryBytes)
    }

    /// Doubles the length of the intervals and halves their number.
    private mutating func halve() {
        intervalSeconds *= 2
        intervals = stride(from: 0, to: intervals.count, by: 2).map { index in
            var interval = intervals[index]
            if index + 1 < intervals.count { interval.join(intervals[index + 1]) }
            return interval
        }
    }

    package var json: JSON {
        [
            "intervalSeconds": intervalSeconds,
            "intervals": JSON.list(intervals) {
                ["memoryBytes": $0.memoryBytes, "rows": $0.rows, "phase": $0.phase?.rawValue, "step": $0.step]
            },
            "spans": JSON.list(spans) {
                ["phase": $0.phase.rawValue, "step": $0.step, "start": $0.start, "end": $0.end]
            },
        ]
    }
}

/// Takes samples from the events of a run, on any thread, and of the memory by a timer: a long statement has no events.
final class RunSampler: Sendable {
    /// Nanoseconds between memory samples; events are much more frequent than changes of the memory.
    private static let pause: UInt64 = 10_000_000
    /// Shorter than an interval of the samples.
    private static let timerMilliseconds = 50

    private let queue = DispatchQueue(label: "ferry.samples")
    private let start = Clock.nanoseconds()
    private let state = Locked<(samples: RunSamples, sampled: UInt64)>((RunSamples(), 0))

    var samples: RunSamples { state.withLock { $0.samples } }

    init() { sampleLater() }

    private func sampleLater() {
        queue.asyncAfter(deadline: .now() + .milliseconds(Self.timerMilliseconds)) { [weak self] in
            guard let self else { return }
            let seconds = Clock.seconds(since: start)
            let memory = ResidentMemory.bytes()
            state.withLock { $0.samples.sample(at: seconds, memoryBytes: memory) }
            sampleLater()
        }
    }

    func begin(_ phase: Phase, step: Int?) {
        let seconds = Clock.seconds(since: start)
        let memory = ResidentMemory.bytes()
        state.withLock { $0.samples.begin(phase, step: step, at: seconds, memoryBytes: memory) }
    }

    func take(_ update: ProgressUpdate) {
        let now = Clock.nanoseconds()
        let seconds = Double(Clock.nanoseconds(from: start, to: now)) / 1e9
        state.withLock { state in
            var memory: Int64?
            if Clock.nanoseconds(from: state.sampled, to: now) >= Self.pause {
                memory = ResidentMemory.bytes()
                state.sampled = now
            }
            state.samples.take(update, at: seconds, memoryBytes: memory)
        }
    }
}
