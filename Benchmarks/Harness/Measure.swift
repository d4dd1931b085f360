/// A figure that a case is judged by.
package struct Measure: Sendable {
    package enum Unit: String, Sendable, Codable {
        /// Of times.
        case ratio
        /// Of processor times.
        case workRatio
        /// Of sizes.
        case sizeRatio
        case bytes, seconds, count
    }

    /// Which way is better.
    package enum Better: String, Sendable, Codable { case higher, lower }

    /// Times say something on a machine that does nothing else: they are for the full scale alone.
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
    /// What the design asks for; nil where it asks for nothing.
    package var budget: Double?
    /// Which gates look at it.
    package var gate: GateUse
    /// The figure of one repetition; nil where it cannot be had.
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
    /// How quick a side is against a floor: 1 is as quick, 2 twice as quick.
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

    /// How long a side takes against a floor: 1 is as long, 2 twice as long.
    package static func time(of side: String, against floor: String, budget: Double? = nil) -> Measure {
        Measure("time \(side)/\(floor)", .ratio, better: .lower, budget: budget, gate: .atFullScale) { round in
            guard let point = round.points.last, let own = round.sample(side, at: point),
                let other = round.sample(floor, at: point), other.seconds > 0
            else { return nil }
            return own.seconds / other.seconds
        }
    }

    /// Processor time against a floor, in all threads and programs that were run: what a busy disk does not change, and
    /// other work on the machine little.
    package static func work(of side: String = "ferry", against floor: String) -> Measure {
        Measure("processor time \(side)/\(floor)", .workRatio, better: .lower) { round in
            guard let point = round.points.last, let own = round.sample(side, at: point)?.processorSeconds,
                let other = round.sample(floor, at: point)?.processorSeconds, other > 0
            else { return nil }
            return own / other
        }
    }

    /// Bytes written against a floor.
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

    /// How much more memory the last point takes than the first.
    ///
    /// Below a hundred thousand rows caches still fill, which is no growth with rows.
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
