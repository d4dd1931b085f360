internal import FerryEngine
internal import FerryPlan

/// One step of a run in the run folder, whichever way its destination is made.
///
/// Calling ``run()`` again on what a killed call left goes on, or begins the step anew, and ends the same.
protocol StepWork {
    var step: StepPlan { get }
    /// What the step is verified against.
    var sourcePath: String { get }
    /// Whether no other program can change that meanwhile.
    var isSourcePrivate: Bool { get }
    var destinationPath: String { get }
    var folder: String { get }
    /// How it treats what the source has beside good rows.
    var options: EngineOptions { get }

    func run() throws -> StepReport
    /// Leaves the verified destination whole in its main file, without anything of Ferry's own.
    func finish() throws
}

extension StepRun: StepWork {}
