internal import CSystem

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

    private final class Body: Sendable {
        let run: @Sendable () -> Void

        init(run: @escaping @Sendable () -> Void) { self.run = run }
    }
}
