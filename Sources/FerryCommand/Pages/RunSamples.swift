package import Ferry
internal import FerryBase

/// What a run held and did over time, in a fixed number of intervals: they grow longer with the run, not more.
package struct RunSamples: Sendable {
    /// Enough for a curve of 400 points in width.
    package static let most = 240

    package struct Interval: Sendable, Equatable {
        /// The most memory that was seen in it; nil where nothing was told.
        package var memoryBytes: Int64?
        /// Rows that were gone over in it.
        package var rows: Int64 = 0
        /// The phase at its end, and the step.
        package var phase: Phase?
        package var step: Int?

        fileprivate mutating func join(_ next: Interval) {
            memoryBytes = [memoryBytes, next.memoryBytes].compactMap { $0 }.max()
            rows = [rows, next.rows].clampedSum
            if next.phase != nil { (phase, step) = (next.phase, next.step) }
        }
    }

    package private(set) var intervalSeconds = 0.1
    package private(set) var intervals: [Interval] = []
    private var phase: Phase?
    private var step: Int?
    /// By entity mapping or table of the phase at work, as many as the models have.
    private var done: [String: Int64] = [:]

    package init() {}

    /// A phase begins; nothing of it is done yet.
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
        // While a snapshot is taken it is bytes.
        let rows = update.phase == .snapshot ? 0 : max(0, update.done - before)
        note(rows, at: seconds, memoryBytes: memoryBytes)
    }

    private mutating func note(_ rows: Int64, at seconds: Double, memoryBytes: Int64?) {
        let seconds = max(0, seconds.isFinite ? seconds : 0)
        while seconds / intervalSeconds >= Double(Self.most) { halve() }
        let index = Int(seconds / intervalSeconds)
        while intervals.count <= index { intervals.append(Interval()) }
        intervals[index].join(Interval(memoryBytes: memoryBytes, rows: rows, phase: phase, step: step))
    }

    /// Makes intervals of twice the length, half as many.
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
        ]
    }
}

/// Takes samples from the events of a run, on whatever thread they come.
final class RunSampler: Sendable {
    /// Events come much quicker than memory changes.
    private static let pause: UInt64 = 10_000_000

    private let start = Clock.nanoseconds()
    private let state = Locked<(samples: RunSamples, looked: UInt64)>((RunSamples(), 0))

    var samples: RunSamples { state.withLock { $0.samples } }

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
            if Clock.nanoseconds(from: state.looked, to: now) >= Self.pause {
                memory = ResidentMemory.bytes()
                state.looked = now
            }
            state.samples.take(update, at: seconds, memoryBytes: memory)
        }
    }
}
