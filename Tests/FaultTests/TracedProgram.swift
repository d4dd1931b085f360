internal import Foundation
internal import TestSupport

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// A program whose standard error is read line by line, and which cannot run far ahead of its reader.
///
/// On Linux the pipe holds one line: the program writes its next line only after the reader has read the line before.
/// So a kill after a line hits the program within the operation behind that line or the next one. On other systems the
/// pipe holds some more lines.
final class TracedProgram {
    private let process = Process()
    private let pipe = Pipe()
    private var bytes: [UInt8] = []
    private var start = 0

    /// Starts the program, with its standard output in a file.
    init(_ program: String, _ words: [String], in folder: String, output: String) throws {
        process.executableURL = URL(fileURLWithPath: program)
        process.take(words)
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
            // Sets the pipe's size to one page (F_SETPIPE_SZ); with O_DIRECT, whose number depends on the processor,
            // each write takes a page of its own. Without either setting the aim is only less exact.
            _ = fcntl(writing, 1031, 4_096)
            #if arch(arm64)
                let packets: Int32 = 0o200000
            #else
                let packets: Int32 = 0o40000
            #endif
            _ = fcntl(writing, F_SETFL, fcntl(writing, F_GETFL) | packets)
        #endif
    }

    /// Returns the next line, without its end; nil when the program has closed its standard error.
    func line() -> String? {
        while true {
            if let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) {
                defer { start = end + 1 }
                return String(decoding: bytes[start..<end], as: UTF8.self)
            }
            bytes.removeFirst(start)
            start = 0
            // A read of a page takes one line from a pipe that holds one line.
            var part = [UInt8](repeating: 0, count: 4_096)
            let count = read(pipe.fileHandleForReading.fileDescriptor, &part, part.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return nil }
            bytes += part[..<count]
        }
    }

    /// Ends the program at once (`kill -9`).
    func kill() { _ = sendSignal(process.processIdentifier, SIGKILL) }

    /// Reads the remaining lines and waits for the end.
    ///
    /// - Returns: The exit code; nil when a signal ended the program.
    func wait() -> Int32? {
        while line() != nil {}
        process.waitUntilExit()
        return process.terminationReason == .exit ? process.terminationStatus : nil
    }
}

/// Calls `kill(2)`, under a name other than the method above.
private func sendSignal(_ identifier: pid_t, _ signal: Int32) -> Int32 { kill(identifier, signal) }
