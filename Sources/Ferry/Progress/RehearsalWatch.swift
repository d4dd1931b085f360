internal import FerryBase

/// Measures a rehearsal by what the migration tells, and ends it after a sample.
final class RehearsalWatch: Sendable {
    private struct State {
        var report = RehearsalReport()
        var phase: Phase?
        /// When the last piece of work ended.
        var last = Clock.nanoseconds()
        var subject: String?
        var done: Int64 = 0
        var lastDiskLook: UInt64 = 0
        var isSampled = false
    }

    private static let diskInterval: UInt64 = 20_000_000

    private let folder: String
    private let files: FileLayer
    private let sample: Int64?
    private let stop: StopRequest
    private let state = Locked(State())

    init(folder: String, files: FileLayer, sample: Int64?, stop: StopRequest) {
        self.folder = folder
        self.files = files
        self.sample = sample
        self.stop = stop
    }

    var report: RehearsalReport { state.withLock { $0.report } }
    var isSampled: Bool { state.withLock { $0.isSampled } }

    func take(_ event: MigrationEvent) {
        let now = Clock.nanoseconds()
        state.withLock { state in
            switch event {
            case .phase(let phase, _):
                end(&state, at: now)
                (state.phase, state.subject, state.done) = (phase, nil, 0)
            case .progress(let update):
                let time = end(&state, at: now)
                if update.phase == .rows { count(update, time, &state) }
            case .planned, .warning, .finished: break
            }
            if Clock.nanoseconds(from: state.lastDiskLook, to: now) >= Self.diskInterval {
                state.lastDiskLook = now
                state.report.peakDiskBytes = max(state.report.peakDiskBytes, bytes(in: folder))
            }
            // Looking at the disk is no part of the next piece of work.
            state.last = Clock.nanoseconds()
        }
    }

    /// Ends the piece of work that was at hand.
    ///
    /// - Returns: How long it took.
    @discardableResult
    private func end(_ state: inout State, at now: UInt64) -> Duration {
        let time = Duration.clamped(nanoseconds: Clock.nanoseconds(from: state.last, to: now))
        guard let phase = state.phase, [.rows, .relationships, .indexes].contains(phase) else { return time }
        state.report.longestUnit = max(state.report.longestUnit, time)
        if phase == .rows { state.report.rowTime += time }
        return time
    }

    private func count(_ update: ProgressUpdate, _ time: Duration, _ state: inout State) {
        if update.subject != state.subject || update.done < state.done {
            (state.subject, state.done) = (update.subject, 0)
        }
        guard update.done > state.done else { return }
        state.report.rows += update.done - state.done
        state.done = update.done
        state.report.longestChunk = max(state.report.longestChunk, time)
        if let sample, state.report.rows >= sample, !state.isSampled {
            state.isSampled = true
            stop.request(FerryError(.interrupted, "The sample is complete."))
        }
    }

    /// What a folder takes now; external data, which is linked and not copied, aside.
    private func bytes(in folder: String) -> Int64 {
        do throws(FerryError) {
            var sum: Int64 = 0
            for entry in try files.list(folder) where !entry.name.hasPrefix(".") {
                let path = folder + "/" + entry.name
                sum += entry.isDirectory ? bytes(in: path) : try files.attributesIfPresent(path)?.size ?? 0
            }
            return sum
        } catch {
            // The run makes and removes files meanwhile: a folder that has gone takes nothing.
            return 0
        }
    }
}
