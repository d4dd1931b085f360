internal import FerryEngine

extension EngineOptions {
    /// Takes over how much is carried at a time.
    mutating func size(by configuration: Configuration) {
        switch configuration.chunkSize {
        case .rows(let rows): chunkSize = .rows(rows)
        case .automatic: chunkSize = .automatic
        }
        chunkBytes = configuration.chunkBytes
        let (seconds, attoseconds) = configuration.chunkTime.components
        chunkNanoseconds = UInt64(max(0, seconds)) * 1_000_000_000 + UInt64(max(0, attoseconds) / 1_000_000_000)
        memoryLimit = configuration.memoryLimit
    }
}
