internal import FerryBase

/// The samples of a run as curves over its time.
struct RunCurve {
    struct Mark {
        var place: Double
        var sign: String
        var phase: String
        var step: Int64?
    }

    private let seconds: Double
    private let intervals: [JSON]

    init(_ samples: JSON) {
        seconds = samples["intervalSeconds"].number ?? 0
        intervals = Array(samples["intervals"].elements.prefix(RunSamples.most))
    }

    /// A run of one interval is no curve.
    var isDrawn: Bool { intervals.count > 1 && seconds > 0 }

    /// Where phases begin; those that begin in one interval, or too close to be told apart, share a place.
    var marks: [Mark] {
        var marks: [Mark] = []
        var last: (phase: String, step: Int64?)?
        for (index, interval) in intervals.enumerated() {
            guard let phase = interval["phase"].text else { continue }
            let step = interval["step"].whole
            guard last?.phase != phase || last?.step != step else { continue }
            last = (phase, step)
            guard marks.count < Self.signs.count else { break }
            marks.append(
                Mark(place: place(index), sign: String(Self.signs[marks.count]), phase: phase, step: step))
        }
        return marks
    }

    private static let signs = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ")

    func memory(limit: Int64?) -> Markup {
        chart(
            "Memory", up: "resident memory, bytes", intervals.map { $0["memoryBytes"].number },
            limit: limit.map { (Double($0), "limit \(Quantity.sizeText($0))") }, steps: ChartScale.binary
        ) { Quantity.sizeText(Quantity.whole($0)) }
    }

    var speed: Markup {
        chart("Throughput", up: "rows a second", intervals.map { ($0["rows"].number ?? 0) / seconds }) {
            Quantity.grouped(Quantity.whole($0))
        }
    }

    private func chart(
        _ title: String, up: String, _ values: [Double?], limit: (value: Double, name: String)? = nil,
        steps: ChartScale.Steps = ChartScale.decimal, words: @escaping (Double) -> String
    ) -> Markup {
        let scale = ChartScale(highest: total, most: 4)
        return LineChart(
            title: title, across: "time since the start, \(unit.name)", up: up,
            points: values.enumerated().map { (place($0.offset), $0.element) },
            ticks: scale.ticks.filter { $0 <= total }.map {
                ($0 / total, Quantity.decimal($0, places: total < 1 ? 2 : total < 10 ? 1 : 0))
            }, limit: limit, marks: spread, steps: steps, words: words
        ).markup
    }

    /// The marks with their signs, of which those too close to each other become one.
    private var spread: [(x: Double, sign: String)] {
        var spread: [(x: Double, sign: String)] = []
        for mark in marks {
            if let last = spread.last, mark.place - last.x < 0.05 {
                // The first and the last one of a crowd say which stand there.
                spread[spread.count - 1].sign = "\(last.sign.prefix(1))–\(mark.sign)"
            } else {
                spread.append((mark.place, mark.sign))
            }
        }
        return spread
    }

    private func place(_ index: Int) -> Double { Double(index) / Double(max(1, intervals.count - 1)) }

    private var unit: (name: String, seconds: Double) {
        let all = seconds * Double(intervals.count - 1)
        return all < 300 ? ("seconds", 1) : all < 18_000 ? ("minutes", 60) : ("hours", 3_600)
    }

    /// In the axis's unit.
    private var total: Double { seconds * Double(intervals.count - 1) / unit.seconds }
}
