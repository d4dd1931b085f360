internal import FerryBase

enum ExitCode: Int32, CaseIterable, Sendable {
    case success = 0
    case failed = 1
    case refused = 2
    case differs = 3
    case usage = 64
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
}
