internal import FerryBase

/// Writes the progress of a run to a small file of its run folder, which `status` reads.
///
/// The destination has more exact numbers, but a reader of it could block a commit. The meter writes the file at each
/// new phase, and otherwise at most once a second, by a rename and without a sync: no run resumes from it.
final class ProgressMeter: Sendable {
    private struct State {
        var phase = Phase.preflight
        var step: Int?
        var subject: String?
        /// Rows by entity mapping or table of the current phase.
        var done: [String: Int64] = [:]
        var doneAtStart: Int64?
        var phaseStart: UInt64 = 0
        var estimate: RunEstimate
        var disk: DiskWatch
        /// The time of the whole call as estimated when a tenth of the work was done.
        var secondsAfterTenth: Double?
        var begun: UInt64 = 0
        /// The completed share of the run; nil before its first phase with work.
        var fraction: Double?
        var written: UInt64?
    }

    private let path: String
    private let runID: String
    private let steps: Int
    private let state: Locked<State>
    // A file layer of its own: a file that is written by the clock must not change the count of the run's operations.
    private let files = FileLayer()

    /// The beginning of the call, by ``Clock``.
    private let start: UInt64

    init(
        in folder: String, runID: String, steps: Int, _ work: [WorkItem], machine: Double, watching disk: DiskWatch,
        since start: UInt64
    ) {
        path = Self.path(in: folder)
        self.runID = runID
        self.steps = steps
        self.start = start
        state = Locked(State(estimate: RunEstimate(work, machine: machine), disk: disk))
    }

    /// The time of the whole call as estimated when a tenth of the work was done; nil if that came too early.
    var secondsAfterTenth: Double? { state.withLock { $0.secondsAfterTenth } }
    /// The most bytes of the run's files so far.
    var diskBytes: Int64 { state.withLock { $0.disk.peak } }

    static func path(in folder: String) -> String { folder + "/progress.json" }

    func begin(_ phase: Phase, step: Int?) {
        state.withLock { state in
            (state.phase, state.step, state.subject) = (phase, step, nil)
            (state.done, state.doneAtStart) = ([:], nil)
            state.phaseStart = Clock.nanoseconds()
            state.disk.look(at: state.phaseStart, isDue: true)
            if state.begun == 0 { state.begun = state.phaseStart }
            state.estimate.begin(phase, step: step, at: state.phaseStart)
            measure(&state, at: state.phaseStart)
            write(&state, isDue: true)
        }
    }

    /// Takes a report about the present phase.

    func take(_ update: ProgressUpdate, step: Int?) -> (fraction: Double?, secondsLeft: Double?) {
        state.withLock { state in
            state.subject = update.subject
            if update.phase != .verify || update.total != nil { state.done[update.subject ?? ""] = update.done }
            let now = Clock.nanoseconds()
            state.estimate.advance(update, step: step, at: now)
            state.disk.look(at: now)
            measure(&state, at: now)
            if state.secondsAfterTenth == nil, state.fraction ?? 0 >= 0.1 {
                state.secondsAfterTenth =
                    Double(Clock.nanoseconds(from: start, to: now)) / 1e9 + state.estimate.secondsLeft(at: now)
            }
            write(&state)
            return (state.fraction, secondsLeft(state, at: now))
        }
    }

    func end() {
        state.withLock { state in
            state.disk.look(at: Clock.nanoseconds(), isDue: true)
            write(&state, isDue: true)
        }
    }

    private func measure(_ state: inout State, at now: UInt64) {
        if state.doneAtStart == nil, !state.done.isEmpty { state.doneAtStart = state.done.values.clampedSum }
        guard state.phase != .preflight else { return }
        // Only the end of all work is 1; what it takes is an estimate.
        state.fraction = state.phase == .cleanUp ? 1 : min(0.99, state.estimate.fraction(at: now))
    }

    /// Nil in the first second of a call, when the estimate is unreliable.
    private func secondsLeft(_ state: State, at now: UInt64) -> Double? {
        guard Clock.nanoseconds(from: state.begun, to: now) >= 1_000_000_000 else { return nil }
        return state.estimate.secondsLeft(at: now)
    }

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

    private func write(_ state: inout State, isDue: Bool = false) {
        let now = Clock.nanoseconds()
        if !isDue, let written = state.written, Clock.nanoseconds(from: written, to: now) < 1_000_000_000 { return }
        state.written = now
        var content = Content(
            runID: runID, phase: state.phase, step: state.step, steps: steps, subject: state.subject,
            fraction: state.fraction)
        let inPhase = Double(Clock.nanoseconds(from: state.phaseStart, to: now)) / 1e9
        if [.rows, .verify].contains(state.phase), let first = state.doneAtStart, inPhase >= 0.5 {
            let rows = state.done.values.clampedSum - first
            if rows > 0 { content.rowsPerSecond = Double(rows) / inPhase }
        }
        content.etaSeconds = secondsLeft(state, at: now)
        // The run does not need this file: if it cannot be written, `status` has no progress to show.
        do { try files.putAside(content, to: path) } catch {}
    }

    /// The last content written by the run with this id; nil if it cannot be read.
    static func read(in folder: String, of runID: String) -> Content? {
        do {
            let content = try FileLayer().decoded(Content.self, at: path(in: folder))
            return content?.runID == runID ? content : nil
        } catch {
            return nil
        }
    }
}
