internal import FerryBase
internal import Foundation

/// Keeps a `Progress` of Foundation's up to date, and stops the run when that is cancelled.
final class ProgressFollower: Sendable {
    /// Into how many parts the work is divided: finer than any bar on a screen.
    private static let units: Int64 = 10_000

    private let progress: Progress
    private let stop: StopRequest

    init(_ progress: Progress, stop: StopRequest) {
        self.progress = progress
        self.stop = stop
        progress.totalUnitCount = Self.units
        progress.completedUnitCount = 0
        progress.isCancellable = true
        progress.isPausable = false
        progress.cancellationHandler = { stop.request(.cancelled) }
        heedCancellation()
    }

    /// The handler is not called for what was before it, and where Foundation calls it on another thread, late.
    private func heedCancellation() { if progress.isCancelled { stop.request(.cancelled) } }

    func take(_ event: MigrationEvent) {
        heedCancellation()
        switch event {
        case .progress(let update):
            guard let fraction = update.fraction else { return }
            let done = Int64(fraction * Double(Self.units))
            // The last one is the end's: what waits for it finds the migrated store.
            progress.completedUnitCount = min(max(done, progress.completedUnitCount), Self.units - 1)
            progress.setUserInfoObject(update.timeLeft?.inSeconds, forKey: .estimatedTimeRemainingKey)
        case .finished: progress.completedUnitCount = Self.units
        case .planned, .phase, .warning: break
        }
    }

    /// Lets go of the run.
    func end() { progress.cancellationHandler = nil }
}
