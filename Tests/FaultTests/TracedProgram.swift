internal import Foundation

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// A program whose standard error is read line by line while it is held back from running ahead of its reader.
///
/// On Linux its pipe holds one line: the program waits with its next line until the one before has been read. So a kill
/// that follows a line meets the program within the operation behind that line or the one after it. Elsewhere the pipe
/// holds some more of them.
final class TracedProgram {
    private let process = Process()
    private let pipe = Pipe()
    private var bytes: [UInt8] = []
    private var start = 0

    /// Starts the program; its standard output goes to a file.
    init(_ program: String, _ words: [String], in folder: String, output: String) throws {
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = words
        process.currentDirectoryURL = URL(fileURLWithPath: folder)
        process.standardInput = FileHandle.nullDevice
        process.standardError = pipe
        guard FileManager.default.createFile(atPath: output, contents: nil) else { throw CocoaError(.fileWriteUnknown) }
        process.standardOutput = try FileHandle(forWritingTo: URL(fileURLWithPath: output))
        holdOneLine()
        try process.run()
    }

    private func holdOneLine() {
        #if os(Linux)
            let writing = pipe.fileHandleForWriting.fileDescriptor
            // F_SETPIPE_SZ to one page; then each write takes a page of its own (O_DIRECT, whose number depends on the
            // processor). Without either the aim is only less exact.
            _ = fcntl(writing, 1031, 4_096)
            #if arch(arm64)
                let packets: Int32 = 0o200000
            #else
                let packets: Int32 = 0o40000
            #endif
            _ = fcntl(writing, F_SETFL, fcntl(writing, F_GETFL) | packets)
        #endif
    }

    /// The next line, without its end; nil when the program has closed its standard error.
    func line() -> String? {
        while true {
            if let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) {
                defer { start = end + 1 }
                return String(decoding: bytes[start..<end], as: UTF8.self)
            }
            bytes.removeFirst(start)
            start = 0
            // A read of a page takes one line out of a pipe that holds one.
            var part = [UInt8](repeating: 0, count: 4_096)
            let count = read(pipe.fileHandleForReading.fileDescriptor, &part, part.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return nil }
            bytes += part[..<count]
        }
    }

    /// Ends the program at once (`kill -9`).
    func kill() { _ = sendSignal(process.processIdentifier, SIGKILL) }

    /// Reads what is left and waits for the end.
    ///
    /// - Returns: The exit code; nil when a signal ended the program.
    func wait() -> Int32? {
        while line() != nil {}
        process.waitUntilExit()
        return process.terminationReason == .exit ? process.terminationStatus : nil
    }
}

/// `kill(2)`, named apart from the method above.
private func sendSignal(_ identifier: pid_t, _ signal: Int32) -> Int32 { kill(identifier, signal) }
