internal import FerryBase

/// What each phase of a call has taken: one phase is always at work, so that they add up to the call.
struct PhaseClock {
    private var phase = Phase.preflight
    private var start = Clock.nanoseconds()
    private var bytes = PhaseClock.processBytes
    private var uses: [PhaseUse] = []

    private static var processBytes: ProcessBytes? {
        // Not the run's files: what is measured must not change the count of a run's operations.
        ProcessBytes.now(files: FileLayer())
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
