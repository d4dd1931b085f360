internal import BenchmarkHarness

/// The cases, in the order in which they run.
enum Suite {
    static let cases: [any BenchmarkCase] = [
        CopyCase(), TransformCase(), RowCase(), WholeStoreCase(), ExtractCase(), FindOrCreateCase(), JSONCase(),
        InPlaceCase(), ChangeCase(), ChangeCase(.renamed), ChangeCase(.largest), ChangeCase(.split), ChainCase(),
        SnapshotCase(), SwapCase(), VerifyCase(), StepsCase(), WideRowsCase(),
        BlobsCase(),
        LargeValuesCase(), PlanCase(), MemoryCase(), ChunkSweepCase(),
    ]

    /// The rows and repetitions of a case in a gate: all cases take about a minute at small scale, less than 20 at full
    /// scale.
    static func size(of scale: Thresholds.Scale, for benchmark: any BenchmarkCase) -> (rows: Int, repetitions: Int) {
        switch scale {
        case .small: (50_000, 3)
        // Sweeps and whole migrations with all options take longest, and vary least.
        case .full: (1_000_000, ["memory", "chunks", "swap", "verify", "steps"].contains(benchmark.name) ? 3 : 5)
        }
    }

    /// The small gates leave out the sweep of chunk sizes, which takes long and has few gates.
    static func cases(of scale: Thresholds.Scale) -> [any BenchmarkCase] {
        scale == .full ? cases : cases.filter { $0.name != "chunks" }
    }
}
