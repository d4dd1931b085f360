internal import FerryBase
internal import FerryMapping
internal import FerryPlan

/// How much of a run is done, and how long the rest takes.
///
/// A run is a list of pieces: the phases of each step, each with the work that its rows make it. What a phase has taken in
/// an earlier step of this call tells what it takes in a later one; before that, shares that were measured once do. It is
/// told the time, and asks no clock.
package struct RunEstimate {
    /// What one row costs in each phase, in a measure of its own: a million books over three copied steps, verified in full.
    private enum Cost {
        static let snapshot = 4.0
        static let rows = 4.0
        static let relationships = 1.5
        static let indexes = 3.5
        static let verify = 8.0
        static let quickVerify = 2.0
        static let swap = 1.5
    }

    package struct Extent: Sendable {
        /// The rows that each step reads, as far as known.
        var rows: [Double]
        /// Whether each step is a copy; one in place relates and indexes its rows as it goes.
        var isCopy: [Bool]
        var takesSnapshot: Bool
        var verify: Configuration.VerifyMode
        /// Whether what was made is written into the store at the end.
        var swaps: Bool

        package init(
            rows: [Double], isCopy: [Bool], takesSnapshot: Bool = false, verify: Configuration.VerifyMode = .full,
            swaps: Bool = false
        ) {
            self.rows = rows
            self.isCopy = isCopy
            self.takesSnapshot = takesSnapshot
            self.verify = verify
            self.swaps = swaps
        }
    }

    private struct Piece {
        var phase: Phase
        var step: Int?
        var rows: Double
        var work: Double
    }

    private struct Measured {
        var seconds = 0.0
        var work = 0.0
    }

    private let pieces: [Piece]
    private let total: Double
    /// What the phases of this call have taken.
    private var measured: [Phase: Measured] = [:]
    /// How many rows verification counts for each row of a step: those of both stores, links and indexes.
    private var verifiedPerRow = 3.0
    /// The piece at work; nil between pieces.
    private var current: Int?
    private var before = 0.0
    private var start: UInt64 = 0
    private var share = 0.0
    private var firstShare: Double?
    private var counted = 0.0

    package init(_ extent: Extent) {
        var pieces: [Piece] = []
        let first = extent.rows.first ?? 0
        func add(_ phase: Phase, _ step: Int?, _ rows: Double, _ cost: Double) {
            // Also a step without a row takes its moment.
            pieces.append(Piece(phase: phase, step: step, rows: rows, work: cost * max(rows, 1)))
        }
        if extent.takesSnapshot { add(.snapshot, nil, first, Cost.snapshot) }
        for (index, rows) in extent.rows.enumerated() {
            add(.rows, index + 1, rows, Cost.rows)
            if extent.isCopy.indices.contains(index), extent.isCopy[index] {
                add(.relationships, index + 1, rows, Cost.relationships)
                add(.indexes, index + 1, rows, Cost.indexes)
            }
            switch extent.verify {
            case .none: break
            case .quick: add(.verify, index + 1, rows, Cost.quickVerify)
            default: add(.verify, index + 1, rows, Cost.verify)
            }
        }
        if extent.swaps { add(.swap, nil, extent.rows.last ?? first, Cost.swap) }
        self.pieces = pieces
        total = pieces.map(\.work).reduce(0, +)
    }

    /// A phase begins; what came before it is done.
    package mutating func begin(_ phase: Phase, step: Int?, at now: UInt64) {
        finish(at: now)
        let found = pieces.firstIndex { $0.phase == phase && ($0.step == step || $0.step == nil) }
        current = found
        let place =
            found ?? pieces.firstIndex { ($0.step ?? .max, $0.phase.order) >= (step ?? ($0.step ?? .max), phase.order) }
        let done = pieces[..<(place ?? (phase.order > Phase.verify.order ? pieces.count : 0))].map(\.work).reduce(0, +)
        before = max(before, done)
        (start, share, firstShare, counted) = (now, 0, nil, 0)
    }

    /// So many rows of the phase at work are counted, or so much of it is known to be done.
    package mutating func advance(rows: Int64, of known: Double?) {
        guard let current else { return }
        counted = Double(rows)
        let piece = pieces[current]
        let expected = piece.rows * (piece.phase == .verify ? verifiedPerRow : 1)
        // What is counted may be more than was expected; the end of a phase is told by the next one.
        share = max(share, min(0.98, known ?? (expected > 0 ? counted / expected : 0)))
        if firstShare == nil { firstShare = share }
    }

    private mutating func finish(at now: UInt64) {
        guard let current else { return }
        let piece = pieces[current]
        let work = piece.work * (1 - (firstShare ?? 0))
        measured[piece.phase, default: Measured()].seconds += Self.seconds(from: start, to: now)
        measured[piece.phase, default: Measured()].work += work
        if piece.phase == .verify, piece.rows > 0, counted > 0 { verifiedPerRow = counted / piece.rows }
        self.current = nil
    }

    /// How much of the run is done.
    package var fraction: Double {
        total > 0 ? min(1, (before + (current.map { pieces[$0].work * share } ?? 0)) / total) : 0
    }

    /// The seconds to the end; nil while nothing was measured.
    package func secondsLeft(at now: UInt64) -> Double? {
        var known = Measured()
        for part in measured.values {
            known.seconds += part.seconds
            known.work += part.work
        }
        var left = 0.0
        var next = 0
        if let current {
            let piece = pieces[current]
            let elapsed = Self.seconds(from: start, to: now)
            let done = share - (firstShare ?? 0)
            // Of the phase at work, once a tenth of it tells more than what others have taken.
            let own = done >= 0.1 ? elapsed * (1 - share) / done : nil
            if own != nil {
                known.seconds += elapsed
                known.work += piece.work * done
            }
            guard known.work > 0 else { return nil }
            let whole = piece.work * (1 - (firstShare ?? 0)) * secondsPerWork(piece.phase, known)
            // A phase that takes longer than foreseen is told to be about to end, for nothing else is known.
            let foreseen = max(whole - elapsed, whole / 20)
            // Verification counts in leaps, so its count alone is no measure of its time: the middle of both.
            left += own.map { piece.phase == .verify ? ($0 + foreseen) / 2 : $0 } ?? foreseen
            next = current + 1
        } else {
            next = pieces.count
            var sum = 0.0
            for (index, piece) in pieces.enumerated() {
                if sum >= before { next = min(next, index) }
                sum += piece.work
            }
        }
        guard known.work > 0, known.seconds > 0 else { return nil }
        for piece in pieces[next...] { left += piece.work * secondsPerWork(piece.phase, known) }
        return left
    }

    private func secondsPerWork(_ phase: Phase, _ known: Measured) -> Double {
        if let own = measured[phase], own.work > 0 { return own.seconds / own.work }
        return known.seconds / known.work
    }

    private static func seconds(from start: UInt64, to now: UInt64) -> Double {
        Double(Clock.nanoseconds(from: start, to: now)) / 1e9
    }
}

extension MigrationPlan {
    /// The rows that each step reads; where only the run will tell, those of an entity of the same name before it.
    var rowsOfSteps: [Double] {
        var last: [String: Int64] = [:]
        return steps.map { step in
            let mappings = step.partitions.flatMap(\.entityMappings)
            let rows = mappings.map { $0.isKnown ? $0.rows : last[$0.mapping.source] ?? 0 }
            for (mapping, rows) in zip(mappings, rows) {
                last[mapping.mapping.source] = max(last[mapping.mapping.source] ?? 0, rows)
            }
            return Double(rows.clampedSum)
        }
    }
}
