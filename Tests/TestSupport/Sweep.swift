internal import Foundation

/// The extent of the long tests: each run tries a part of their cases, `scripts/sweep` all of them.
package enum Sweep {
    private static let environment = ProcessInfo.processInfo.environment

    /// `FERRY_SWEEP=1` is 1; `FERRY_SWEEP=7` asks for every seventh case of the suites that count operations or moments.
    package static let stride = environment["FERRY_SWEEP"].flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }

    /// Whether every case runs.
    package static let isFull = stride == 1

    /// The program that the long tests measure: `FERRY_RELEASED`, built with `-c release --static-swift-stdlib`.
    package static let released = environment["FERRY_RELEASED"]
}
