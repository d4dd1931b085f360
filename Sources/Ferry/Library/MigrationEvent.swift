public import FerryBase

/// What a running migration tells; there may be more in a later version.
#if hasAttribute(nonexhaustive)
    @nonexhaustive
#endif
public enum MigrationEvent: Sendable {
    /// The plan that will run, before anything is touched.
    case planned(PlanReport)
    /// A phase begins; `step` counts from 1 and is nil outside of steps.
    case phase(Phase, step: Int?)
    case progress(ProgressUpdate)
    case warning(FerryWarning)
    /// Everything is done; always the last event.
    case finished(MigrationReport)
}
