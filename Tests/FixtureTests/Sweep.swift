import Foundation

/// How much of the long tests runs.
enum Sweep {
    /// With `FERRY_SWEEP=1` all of it; else a part of it.
    static let isFull = ProcessInfo.processInfo.environment["FERRY_SWEEP"] == "1"
}
