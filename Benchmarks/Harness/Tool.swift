internal import CFloor
package import FerryBase

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// Runs a program as a part of the measured work.
///
/// Foundation's `Process` checks only every 50 ms whether a program has ended, which is as long as some programs run.
package enum Tool {
    /// Runs a program to its end; the program inherits standard error.
    ///
    /// - Parameters:
    ///   - program: The program's path.
    ///   - words: The program's arguments.
    ///   - output: The file for standard output.
    /// - Throws: ``FerryError`` when the program cannot be run or does not succeed.
    package static func run(_ program: String, _ words: [String], output: String = "/dev/null") throws(FerryError) {
        let copies = ([program] + words).map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        let code = (copies.map { UnsafePointer($0) } + [nil]).withUnsafeBufferPointer { words in
            words.baseAddress.map { cfloor_run($0, output) } ?? -1
        }
        guard code == 0 else {
            throw FerryError(.internalError, "\(program) ended with \(code).")
        }
    }
}
