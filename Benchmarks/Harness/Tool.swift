internal import CFloor
package import FerryBase

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// Runs a program as a part of what is measured.
///
/// Foundation's `Process` looks only every 50 ms whether a program has ended, which is as long as some of them run.
package enum Tool {
    /// Runs a program to its end; its standard error goes where this one's goes.
    ///
    /// - Parameters:
    ///   - program: Its path.
    ///   - words: Its arguments.
    ///   - output: The file for its standard output.
    /// - Throws: ``FerryError`` when it cannot be run or does not succeed.
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
