internal import CSystem
internal import FerryBase

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// Turns Ctrl-C and SIGTERM into a request to stop after the current unit of work; a second signal ends the process.
///
/// All threads block the signals and one thread waits for them, so no code of Ferry's runs inside a signal handler.
/// `start` must come before other threads exist, which inherit the signal mask.
struct InterruptWatch {
    private static let signals = [SIGINT, SIGTERM]

    /// Watches until the process ends.
    static func start(on console: Console) -> StopRequest {
        let stop = StopRequest()
        var set = sigset_t()
        sigemptyset(&set)
        for signal in signals { sigaddset(&set, signal) }
        pthread_sigmask(SIG_BLOCK, &set, nil)
        do throws(FerryError) {
            try WorkThread.start("ferry signals") { [set] in wait(for: set, stop, console) }
        } catch {
            // Without the thread Ctrl-C must end the process; a run can be resumed after that, too.
            pthread_sigmask(SIG_UNBLOCK, &set, nil)
        }
        return stop
    }

    private static func wait(for signals: sigset_t, _ stop: StopRequest, _ console: Console) {
        var set = signals
        var signal: Int32 = 0
        while sigwait(&set, &signal) != 0 {}
        stop.request(
            FerryError(
                .interrupted, "The migration was interrupted and can be resumed.",
                remedy: "Run the same command again to continue, or with --restart to start over."))
        console.note(
            "\nStopping after the current unit of work. Press Ctrl-C again to stop at once. Both can be resumed.")
        while sigwait(&set, &signal) != 0 {}
        _exit(ExitCode.resumable.rawValue)
    }
}

/// Signals that would end the process in place of a failed write.
///
/// A closed pipe of the output must not end a migration, and a limit on file sizes is reported like a full volume:
/// `write` then fails with EPIPE or EFBIG.
enum IgnoredSignals {
    private static let signals = [SIGPIPE, SIGXFSZ]

    /// Ignores the signals until the process ends, and in its child processes.
    static func ignore() { for number in signals { _ = signal(number, SIG_IGN) } }
}

/// Standard output and standard error, written without a buffer.
enum StandardStream: Int32, Sendable {
    case output = 1
    case error = 2

    var isTerminal: Bool { isatty(rawValue) == 1 }
    static var isInputTerminal: Bool { isatty(0) == 1 }

    /// The terminal's columns; nil without a terminal.
    var terminalWidth: Int? { isTerminal ? terminalColumns(ofDescriptor: rawValue) : nil }

    /// Whether the terminal shows colours and its user wants them, by the rules of https://no-color.org.
    var showsColors: Bool {
        isTerminal && !Self.isSet("NO_COLOR") && getenv("TERM").map { String(cString: $0) } != "dumb"
    }

    private static func isSet(_ name: String) -> Bool { getenv(name).map { $0.pointee != 0 } ?? false }

    /// Writes a text; a part that cannot be written is lost.
    ///
    /// - Returns: The error if a part was lost; nil also for a closed pipe, whose reader wants no more.
    @discardableResult
    func write(_ text: String) -> String? {
        var text = text
        return text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while !rest.isEmpty {
                let written = systemWrite(rawValue, rest.baseAddress, rest.count)
                if written < 0, errno == EINTR { continue }
                guard written > 0 else {
                    return written < 0 && errno == EPIPE ? nil : String(cString: strerror(errno))
                }
                rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(written))
            }
            return nil
        }
    }
}

/// Calls `write(2)`; the method `write` hides that name.
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}

/// A child process of this program for `demo` and `tune`: started, read line by line, and killed if asked for.
struct ChildProcess: ~Copyable {
    /// The stream of the child that the parent reads; the child shares the other stream with the parent.
    enum Read { case output, diagnostics, nothing }

    private let identifier: pid_t
    private let descriptor: Int32
    private var rest: [UInt8] = []
    private var isAtEnd: Bool

    /// Starts the program; it shares the parent's streams, but for the stream that is read.
    init(_ program: String, _ words: [String], reading: Read) throws(FerryError) {
        var ends: [Int32] = [-1, -1]
        if reading != .nothing, pipe(&ends) != 0 { throw ChildProcess.failure("open a pipe", errno) }
        var arguments: [UnsafeMutablePointer<CChar>?] = ([program] + words).map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var child: pid_t = 0
        let code = ferry_spawn(&child, program, &arguments, ends[1], reading == .diagnostics ? 2 : 1, ends[0])
        if reading != .nothing { close(ends[1]) }
        guard code == 0 else {
            if reading != .nothing { close(ends[0]) }
            throw ChildProcess.failure("start \(program)", code)
        }
        identifier = child
        descriptor = ends[0]
        isAtEnd = reading == .nothing
    }

    /// The path of the running program.
    static func ownPath() throws(FerryError) -> String {
        let path = ferry_own_path()
        guard let path else { throw failure("find the running program", errno) }
        defer { free(path) }
        return String(cString: path)
    }

    /// The next line of the stream without its newline; nil at the end.
    mutating func line() -> String? {
        while true {
            if let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: rest[..<end], as: UTF8.self)
                rest.removeFirst(end + 1)
                return line
            }
            if isAtEnd {
                defer { rest = [] }
                return rest.isEmpty ? nil : String(decoding: rest, as: UTF8.self)
            }
            var buffer = [UInt8](repeating: 0, count: 4_096)
            let count = read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            if count > 0 { rest += buffer[..<count] } else { isAtEnd = true }
        }
    }

    /// Ends the child at once, as a crash would (`kill -9`).
    func kill() { send(SIGKILL, to: identifier) }

    /// Waits for the end of the child and returns its exit code, or nil if a signal ended the child.
    consuming func wait() -> Int32? {
        if descriptor >= 0 { close(descriptor) }
        var status: Int32 = 0
        while waitpid(identifier, &status, 0) < 0, errno == EINTR {}
        // The low seven bits name the signal that ended the process; the next byte is the exit code.
        return status & 0x7f == 0 ? (status >> 8) & 0xff : nil
    }

    private static func failure(_ action: String, _ code: Int32) -> FerryError {
        FerryError(.fileFailed, "Ferry could not \(action): \(String(cString: strerror(code))).")
    }
}

/// Calls `kill(2)`; the method `kill` hides that name.
private func send(_ number: Int32, to identifier: pid_t) { _ = kill(identifier, number) }
