internal import FerryBase

enum ExitCode: Int32, CaseIterable, Sendable {
    case success = 0
    /// Failed; the store is unchanged.
    case failed = 1
    /// Refused before anything changed.
    case refused = 2
    /// A check found differences or damage.
    case differs = 3
    case usage = 64
    /// Stopped early; the same command continues.
    case resumable = 75

    init(_ consequence: FerryError.Consequence) {
        self =
            switch consequence {
            case .refused: .refused
            case .failed: .failed
            case .differs: .differs
            case .resumable: .resumable
            case .usage: .usage
            }
    }

    /// The worst code of several pieces of work: codes that need a person's attention precede `resumable`.
    static func worst(of codes: some Sequence<ExitCode>) -> ExitCode {
        let order: [ExitCode] = [.success, .resumable, .refused, .differs, .failed, .usage]
        return codes.max { order.firstIndex(of: $0) ?? 0 < order.firstIndex(of: $1) ?? 0 } ?? .success
    }

    /// The meaning of the code, for the manual.
    var meaning: String {
        switch self {
        case .success: "Done, or nothing to do."
        case .failed: "Failed; the store is unchanged."
        case .refused: "Refused before anything changed."
        case .differs: "Verification found differences, or a snapshot is damaged."
        case .usage: "Invalid command line."
        case .resumable: "Stopped early; run the same command to continue."
        }
    }
}
