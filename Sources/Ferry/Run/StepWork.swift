internal import FerryEngine
internal import FerryPlan

/// A step with its two stores, as verification needs them.
protocol MigratedStep {
    var step: StepPlan { get }
    /// The store against which the step is verified.
    var sourcePath: String { get }
    /// Whether no other program can change the source meanwhile.
    var isSourcePrivate: Bool { get }
    var destinationPath: String { get }
    var folder: String { get }
    var options: EngineOptions { get }
}

/// One step of a run in the run folder; ``run()`` after a kill resumes or repeats it, with the same result.
protocol StepWork: MigratedStep {
    func run() throws -> StepReport
    /// Leaves the whole verified destination in its main file, without Ferry's own tables.
    func finish() throws
}

extension StepRun: StepWork {}
