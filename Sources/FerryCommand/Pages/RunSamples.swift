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

/// The samples of a run as curves over its time.
struct RunCurve {
    private let seconds: Double
    private let intervals: [RunSamples.Interval]

    init(_ samples: RunSamples) { (seconds, intervals) = (samples.intervalSeconds, samples.intervals) }

    /// Whether there are two intervals at least, which a curve needs.
    var isDrawn: Bool { intervals.count > 1 }

    /// The starts of phases; of several phases that start in one interval only the last one.
    var marks: [(place: Double, sign: String, phase: Phase, step: Int?)] {
        var marks: [(place: Double, sign: String, phase: Phase, step: Int?)] = []
        for (index, interval) in intervals.enumerated() {
            guard let phase = interval.phase, marks.last?.phase != phase || marks.last?.step != interval.step else {
                continue
            }
            guard marks.count < Self.signs.count else { break }
            marks.append((place(index), String(Self.signs[marks.count]), phase, interval.step))
        }
        return marks
    }

    private static let signs = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ")

    func memory(limit: Int64?) -> Markup {
        let bytes = intervals.map { $0.memoryBytes.map { Double($0) } }
        return chart("Memory", up: "resident memory, bytes", bytes, in: .bytes, limit: limit.map { Double($0) })
    }

    var speed: Markup {
        chart("Throughput", up: "rows per second", intervals.map { Double($0.rows) / seconds }, in: .rows)
    }

    private func chart(
        _ title: String, up: String, _ values: [Double?], in unit: LineChart.Unit, limit: Double? = nil
    ) -> Markup {
        let scale = ChartScale(highest: total, most: 4)
        return LineChart(
            title: title, across: "time since the start, \(span.name)", up: up, unit: unit,
            points: values.enumerated().map { (place($0.offset), $0.element) },
            ticks: scale.ticks.filter { $0 <= total }.map {
                ($0 / total, Quantity.decimal($0, places: total < 1 ? 2 : total < 10 ? 1 : 0))
            }, limit: limit, marks: spread
        ).markup
    }

    /// The marks with their signs; marks that are too close to each other become one.
    private var spread: [(x: Double, sign: String)] {
        var spread: [(x: Double, sign: String)] = []
        for mark in marks {
            if let last = spread.last, mark.place - last.x < 0.05 {
                // The sign names the first and the last mark.
                spread[spread.count - 1].sign = "\(last.sign.prefix(1))–\(mark.sign)"
            } else {
                spread.append((mark.place, mark.sign))
            }
        }
        return spread
    }

    private func place(_ index: Int) -> Double { Double(index) / Double(max(1, intervals.count - 1)) }

    private var span: (name: String, seconds: Double) {
        let all = seconds * Double(intervals.count - 1)
        return all < 300 ? ("seconds", 1) : all < 18_000 ? ("minutes", 60) : ("hours", 3_600)
    }

    /// The run's duration in the axis's unit.
    private var total: Double { seconds * Double(intervals.count - 1) / span.seconds }
}

/// A line chart of one measure over another one, with both axes, from zero up, and with the limit if there is one.
struct LineChart {
    /// The unit of the vertical axis.
    struct Unit: Sendable {
        var steps: ChartScale.Steps
        var words: @Sendable (Double) -> String

        static let rows = Unit(steps: ChartScale.decimal) { Quantity.whole($0).grouped }
        static let seconds = Unit(steps: ChartScale.decimal) { Quantity.durationText(seconds: $0) }
        static let bytes = Unit(steps: ChartScale.binary) { Quantity.sizeText(Quantity.whole($0)) }
    }

    var title: String
    /// The labels of the horizontal and the vertical axis, with their units.
    var across: String
    var up: String
    var unit: Unit
    /// Places from 0 to 1 and values; an unknown value leaves a gap.
    var points: [(x: Double, y: Double?)]
    /// Places from 0 to 1 and labels below the axis.
    var ticks: [(x: Double, text: String)]
    var limit: Double?
    /// Places from 0 to 1 of the starts of phases, each with a short sign.
    var marks: [(x: Double, sign: String)] = []
    /// Whether each point is drawn as a dot, since it is a measurement of its own.
    var showsDots = false

    private static let (width, height, left, right, top, bottom) = (400.0, 240.0, 68.0, 388.0, 44.0, 192.0)

    private static let unitLine = 30.0

    var markup: Markup {
        let scale = ChartScale(highest: max(points.compactMap(\.y).max() ?? 0, limit ?? 0), steps: unit.steps)
        func place(_ x: Double) -> Double { Self.left + (Self.right - Self.left) * min(1, max(0, x)) }
        func rise(_ y: Double) -> Double {
            Self.bottom - (Self.bottom - Self.top) * min(1, max(0, y / scale.end))
        }
        var parts: [Markup] = [
            .element("title", [:], title), .element("desc", [:], "\(up), over \(across)."),
            Drawing.text(title, Self.left - 60, 14, anchor: "start", style: "font-weight:600"),
            Drawing.text(up, Self.left - 60, Self.unitLine, anchor: "start", isSoft: true),
        ]
        for y in scale.ticks {
            parts.append(Drawing.line(Self.left, rise(y), Self.right, rise(y), "grid"))
            parts.append(Drawing.text(unit.words(y), Self.left - 6, rise(y) + 4, anchor: "end"))
        }
        for tick in ticks {
            parts.append(Drawing.line(place(tick.x), Self.bottom, place(tick.x), Self.bottom + 4, "axis"))
            // The drawing ends soon after the axis.
            let isLast = place(tick.x) > Self.width - 20
            parts.append(
                Drawing.text(
                    tick.text, isLast ? Self.width - 2 : place(tick.x), Self.bottom + 17,
                    anchor: isLast ? "end" : "middle"))
        }
        parts.append(
            Drawing.text(across, (Self.left + Self.right) / 2, Self.bottom + 36, anchor: "middle", isSoft: true))
        for mark in marks {
            parts.append(Drawing.line(place(mark.x), Self.top, place(mark.x), Self.bottom, "mark"))
            parts.append(Drawing.text(mark.sign, place(mark.x), Self.top - 3, anchor: "middle", isSoft: true))
        }
        for run in runs {
            let dots = run.map { (place($0.x), rise($0.y)) }
            if let first = dots.first, let last = dots.last, !showsDots {
                parts.append(Drawing.polygon(dots + [(last.0, Self.bottom), (first.0, Self.bottom)], "area"))
            }
            parts.append(Drawing.polyline(dots, "curve"))
            for (x, y) in dots where showsDots || run.count == 1 {
                parts.append(.element("circle", ["class": "dot", "cx": x, "cy": y, "r": "3.5"]))
            }
        }
        parts.append(Drawing.line(Self.left, Self.bottom, Self.right, Self.bottom, "axis"))
        if let limit {
            parts.append(Drawing.line(Self.left, rise(limit), Self.right, rise(limit), "limit"))
            // The label is beside the unit, away from the signs above the chart and from the curve.
            parts.append(Drawing.text("limit \(unit.words(limit))", Self.right, Self.unitLine, anchor: "end"))
        }
        return Drawing.figure(title, width: Self.width, height: Self.height, parts)
    }

    /// The runs of points without gaps.
    private var runs: [[(x: Double, y: Double)]] {
        var runs: [[(x: Double, y: Double)]] = [[]]
        for point in points {
            if let y = point.y {
                runs[runs.count - 1].append((point.x, y))
            } else if !runs[runs.count - 1].isEmpty {
                runs.append([])
            }
        }
        return runs.filter { !$0.isEmpty }
    }
}

/// Round numbers on an axis from zero up.
struct ChartScale {
    /// The allowed distances between two ticks, within a power of the base.
    struct Steps: Sendable {
        var base: Double
        var within: [Double]
    }

    static let decimal = Steps(base: 10, within: [1, 2, 5])
    /// Seconds, minutes and hours, for times of some seconds or more.
    static let clock = Steps(base: 60, within: [1, 2, 5, 10, 15, 30])
    /// Bytes, in powers of two.
    static let binary = Steps(base: 1_024, within: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512])

    let end: Double
    let ticks: [Double]

    init(highest: Double, steps: Steps = decimal, most: Int = 5) {
        let highest = highest.isFinite && highest > 0 ? highest : 1
        var power = 1.0
        while power > highest { power /= steps.base }
        while power * steps.base <= highest { power *= steps.base }
        // One power lower, too: some ticks must be below the highest value.
        let candidates = [power / steps.base, power, power * steps.base].flatMap { power in
            steps.within.map { $0 * power }
        }
        let step = candidates.first { highest / $0 <= Double(most) } ?? highest
        let count = max(1, Int((highest / step).rounded(.up)))
        end = Double(count) * step
        ticks = (0...count).map { Double($0) * step }
    }
}
