internal import FerryBase

/// Turns the reports of the engine and of verification into the events of a migration.
final class EventRelay: Sendable {
    private struct State {
        var phase: Phase?
        var step: Int?
        var clock = PhaseClock()
        var meter: ProgressMeter?

        mutating func begin(_ phase: Phase, _ step: Int?) {
            (self.phase, self.step) = (phase, step)
            clock.begin(phase)
            meter?.begin(phase, step: step)
        }
    }

    private let onEvent: @Sendable (MigrationEvent) -> Void
    private let state = Locked(State())

    init(_ onEvent: @escaping @Sendable (MigrationEvent) -> Void) { self.onEvent = onEvent }

    func send(_ event: MigrationEvent) { onEvent(event) }

    func begin(_ phase: Phase, step: Int? = nil) {
        state.withLock { $0.begin(phase, step) }
        onEvent(.phase(phase, step: step))
    }

    var position: (phase: Phase?, step: Int?) { state.withLock { ($0.phase, $0.step) } }

    var phases: [PhaseUse] { state.withLock { $0.clock.measured() } }

    /// Passes further reports to a meter.
    func measure(by meter: ProgressMeter) { state.withLock { $0.meter = meter } }

    /// Ends the present meter, if any, and returns it.
    @discardableResult
    func endMeasuring() -> ProgressMeter? {
        state.withLock { state in
            state.meter?.end()
            return state.meter.take()
        }
    }

    /// The progress hook for work on a step, or outside of steps; a report with a new phase begins that phase.
    func hook(step: Int? = nil) -> ProgressHook {
        { [self] update in
            let (isNew, measured) = state.withLock { state in
                let isNew = state.phase != update.phase || state.step != step
                if isNew { state.begin(update.phase, step) }
                return (isNew, state.meter?.take(update, step: step))
            }
            var update = update
            if let measured {
                (update.fraction, update.timeLeft) = (
                    measured.fraction, measured.secondsLeft.map { .clamped(seconds: $0) }
                )
            }
            if isNew { onEvent(.phase(update.phase, step: step)) }
            onEvent(.progress(update))
        }
    }
}

/// The use of each phase of a call: one phase is always current, so that their times add up to that of the call.
struct PhaseClock {
    private var phase = Phase.preflight
    private var start = Clock.nanoseconds()
    private var bytes = ProcessUse.now()
    private var uses: [PhaseUse] = []

    mutating func begin(_ next: Phase) {
        guard next != phase else { return }
        settle()
        phase = next
    }

    /// The use of each phase so far, including the current one.
    mutating func measured() -> [PhaseUse] {
        settle()
        return uses
    }

    private mutating func settle() {
        let (now, bytesNow) = (Clock.nanoseconds(), ProcessUse.now())
        var use = PhaseUse(phase: phase, seconds: Double(Clock.nanoseconds(from: start, to: now)) / 1e9)
        use.peakMemory = ProcessUse.peakMemory()
        if let bytes, let bytesNow {
            (use.bytesRead, use.bytesWritten) = (bytesNow.read - bytes.read, bytesNow.written - bytes.written)
        }
        uses.add(use)
        (start, bytes) = (now, bytesNow)
    }
}

/// The use of a phase, over all steps.
package struct PhaseUse: Codable, Sendable {
    var phase: Phase
    var seconds: Double
    /// Bytes of the process's read and write calls; nil if the system has no counts, and in records of earlier tools.
    var bytesRead: Int64?
    var bytesWritten: Int64?
    /// The most bytes that the process had held when the phase ended; nil if unknown, as above.
    var peakMemory: Int64?
}

extension [PhaseUse] {
    mutating func add(_ use: PhaseUse) {
        guard let index = firstIndex(where: { $0.phase == use.phase }) else {
            append(use)
            sort { $0.phase.order < $1.phase.order }
            return
        }
        self[index].seconds += use.seconds
        self[index].bytesRead = Self.sum(self[index].bytesRead, use.bytesRead)
        self[index].bytesWritten = Self.sum(self[index].bytesWritten, use.bytesWritten)
        self[index].peakMemory = [self[index].peakMemory, use.peakMemory].compactMap(\.self).max()
    }

    /// The sum; nil if either number is unknown.
    static func sum(_ first: Int64?, _ second: Int64?) -> Int64? {
        guard let first, let second else { return nil }
        return first.addingReportingOverflow(second).partialValue
    }
}

extension Phase {
    var order: Int { Phase.allCases.firstIndex(of: self) ?? 0 }
}
