internal import CFloor
package import FerryBase
internal import Foundation

/// What a finished program used.
package struct MeasuredRun: Sendable, Codable, Equatable {
    /// The exit code; nil where a signal ended the program.
    package var code: Int32?
    package var seconds: Double
    /// The highest memory of the program (`ru_maxrss`).
    package var peakBytes: Int64
    /// Bytes passed by read and write calls (`/proc/PID/io`); nil where the system does not count them.
    package var readBytes: Int64?
    package var writtenBytes: Int64?
    /// The most bytes of disk that the watched folder had more than before.
    package var folderBytes: Int64

    /// Runs a program to its end.
    ///
    /// The system counts the memory that this process had when it started the program as the program's; so measure from
    /// a process that has done nothing else.
    ///
    /// - Parameters:
    ///   - words: The program's path and its arguments.
    ///   - output: The file for standard output.
    ///   - errors: The file for standard error: each line after the seconds since the start.
    ///   - folder: The watched folder.
    ///   - limit: The seconds after which the program is killed.
    /// - Returns: What the program used.
    /// - Throws: ``FerryError`` when the program cannot be started.
    package static func of(
        _ words: [String], output: String, errors: String, folder: String, limit: Double = .infinity
    ) throws(FerryError) -> MeasuredRun {
        let copies = words.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        var usage = cfloor_usage()
        let code = (copies.map { UnsafePointer($0) } + [nil]).withUnsafeBufferPointer { words in
            words.baseAddress.map { cfloor_measure($0, output, errors, folder, limit, &usage) } ?? -1
        }
        // A program that ran has a time.
        guard code >= 0 || usage.seconds > 0 else {
            throw FerryError(.internalError, "\(words.first ?? "") could not be started.")
        }
        return MeasuredRun(
            code: code < 0 ? nil : code, seconds: usage.seconds, peakBytes: usage.peak_bytes,
            readBytes: usage.read_bytes < 0 ? nil : usage.read_bytes,
            writtenBytes: usage.written_bytes < 0 ? nil : usage.written_bytes, folderBytes: usage.folder_bytes)
    }
}
