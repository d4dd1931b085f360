internal import FerryBase

/// Writes the progress of a run to a small file of its run folder, which `status` reads.
///
/// The destination has more exact numbers, but a reader of it could block a commit. The meter writes the file at each
/// new phase, and otherwise at most once a second, by a rename and without a sync: no run resumes from it.
struct ProgressMeter: Sendable {
    private let path: String
    private let runID: String
    private let steps: Int
    /// The beginning of the call, by ``Clock``.
    private let start: UInt64
    // A file layer of its own: a file that is written by the clock must not change the count of the run's operations.
    private let files = FileLayer()
    private var phase = Phase.preflight
    private var step: Int?
    private var subject: String?
    /// Rows by entity mapping or table of the current phase.
    private var done: [String: Int64] = [:]
    private var doneAtStart: Int64?
    private var phaseStart: UInt64 = 0
    private var estimate: RunEstimate
    private var disk: DiskWatch
    private var begun: UInt64 = 0
    /// The completed share of the run; nil before its first phase with work.
    private var fraction: Double?
    private var written: UInt64?
    /// The time of the whole call as estimated when a tenth of the work was done; nil if that came too early.
    private(set) var secondsAfterTenth: Double?

    init(
        in folder: String, runID: String, steps: Int, _ work: [WorkItem], machine: Double, watching disk: DiskWatch,
        since start: UInt64
    ) {
        path = Self.path(in: folder)
        (self.runID, self.steps, self.start, self.disk) = (runID, steps, start, disk)
        estimate = RunEstimate(work, machine: machine)
    }

    /// The most bytes of the run's files so far.
    var diskBytes: Int64 { disk.peak }

    static func path(in folder: String) -> String { folder + "/progress.json" }

    mutating func begin(_ phase: Phase, step: Int?) {
        (self.phase, self.step, subject) = (phase, step, nil)
        (done, doneAtStart) = ([:], nil)
        phaseStart = Clock.nanoseconds()
        disk.look(at: phaseStart, isDue: true)
        if begun == 0 { begun = phaseStart }
        estimate.begin(phase, step: step, at: phaseStart)
        measure(at: phaseStart)
        write(isDue: true)
    }

    /// Takes a report about the present phase.
    mutating func take(_ update: ProgressUpdate, step: Int?) -> (fraction: Double?, secondsLeft: Double?) {
        subject = update.subject
        if update.phase != .verify || update.total != nil { done[update.subject ?? ""] = update.done }
        let now = Clock.nanoseconds()
        estimate.advance(update, step: step, at: now)
        disk.look(at: now)
        measure(at: now)
        if secondsAfterTenth == nil, fraction ?? 0 >= 0.1 {
            secondsAfterTenth = Double(Clock.nanoseconds(from: start, to: now)) / 1e9 + estimate.secondsLeft(at: now)
        }
        write()
        return (fraction, secondsLeft(at: now))
    }

    mutating func end() {
        disk.look(at: Clock.nanoseconds(), isDue: true)
        write(isDue: true)
    }

    private mutating func measure(at now: UInt64) {
        if doneAtStart == nil, !done.isEmpty { doneAtStart = done.values.clampedSum }
        guard phase != .preflight else { return }
        // Only the end of all work is 1; what it takes is an estimate.
        fraction = phase == .cleanUp ? 1 : min(0.99, estimate.fraction(at: now))
    }

    /// Nil in the first second of a call, when the estimate is unreliable.
    private func secondsLeft(at now: UInt64) -> Double? {
        Clock.nanoseconds(from: begun, to: now) >= 1_000_000_000 ? estimate.secondsLeft(at: now) : nil
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

    private mutating func write(isDue: Bool = false) {
        let now = Clock.nanoseconds()
        if !isDue, let written, Clock.nanoseconds(from: written, to: now) < 1_000_000_000 { return }
        written = now
        var content = Content(
            runID: runID, phase: phase, step: step, steps: steps, subject: subject, fraction: fraction)
        let inPhase = Double(Clock.nanoseconds(from: phaseStart, to: now)) / 1e9
        if [.rows, .verify].contains(phase), let doneAtStart, inPhase >= 0.5 {
            let rows = done.values.clampedSum - doneAtStart
            if rows > 0 { content.rowsPerSecond = Double(rows) / inPhase }
        }
        content.etaSeconds = secondsLeft(at: now)
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
