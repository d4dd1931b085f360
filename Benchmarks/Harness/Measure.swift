/// A figure by which a case is judged.
package struct Measure: Sendable {
    package enum Unit: String, Sendable, Codable {
        /// A ratio of times.
        case ratio
        /// A ratio of processor times.
        case workRatio
        /// A ratio of sizes.
        case sizeRatio
        case bytes, seconds, count
    }

    /// The direction of an improvement.
    package enum Better: String, Sendable, Codable { case higher, lower }

    /// Times are comparable only on an otherwise idle machine: only the full scale gates them.
    package enum GateUse: String, Sendable, Codable {
        case always, atFullScale, never

        func looks(at scale: Thresholds.Scale) -> Bool {
            switch self {
            case .always: true
            case .atFullScale: scale == .full
            case .never: false
            }
        }
    }

    /// Unique within its case.
    package var name: String
    package var unit: Unit
    package var better: Better
    /// The design's budget; nil where the design has none.
    package var budget: Double?
    /// The gates that check the measure.
    package var gate: GateUse
    /// The figure of one repetition; nil where the system does not provide the figure.
    package var value: @Sendable (Round) -> Double?

    package init(
        _ name: String, _ unit: Unit, better: Better, budget: Double? = nil, gate: GateUse = .always,
        value: @escaping @Sendable (Round) -> Double?
    ) {
        self.name = name
        self.unit = unit
        self.better = better
        self.budget = budget
        self.gate = gate
        self.value = value
    }

    /// Whether a value is at least as good as a limit.
    package func isWithin(_ value: Double, _ limit: Double) -> Bool {
        switch better {
        case .higher: value >= limit
        case .lower: value <= limit
        }
    }
}

// The measures that most cases have; each is taken at the last point, where there is most data.
extension Measure {
    /// The speed of a side relative to a floor: 1 is equal, 2 is twice as fast.
    package static func speed(
        of side: String = "ferry", against floor: String, budget: Double? = nil, gate: GateUse = .atFullScale
    ) -> Measure {
        Measure("speed \(side)/\(floor)", .ratio, better: .higher, budget: budget, gate: gate) { round in
            guard let point = round.points.last, let own = round.sample(side, at: point),
                let other = round.sample(floor, at: point), own.seconds > 0
            else { return nil }
            return other.seconds / own.seconds
        }
    }

    /// The time of a side relative to a floor: 1 is equal, 2 is twice as long.
    package static func time(of side: String, against floor: String, budget: Double? = nil) -> Measure {
        Measure("time \(side)/\(floor)", .ratio, better: .lower, budget: budget, gate: .atFullScale) { round in
            guard let point = round.points.last, let own = round.sample(side, at: point),
                let other = round.sample(floor, at: point), other.seconds > 0
            else { return nil }
            return own.seconds / other.seconds
        }
    }

    /// Processor time relative to a floor, of all threads and child programs: a busy disk does not change processor
    /// time, and other work on the machine changes it little.
    package static func work(of side: String = "ferry", against floor: String) -> Measure {
        Measure("processor time \(side)/\(floor)", .workRatio, better: .lower) { round in
            guard let point = round.points.last, let own = round.sample(side, at: point)?.processorSeconds,
                let other = round.sample(floor, at: point)?.processorSeconds, other > 0
            else { return nil }
            return own / other
        }
    }

    /// Bytes written, relative to a floor.
    package static func written(
        by side: String = "ferry", against floor: String, budget: Double? = nil
    ) -> Measure {
        Measure("bytes written \(side)/\(floor)", .sizeRatio, better: .lower, budget: budget) { round in
            guard let point = round.points.last, let own = round.sample(side, at: point)?.writtenBytes,
                let other = round.sample(floor, at: point)?.writtenBytes, other > 0
            else { return nil }
            return Double(own) / Double(other)
        }
    }

    package static func peak(of side: String = "ferry", budget: Double? = 32 * 1024 * 1024) -> Measure {
        Measure("peak memory of \(side)", .bytes, better: .lower, budget: budget) { round in
            round.points.last.flatMap { round.sample(side, at: $0)?.peakBytes }.map(Double.init)
        }
    }

    /// The memory at the last point beyond that at the first.
    ///
    /// Below 100,000 rows caches still fill, which is not growth with rows.
    package static func growth(of side: String, budget: Double = 1024 * 1024) -> Measure {
        Measure("growth of \(side)", .bytes, better: .lower, budget: budget) { round in
            guard let first = round.points.first, let last = round.points.last, first.rows >= 100_000,
                let small = round.sample(side, at: first)?.peakBytes,
                let large = round.sample(side, at: last)?.peakBytes
            else { return nil }
            return Double(max(0, large - small))
        }
    }

    package static func statements(of side: String = "ferry") -> Measure {
        Measure("statements of \(side)", .count, better: .lower) { round in
            round.points.last.flatMap { round.counted(side, at: $0)?.statements }.map(Double.init)
        }
    }

    package static func allocationsPerRow(of side: String = "ferry") -> Measure {
        Measure("allocations per row of \(side)", .count, better: .lower) { round in
            guard let point = round.points.last, let sample = round.counted(side, at: point), sample.rows > 0 else {
                return nil
            }
            return sample.allocations.map { Double($0) / Double(sample.rows) }
        }
    }
}
