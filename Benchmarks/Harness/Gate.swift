/// The comparison of a run's figures with the recorded thresholds.
///
/// The gate takes the best repetition, and a case that fails is measured again: a busy machine makes single repetitions
/// worse, a regression makes all of them worse.
package struct Gate: Sendable {
    package struct Verdict: Sendable, Hashable {
        package var benchmark: String
        package var measure: String
        package var unit: Measure.Unit
        package var value: Double
        /// Nil for a measure without a recorded threshold; such a measure passes only if its whole case has none.
        package var limit: Double?
        package var holds: Bool
    }

    package private(set) var verdicts: [Verdict]

    package init(_ results: [CaseResult], thresholds: Thresholds, scale: Thresholds.Scale) {
        verdicts = results.flatMap { result in
            let isRecorded = thresholds.hasLimits(of: result.name, at: scale)
            return result.measures.filter { $0.gate.looks(at: scale) }.map { measure in
                let limit = thresholds.limit(of: measure.name, in: result.name, at: scale)
                let value = measure.better == .higher ? measure.value.highest : measure.value.lowest
                let holds = limit.map { measure.better == .higher ? value >= $0 : value <= $0 } ?? !isRecorded
                return Verdict(
                    benchmark: result.name, measure: measure.name, unit: measure.unit, value: value, limit: limit,
                    holds: holds)
            }
        }
    }

    /// Replaces each verdict that fails by the one of a later measurement of its case, if that one holds.
    package mutating func takeBetter(of later: Gate) {
        for index in verdicts.indices where !verdicts[index].holds {
            let verdict = verdicts[index]
            let repeated = later.verdicts.first {
                $0.benchmark == verdict.benchmark && $0.measure == verdict.measure
            }
            if let repeated, repeated.holds { verdicts[index] = repeated }
        }
    }

    package var failures: [Verdict] { verdicts.filter { !$0.holds } }

    /// The measures without a recorded threshold.
    package var unknown: [Verdict] { verdicts.filter { $0.limit == nil } }
}
