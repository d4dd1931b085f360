internal import BenchmarkHarness

/// The cases, in the order in which they run.
enum Suite {
    static let cases: [any BenchmarkCase] = [
        CopyCase(), TransformCase(), RowCase(), WholeStoreCase(), ExtractCase(), FindOrCreateCase(), JSONCase(),
        InPlaceCase(), ChainCase(), SnapshotCase(), SwapCase(), VerifyCase(), StepsCase(), WideRowsCase(), BlobsCase(),
        LargeValuesCase(), PlanCase(), MemoryCase(), ChunkSweepCase(),
    ]

    /// How much a gate measures of a case: about a minute in all at small scale, less than twenty at full scale.
    static func size(of scale: Thresholds.Scale, for benchmark: any BenchmarkCase) -> (rows: Int, repetitions: Int) {
        switch scale {
        case .small: (50_000, 3)
        // The sweeps and what runs whole migrations with everything on take longest, and vary least.
        case .full: (1_000_000, ["memory", "chunks", "swap", "verify", "steps"].contains(benchmark.name) ? 3 : 5)
        }
    }

    /// Sweeps cost much and gate little: the small gates leave one out.
    static func cases(of scale: Thresholds.Scale) -> [any BenchmarkCase] {
        scale == .full ? cases : cases.filter { $0.name != "chunks" }
    }
}
