internal import FerryBase
internal import Foundation

/// A verification on a thread of its own.
final class VerificationBeside: Sendable {
    /// The number of the verified step.
    let number: Int
    /// Whether progress events are sent: a run shows one phase at a time.
    private let isShown: Locked<Bool>
    private let outcome = Locked<Result<VerificationSummary, any Error>?>(nil)
    private let done = DispatchSemaphore(value: 0)

    /// Begins the verification; if it fails, it requests a stop of the step beside it.
    init(
        of number: Int, isShown: Locked<Bool>, stop: StopRequest,
        _ verify: @escaping @Sendable () throws -> VerificationSummary
    ) throws {
        self.number = number
        self.isShown = isShown
        try WorkThread.start("ferry.beside") { [self] in
            let result = Result { try verify() }
            if case .failure(let error) = result { stop.request(FerryError.wrapping(error, on: "step \(number)")) }
            outcome.withLock { $0 = result }
            done.signal()
        }
    }

    /// Waits for the end, and sends progress events meanwhile.
    func wait() throws -> VerificationSummary {
        isShown.withLock { $0 = true }
        return try result.get()
    }

    /// Waits for the end.
    var result: Result<VerificationSummary, any Error> {
        done.wait()
        defer { done.signal() }
        guard let outcome = outcome.withLock({ $0 }) else { preconditionFailure("signalled with its outcome") }
        return outcome
    }
}
