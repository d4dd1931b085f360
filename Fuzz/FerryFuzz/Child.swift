#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A child process that the fuzzer starts, watches, and ends when it takes too long.
struct Child {
    /// The end of the process.
    struct End {
        var exitCode: Int32?
        var signal: Int32?
        /// Processor time: a busy machine does not lengthen it.
        var seconds: Double
        /// The highest memory of the process, in bytes.
        var peakMemory: Int
        var tookTooLong = false
    }

    private let identifier: pid_t
    private let start = seconds()

    /// Starts a program; both streams are written to a file, or inherited from this process.
    init(_ program: String, _ words: [String], output: String? = nil) throws {
        #if canImport(Darwin)
            var actions: posix_spawn_file_actions_t?
        #else
            var actions = posix_spawn_file_actions_t()
        #endif
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        if let output {
            posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
            posix_spawn_file_actions_adddup2(&actions, 1, 2)
        }
        var arguments: [UnsafeMutablePointer<CChar>?] = ([program] + words).map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var child: pid_t = 0
        let code = posix_spawn(&child, program, &actions, nil, &arguments, environ)
        guard code == 0 else { throw FuzzFailure("\(program) cannot be started: \(String(cString: strerror(code))).") }
        identifier = child
    }

    /// Returns the end of the process, or nil while it runs; does not wait.
    func end() -> End? {
        var status: Int32 = 0
        var usage = rusage()
        guard wait4(identifier, &status, WNOHANG, &usage) == identifier else { return nil }
        let time = [usage.ru_utime, usage.ru_stime].map { Double($0.tv_sec) + Double($0.tv_usec) / 1e6 }
        var end = End(seconds: time[0] + time[1], peakMemory: Int(usage.ru_maxrss))
        #if !canImport(Darwin)
            end.peakMemory <<= 10
        #endif
        // The low seven bits name the signal that ended the process; the next byte is the exit code.
        if status & 0x7f == 0 { end.exitCode = (status >> 8) & 0xff } else { end.signal = status & 0x7f }
        return end
    }

    /// Waits for the end, at most for the given seconds.
    func wait(limit: Double) -> End {
        var pause: useconds_t = 500
        while seconds() - start < limit {
            if let end = end() { return end }
            usleep(pause)
            pause = min(pause * 2, 10_000)
        }
        return stop()
    }

    /// Ends the process.
    func stop() -> End {
        kill(identifier, SIGKILL)
        while true {
            if var end = end() {
                end.tookTooLong = true
                return end
            }
            usleep(1_000)
        }
    }
}
