// The entry point of the tests, where SwiftPM makes a program of them; the file's name is SwiftPM's. Without this file it
// would write one of its own, for which it needs an index of all code: a twelfth of the compiler's work.
import Foundation
import Testing
import XCTest

@main
struct TestProgram {
    static func main() async {
        let arguments = CommandLine.arguments
        // SwiftPM asks for the tests of XCTest first, of which there are none, and with a file like this for these only if
        // it is told so. A plain `swift test` has no arguments.
        if arguments.contains("swift-testing") || arguments.count == 1 {
            await Testing.__swiftPMEntryPoint() as Never
        }
        if arguments.contains("--dump-tests-json") { XCTMain([]) }
        let remedy = "Select tests by scripts/test --filter NAME."
        FileHandle.standardError.write(Data((remedy + "\n").utf8))
        exit(1)
    }
}
