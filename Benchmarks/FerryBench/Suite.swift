internal import BenchmarkHarness

/// The cases, in the order in which they run.
enum Suite {
    static let cases: [any BenchmarkCase] = [
        CopyCase(), TransformCase(), RowCase(), WholeStoreCase(), FindOrCreateCase(), JSONCase(), SnapshotCase(),
        VerifyCase(),
        MemoryCase(), ChunkSweepCase(), WideRowsCase(), BlobsCase(), ChainCase(), PlanCase(),
    ]

    /// How much a gate measures.
    static func size(of scale: Thresholds.Scale) -> (rows: Int, repetitions: Int) {
        switch scale {
        case .small: (50_000, 3)
        case .full: (1_000_000, 5)
        }
    }

    /// Sweeps cost much and gate little: the small gates leave one out.
    static func cases(of scale: Thresholds.Scale) -> [any BenchmarkCase] {
        scale == .full ? cases : cases.filter { $0.name != "chunks" }
    }
}
