// The entry point of the tests, where SwiftPM makes a program of them; the file's name is SwiftPM's. Without this file it
// would write one of its own, for which it needs an index of all code: a twelfth of the compiler's work.
import Foundation
import Testing
import XCTest

@main
struct TestProgram {
    static func main() async {
        let arguments = CommandLine.arguments
        if arguments.contains("swift-testing") { await Testing.__swiftPMEntryPoint() as Never }
        // SwiftPM asks for the tests of XCTest unless it is told not to, and there are none.
        if arguments.contains("--dump-tests-json") { XCTMain([]) }
        let remedy = "Run the tests by scripts/test, or by swift test --disable-xctest --enable-swift-testing.\n"
        FileHandle.standardError.write(Data(remedy.utf8))
        exit(1)
    }
}
