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

/// What each phase of a call has taken: one phase is always at work, so that they add up to the call.
struct PhaseClock {
    private var phase = Phase.preflight
    private var start = Clock.nanoseconds()
    private var bytes = PhaseClock.processBytes
    private var uses: [PhaseUse] = []

    private static var processBytes: ProcessUse? {
        // Not the run's files: what is measured must not change the count of a run's operations.
        ProcessUse.now(files: FileLayer())
    }

    /// Ends the phase at work, and begins another one.
    mutating func begin(_ next: Phase) {
        guard next != phase else { return }
        settle()
        phase = next
    }

    /// What each phase has taken so far, the one at work included.
    mutating func measured() -> [PhaseUse] {
        settle()
        return uses
    }

    private mutating func settle() {
        let (now, bytesNow) = (Clock.nanoseconds(), Self.processBytes)
        var use = PhaseUse(phase: phase, seconds: Double(Clock.nanoseconds(from: start, to: now)) / 1e9)
        if let bytes, let bytesNow {
            (use.bytesRead, use.bytesWritten) = (bytesNow.read - bytes.read, bytesNow.written - bytes.written)
        }
        uses.add(use)
        (start, bytes) = (now, bytesNow)
    }
}

/// What a phase has taken, in all steps.
package struct PhaseUse: Codable, Sendable {
    var phase: Phase
    var seconds: Double
    /// What the process took from calls that read and gave to calls that write meanwhile; nil where the system does not
    /// tell, and in records of earlier tools.
    var bytesRead: Int64?
    var bytesWritten: Int64?
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
    }

    /// What is not known of one call is not known of all.
    private static func sum(_ first: Int64?, _ second: Int64?) -> Int64? {
        guard let first, let second else { return nil }
        return first.addingReportingOverflow(second).partialValue
    }

    func adding(_ others: [PhaseUse]) -> [PhaseUse] {
        var all = self
        for use in others { all.add(use) }
        return all
    }
}

extension Phase {
    /// The place among the phases of a run.
    var order: Int { Phase.allCases.firstIndex(of: self) ?? 0 }
}
