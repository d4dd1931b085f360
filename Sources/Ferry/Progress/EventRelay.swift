internal import FerryBase

/// Turns what the rooms below report into the events of a migration.
final class EventRelay: Sendable {
    private let onEvent: @Sendable (MigrationEvent) -> Void
    private let last = Locked<(phase: Phase?, step: Int?)>((nil, nil))
    private let clock = Locked(PhaseClock())
    private let meter = Locked<ProgressMeter?>(nil)

    init(_ onEvent: @escaping @Sendable (MigrationEvent) -> Void) { self.onEvent = onEvent }

    func send(_ event: MigrationEvent) { onEvent(event) }

    func begin(_ phase: Phase, step: Int? = nil) {
        last.withLock { $0 = (phase, step) }
        clock.withLock { $0.begin(phase) }
        meter.withLock { $0 }?.begin(phase, step: step)
        onEvent(.phase(phase, step: step))
    }

    /// The phase and step at work.
    var position: (phase: Phase?, step: Int?) { last.withLock { $0 } }

    /// What each phase of this call has taken so far.
    var phases: [PhaseUse] { clock.withLock { $0.measured() } }

    /// Lets a meter take part; nil ends that.
    func measure(by new: ProgressMeter?) {
        let old = meter.withLock { meter in
            defer { meter = new }
            return meter
        }
        old?.end()
    }

    /// The hook for a room that works on a step, or on none; a new phase in its reports begins that phase.
    func hook(step: Int? = nil) -> ProgressHook {
        { [self] update in
            let isNew = last.withLock { last in
                guard last.phase != update.phase || last.step != step else { return false }
                last = (update.phase, step)
                return true
            }
            if isNew { clock.withLock { $0.begin(update.phase) } }
            var update = update
            if let measured = meter.withLock({ $0 })?.take(update, step: step) {
                (update.fraction, update.timeLeft) = (
                    measured.fraction, measured.secondsLeft.map { .clamped(seconds: $0) }
                )
            }
            if isNew { onEvent(.phase(update.phase, step: step)) }
            onEvent(.progress(update))
        }
    }
}
