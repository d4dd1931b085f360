internal import FerryEngine
internal import FerryPlan

/// One step of a run, with its two stores; ``run()`` after a kill resumes or repeats it, with the same result.
protocol StepWork {
    var step: StepPlan { get }
    /// The store against which the step is verified.
    var sourcePath: String { get }
    /// Whether no other program can change the source meanwhile.
    var isSourcePrivate: Bool { get }
    var destinationPath: String { get }
    var folder: String { get }
    var options: EngineOptions { get }
    func run() throws -> StepReport
    /// Leaves the whole verified destination in its main file, without Ferry's own tables.
    func finish() throws
}

extension StepRun: StepWork {}
