internal import Ferry
internal import FerryBase

/// The phases of each step over the time of a run, one line each.
struct PhaseDrawing {
    private static let (width, left, right, top, pitch, bar) = (400.0, 160.0, 320.0, 26.0, 20.0, 12.0)
    /// More lines would fill several screens: then a phase has one line for all steps.
    private static let mostLines = 40

    private let lines: [(key: String, elements: [RunSamples.Span])]
    private let total: Double

    /// `label` words a phase.
    init(_ samples: RunSamples, label: (Phase) -> String) {
        let each = samples.spans.groups { ($0.step.map { "step \($0): " } ?? "") + label($0.phase) }
        lines = each.count > Self.mostLines ? samples.spans.groups { label($0.phase) } : each
        total = samples.spans.map(\.end).max() ?? 0
    }

    /// Nil if there is nothing to compare.
    var markup: Markup? {
        guard lines.count > 1, total > 0 else { return nil }
        let title = "Phases of each step over the time of the run"
        func place(_ seconds: Double) -> Double { Self.left + (Self.right - Self.left) * min(1, seconds / total) }
        let bottom = Self.top + Double(lines.count) * Self.pitch
        var parts: [Markup] = [.element("title", [:], title)]
        let scale = ChartScale(highest: total, steps: total < 10 ? ChartScale.decimal : ChartScale.clock, most: 4)
        for tick in scale.ticks where tick <= total {
            parts.append(Drawing.line(place(tick), Self.top - 6, place(tick), bottom, "grid"))
            parts.append(
                Drawing.text(
                    Quantity.durationText(seconds: tick), place(tick), Self.top - 10, anchor: "middle", isSoft: true))
        }
        for (index, (label, spans)) in lines.enumerated() {
            let y = Self.top + Double(index) * Self.pitch
            parts.append(
                Drawing.text(label, Self.left - 8, y + Self.bar - 2, within: Self.left - 12, size: 11, anchor: "end"))
            for span in spans {
                let rect = Rect(
                    x: place(span.start), y: y, width: max(1, place(span.end) - place(span.start)), height: Self.bar)
                parts.append(Drawing.rect(rect, "span"))
            }
            let seconds = spans.map { $0.end - $0.start }.reduce(0, +)
            parts.append(
                Drawing.text(Quantity.durationText(seconds: seconds), Self.right + 8, y + Self.bar - 2, isSoft: true))
        }
        return .element(
            "figure", [:], Drawing.figure(title, width: Self.width, height: bottom + 8, parts),
            .element("figcaption", [:], "\(title). At the right: the time of each line."))
    }
}
