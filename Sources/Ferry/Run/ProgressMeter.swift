internal import FerryBase
internal import Synchronization

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

/// How far a run is, in a small file of its run folder, for `status` to read.
///
/// The destination knows better, but a reader of it could keep a unit from being committed. So the file is written
/// beside it, at each new phase and else at most once a second, by a rename and without a sync: it is never read to go
/// on with a run.
final class ProgressMeter: Sendable {
    /// What one phase is of a run, by rule of thumb: rows of a step count 4.
    private enum Share {
        static let snapshot = 1.0
        static let rows = 4.0
        static let relationships = 1.0
        static let indexes = 1.0
        static let verify = 2.0
    }

    struct Extent: Sendable {
        var runID: String
        var steps: Int
        /// Rows that a step reads, as far as known.
        var rows: Int64
        var takesSnapshot: Bool
        var verifies: Bool
        /// Whether each step is a copy; one in place relates and indexes its rows as it goes.
        var isCopy: [Bool]
    }

    private struct State {
        var phase = Phase.preflight
        var step: Int?
        var subject: String?
        /// By entity mapping or table of the phase at work.
        var done: [String: Int64] = [:]
        var doneAtStart: Int64?
        var phaseStart: UInt64 = 0
        var share = 0.0
        /// Of the run, when this call first knew it.
        var firstFraction: Double?
        var firstTime: UInt64 = 0
        var fraction: Double?
        var written: UInt64?
    }

    private let path: String
    private let extent: Extent
    private let state = Mutex(State())
    /// Not the run's: a file that is written by the clock must not change the count of a run's operations.
    private let files = FileLayer()

    init(in folder: String, _ extent: Extent) {
        path = Self.path(in: folder)
        self.extent = extent
    }

    static func path(in folder: String) -> String { folder + "/progress.json" }

    // MARK: Measuring

    func begin(_ phase: Phase, step: Int?) {
        state.withLock { state in
            enter(phase, step, &state)
            write(&state, isDue: true)
        }
    }

    /// - Returns: How much of the run is done, and the seconds to its end.
    func take(_ update: ProgressUpdate, step: Int?) -> (fraction: Double?, secondsLeft: Double?) {
        state.withLock { state in
            let isNew = state.phase != update.phase || state.step != step
            if isNew { enter(update.phase, step, &state) }
            state.subject = update.subject
            if update.phase != .verify || update.total != nil { state.done[update.subject ?? ""] = update.done }
            if update.phase == .snapshot, let total = update.total, total > 0 {
                state.share = Double(update.done) / Double(total)
            } else if extent.rows > 0, [.rows, .relationships, .verify].contains(update.phase) {
                state.share = min(1, Double(Self.sum(state.done)) / Double(extent.rows))
            }
            measure(&state)
            write(&state, isDue: isNew)
            return (state.fraction, secondsLeft(state, at: Clock.nanoseconds()))
        }
    }

    /// Writes how far the run is when a call ends.
    func end() { state.withLock { write(&$0, isDue: true) } }

    private func enter(_ phase: Phase, _ step: Int?, _ state: inout State) {
        state.phase = phase
        state.step = step
        state.subject = nil
        state.done = [:]
        state.doneAtStart = nil
        state.phaseStart = Clock.nanoseconds()
        state.share = 0
        measure(&state)
    }

    private func measure(_ state: inout State) {
        let now = Clock.nanoseconds()
        if state.doneAtStart == nil, !state.done.isEmpty { state.doneAtStart = Self.sum(state.done) }
        guard let fraction = fraction(state) else { return }
        // What is estimated may turn out to be more, but a run never goes backwards.
        state.fraction = max(fraction, state.fraction ?? 0)
        if state.firstFraction == nil { (state.firstFraction, state.firstTime) = (state.fraction, now) }
    }

    private static func sum(_ done: [String: Int64]) -> Int64 { done.values.clampedSum }

    private func fraction(_ state: State) -> Double? {
        var total = extent.takesSnapshot ? Share.snapshot : 0
        var before = 0.0
        if state.phase == .preflight { return 0 }
        if state.phase == .snapshot { before = Share.snapshot * state.share }
        if state.phase.order > Phase.snapshot.order, extent.takesSnapshot { before = Share.snapshot }
        let step = state.phase.order >= Phase.swap.order ? extent.steps + 1 : state.step ?? 1
        for number in 1...max(1, extent.steps) {
            for (phase, share) in shares(ofStep: number) {
                total += share
                if state.phase.order <= Phase.snapshot.order { continue }
                if number < step || (number == step && phase.order < state.phase.order) { before += share }
                if number == step, phase == state.phase { before += share * state.share }
            }
        }
        return total > 0 ? min(1, before / total) : nil
    }

    private func shares(ofStep number: Int) -> [(Phase, Double)] {
        var shares = [(Phase.rows, Share.rows)]
        if extent.isCopy.indices.contains(number - 1), extent.isCopy[number - 1] {
            shares += [(.relationships, Share.relationships), (.indexes, Share.indexes)]
        }
        return shares + (extent.verifies ? [(.verify, Share.verify)] : [])
    }

    /// At the speed of this call so far; nil in its first second, when it means nothing yet.
    private func secondsLeft(_ state: State, at now: UInt64) -> Double? {
        let inCall = Double(Clock.nanoseconds(from: state.firstTime, to: now)) / 1e9
        guard let fraction = state.fraction, let first = state.firstFraction, fraction > first, inCall >= 1 else {
            return nil
        }
        return inCall * (1 - fraction) / (fraction - first)
    }

    // MARK: The file

    /// What the file holds.
    struct Content: Codable, Sendable {
        var ferry = 1
        var runID: String
        var phase: Phase
        var step: Int?
        var steps: Int
        /// The entity mapping, table or index at work.
        var subject: String?
        var fraction: Double?
        var rowsPerSecond: Double?
        var etaSeconds: Double?
    }

    private func write(_ state: inout State, isDue: Bool) {
        let now = Clock.nanoseconds()
        if !isDue, let written = state.written, Clock.nanoseconds(from: written, to: now) < 1_000_000_000 { return }
        state.written = now
        var content = Content(
            runID: extent.runID, phase: state.phase, step: state.step, steps: extent.steps, subject: state.subject,
            fraction: state.fraction)
        let inPhase = Double(Clock.nanoseconds(from: state.phaseStart, to: now)) / 1e9
        if [.rows, .verify].contains(state.phase), let first = state.doneAtStart, inPhase >= 0.5 {
            let rows = Self.sum(state.done) - first
            if rows > 0 { content.rowsPerSecond = Double(rows) / inPhase }
        }
        content.etaSeconds = secondsLeft(state, at: now)
        // Nothing of the run depends on this file: one that cannot be written is only not read.
        do {
            let aside = path + ".new"
            try files.removeIfPresent(aside)
            var output = try files.create(aside, mode: 0o600)
            try output.write([UInt8](JSONEncoder().encode(content)))
            try output.close()
            try files.rename(aside, to: path)
        } catch {}
    }

    /// What a run of this id last wrote; nil when there is nothing that can be read.
    static func read(in folder: String, of runID: String) -> Content? {
        let files = FileLayer()
        do {
            let content = try JSONDecoder().decode(Content.self, from: Data(files.read(path(in: folder))))
            return content.runID == runID ? content : nil
        } catch {
            return nil
        }
    }
}
