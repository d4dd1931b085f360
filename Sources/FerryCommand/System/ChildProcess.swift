internal import CSystem
internal import FerryBase
internal import Foundation

/// A child process of this program for `demo` and `tune`: started, read line by line, and killed if asked for.
struct ChildProcess: ~Copyable {
    private let identifier: pid_t
    private let descriptor: Int32
    private var rest: [UInt8] = []
    private var isAtEnd = false

    /// Starts the program; it shares the parent's streams, but for the stream that is read.
    init(_ program: String, _ words: [String], reading stream: StandardStream) throws(FerryError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw ChildProcess.failure("open a pipe", errno) }
        var arguments: [UnsafeMutablePointer<CChar>?] = ([program] + words).map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var child: pid_t = 0
        let code = ferry_spawn(&child, program, &arguments, ends[1], stream.rawValue, ends[0])
        close(ends[1])
        guard code == 0 else {
            close(ends[0])
            throw ChildProcess.failure("start \(program)", code)
        }
        identifier = child
        descriptor = ends[0]
    }

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
        close(descriptor)
        let (signal, exit) = Self.end(of: identifier)
        return signal == 0 ? exit : nil
    }

    /// The time that a stopped command gets to end, and that one gets which began after the stop, such as a notice of it.
    private static let (graceNanoseconds, noticeNanoseconds): (UInt64, UInt64) = (2_000_000_000, 10_000_000_000)

    /// Runs a command of the user by the shell to its end; returns what went wrong as a part of a sentence, or nil.
    ///
    /// A stop ends the command with its child processes: one that hangs would outlive the run, or keep it from ending.
    static func problem(of command: String, with environment: [String], stop: StopRequest) -> String? {
        var lines: [UnsafeMutablePointer<CChar>?] = environment.map { strdup($0) } + [nil]
        defer { for line in lines { free(line) } }
        var child: pid_t = 0
        let code = ferry_spawn_shell(&child, command, &lines)
        guard code == 0 else { return "could not be started (\(String(cString: strerror(code))))" }
        let begin = Clock.nanoseconds()
        let (group, notice) = (-child, stop.isRequested ? noticeNanoseconds : 0)
        let asked = Locked<UInt64?>(nil)
        // Called repeatedly once a stop is due.
        let interrupter = stop.add {
            guard Clock.nanoseconds(since: begin) >= notice else { return }
            let isLast = asked.withLock { asked in
                guard let first = asked else {
                    asked = Clock.nanoseconds()
                    send(SIGTERM, to: group)
                    return false
                }
                return Clock.nanoseconds(since: first) >= graceNanoseconds
            }
            if isLast { send(SIGKILL, to: group) }
        }
        // Until the child is reaped, no other process gets its number.
        var info = siginfo_t()
        while waitid(P_PID, id_t(child), &info, WEXITED | WNOWAIT) != 0, errno == EINTR {}
        interrupter.end()
        let (signal, exit) = end(of: child)
        if signal != 0 { return "was ended by signal \(signal)" }
        return exit == 0 ? nil : "failed with exit code \(exit)"
    }

    private static func end(of child: pid_t) -> (signal: Int32, exit: Int32) {
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        // The low seven bits name the signal that ended the process; the next byte is the exit code.
        return (status & 0x7f, (status >> 8) & 0xff)
    }

    private static func failure(_ action: String, _ code: Int32) -> FerryError {
        FerryError(.fileFailed, "Ferry could not \(action): \(String(cString: strerror(code))).")
    }
}

/// Calls `kill(2)`; the method `kill` hides that name.
private func send(_ number: Int32, to identifier: pid_t) { _ = kill(identifier, number) }
