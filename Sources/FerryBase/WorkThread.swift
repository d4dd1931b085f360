internal import CSystem
internal import Dispatch

/// Threads of ours.
///
/// Each gets a stack of one size on every system. The system's own are 512 KiB on Darwin and 128 KiB with musl, while
/// expressions, SQL and archives are read as deep as on a main thread of 8 MiB.
package enum WorkThread {
    /// What every limit of depth is made for, and a thread costs only as much of it as it uses.
    package static let stackBytes = 8 << 20

    /// Runs the body on a new thread that nothing waits for.
    ///
    /// - Parameters:
    ///   - name: For debuggers; 15 bytes of it count.
    ///   - body: The thread's work.
    /// - Throws: ``FerryError`` `.outOfMemory` when the system makes no thread; the body is not run then.
    package static func start(_ name: String, _ body: @escaping @Sendable () -> Void) throws(FerryError) {
        let work = Unmanaged.passRetained(Body(run: body))
        let code = ferry_start_thread(
            name, stackBytes,
            { context in
                guard let context else { preconditionFailure("a thread is started with its work") }
                Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
            }, work.toOpaque())
        guard code == 0 else {
            work.release()
            throw FerryError(
                .outOfMemory, "The system makes no further thread: \(SystemError(code)).",
                remedy: "Close other programs, or raise the limit on threads (ulimit -u), and \(action: .again).",
                cause: SystemError(code))
        }
    }

    /// What the body of ``withStack(_:)`` finds at least: a quarter of what a thread of ours has.
    private static let leastStackBytes = 2 << 20

    /// Runs a body that limits of depth are made for: on the calling thread, or, where that has too little stack for it,
    /// on one of ours while the calling thread waits.
    ///
    /// An app may call from a thread of 512 KiB, as those of its queues and tasks are on Darwin.
    package static func withStack<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        if ferry_stack_left() >= leastStackBytes { return try body() }
        return try onThread(body)
    }

    private static func onThread<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let outcome: Swift.Result<Result, Failure>? = withoutActuallyEscaping(
            {
                do throws(Failure) { return .success(try body()) } catch { return .failure(error) }
            } as () -> Swift.Result<Result, Failure>
        ) { body in
            let handed = Handed(body)
            do throws(FerryError) {
                try start("ferry") { handed.run() }
            } catch {
                return nil
            }
            handed.done.wait()
            return handed.outcome
        }
        guard let outcome else {
            // Without a further thread the calling one has to do, as it does for most inputs.
            return try body()
        }
        return try outcome.get()
    }

    /// Work and its outcome on their way between two threads.
    ///
    /// Unchecked, because the semaphore makes it true: the calling thread waits while the other one uses it.
    private final class Handed<Outcome>: @unchecked Sendable {
        private var body: (() -> Outcome)?
        private(set) var outcome: Outcome?
        let done = DispatchSemaphore(value: 0)

        init(_ body: @escaping () -> Outcome) { self.body = body }

        func run() {
            outcome = body?()
            // It must not outlive the call that it belongs to.
            body = nil
            done.signal()
        }
    }

    private final class Body: Sendable {
        let run: @Sendable () -> Void

        init(run: @escaping @Sendable () -> Void) { self.run = run }
    }
}
