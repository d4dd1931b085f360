import Foundation

/// The extent of the long tests.
enum Sweep {
    /// Whether all of them run, with `FERRY_SWEEP=1`, or only a part.
    static let isFull = ProcessInfo.processInfo.environment["FERRY_SWEEP"] == "1"
}
