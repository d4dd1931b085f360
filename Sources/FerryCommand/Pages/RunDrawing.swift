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

    mutating func begin(_ phase: Phase, step: Int?, at seconds: Double, memoryBytes: Int64?) {
        let isNew = spans.last?.phase != phase || spans.last?.step != step
        // The run begins with its first phase, which is told when its plan is made.
        let start = spans.isEmpty ? 0 : max(0, seconds.isFinite ? seconds : 0)
        if isNew, spans.count < Self.mostSpans {
            if !spans.isEmpty { spans[spans.count - 1].end = max(spans[spans.count - 1].end, start) }
            spans.append(Span(phase: phase, step: step, start: start, end: start))
        }
        sample(at: seconds, memoryBytes: memoryBytes)
    }

    mutating func sample(at seconds: Double, memoryBytes: Int64?) {
        let seconds = max(0, seconds.isFinite ? seconds : 0)
        if !spans.isEmpty { spans[spans.count - 1].end = max(spans[spans.count - 1].end, seconds) }
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

    /// The samples until now.
    var samples: RunSamples {
        sample()
        return state.withLock { $0 }
    }

    init() { sampleLater() }

    private func sampleLater() {
        queue.asyncAfter(deadline: .now() + .milliseconds(Self.timerMilliseconds)) { [weak self] in
            guard let self else { return }
            sample()
            sampleLater()
        }
    }

    private func sample() {
        state.withLock { $0.sample(at: Clock.seconds(since: start), memoryBytes: ResidentMemory.bytes()) }
    }

    func begin(_ phase: Phase, step: Int?) {
        state.withLock {
            $0.begin(phase, step: step, at: Clock.seconds(since: start), memoryBytes: ResidentMemory.bytes())
        }
    }
}

/// The memory of a run against its limit and, below it over the same time, the phases of each step.
struct RunDrawing {
    private static let (width, left, right, top, plot) = (400.0, 160.0, 332.0, 28.0, 110.0)
    private static let (pitch, bar) = (20.0, 12.0)
    /// More lines would fill several screens: then a phase has one line for all steps.
    private static let mostLines = 40
    private static let title = "Memory, and the phases of each step, over the time of the run"

    private let memory: [(seconds: Double, bytes: Double)]
    private let lines: [(key: String, elements: [RunSamples.Span])]
    private let total: Double
    private let limit: Double
    /// That of the report, if it tells one: another number would contradict it.
    private let peak: Double

    init(_ samples: RunSamples, limit: Int64, peak: Int64? = nil, label: (Phase) -> String) {
        memory = samples.memory.enumerated().compactMap { index, bytes in
            bytes.map { (Double(index) * samples.intervalSeconds, Double(max(0, $0))) }
        }
        let each = samples.spans.groups { ($0.step.map { "step \($0): " } ?? "") + label($0.phase) }
        lines = each.count > Self.mostLines ? samples.spans.groups { label($0.phase) } : each
        total = max(samples.spans.map(\.end).max() ?? 0, memory.last?.seconds ?? 0)
        self.limit = Double(limit)
        self.peak = peak.map(Double.init) ?? memory.map(\.bytes).max() ?? 0
    }

    var markup: Markup? {
        guard lines.count > 1, total > 0, total.isFinite else { return nil }
        let bottom = Self.top + Self.plot + 14 + Double(lines.count) * Self.pitch
        return Drawing.figure(
            Self.title,
            "\(Self.title). Dashed: the memory limit. At the right: the peak, and the time of each line.",
            width: Self.width, height: bottom, axis(to: bottom) + curve + bars)
    }

    private func place(_ seconds: Double) -> Double {
        Self.left + (Self.right - Self.left) * min(1, max(0, seconds / total))
    }

    private func axis(to bottom: Double) -> [Markup] {
        let steps = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200]
        let step = steps.first { total / $0 <= 3.5 } ?? total / 3
        return (0...3).map { Double($0) * step }.filter { $0 <= total }.flatMap { tick in
            [
                Drawing.line(place(tick), Self.top - 6, place(tick), bottom, "grid"),
                Drawing.text(
                    Quantity.durationText(seconds: tick), place(tick), Self.top - 10, anchor: "middle", isSoft: true),
            ]
        }
    }

    private var curve: [Markup] {
        let high = max(peak, limit) * 1.15
        guard high > 0, let first = memory.first, let last = memory.last else { return [] }
        let bottom = Self.top + Self.plot
        func rise(_ bytes: Double) -> Double { bottom - Self.plot * min(1, bytes / high) }
        let points = memory.map { (place($0.seconds), rise($0.bytes)) }
        let edges = [(place(last.seconds), bottom), (place(first.seconds), bottom)]
        var parts = [
            Drawing.points("polygon", points + edges, "area"), Drawing.points("polyline", points, "curve"),
            Drawing.line(Self.left, bottom, Self.right, bottom, "grid"),
            Drawing.text("memory 0", Self.left - 6, bottom + 4, anchor: "end"),
        ]
        if limit > 0 {
            parts.append(Drawing.line(Self.left, rise(limit), Self.right, rise(limit), "limit"))
            parts.append(
                Drawing.text("limit \(size(limit))", Self.left - 6, rise(limit) + 4, anchor: "end", isSoft: true))
        }
        parts.append(Drawing.text(size(peak), Self.right + 8, rise(peak) + 4))
        return parts
    }

    private func size(_ bytes: Double) -> String { Quantity.whole(bytes).bytesInUnits }

    private var bars: [Markup] {
        lines.enumerated().flatMap { index, line -> [Markup] in
            let y = Self.top + Self.plot + 14 + Double(index) * Self.pitch
            let seconds = line.elements.map { $0.end - $0.start }.reduce(0, +)
            let text = y + Self.bar - 2
            return [
                Drawing.text(line.key, Self.left - 8, text, within: Self.left - 12, size: 11, anchor: "end"),
                Drawing.text(Quantity.durationText(seconds: seconds), Self.right + 8, text, isSoft: true),
            ]
                + line.elements.map { span in
                    let width = max(1, place(span.end) - place(span.start))
                    return Drawing.rect(Rect(x: place(span.start), y: y, width: width, height: Self.bar), "node")
                }
        }
    }
}
