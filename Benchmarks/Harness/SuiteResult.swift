package import FerryBase
internal import Foundation

/// All results of one run, with the machine and the libraries.
package struct SuiteResult: Sendable, Codable {
    package struct Machine: Sendable, Codable {
        package var system: String
        package var processors: Int
        package var memoryBytes: UInt64
        package var libraries: [String: String]
    }

    /// The version of this file's format.
    package var ferry = 1
    package var machine: Machine
    /// The released program that ran whole commands; nil when the library in the benchmark's own program ran them.
    package var program: String?
    package var cases: [CaseResult]

    /// - Parameters:
    ///   - libraries: The libraries' versions by name.
    ///   - program: The released program that ran whole commands.
    ///   - cases: The results.
    package init(
        libraries: [String: String], program: String?, cases: [CaseResult]
    ) {
        let process = ProcessInfo.processInfo
        machine = Machine(
            system: process.operatingSystemVersionString, processors: process.activeProcessorCount,
            memoryBytes: process.physicalMemory, libraries: libraries)
        self.program = program
        self.cases = cases
    }

    package func write(to path: String, files: FileLayer) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try files.replace(path, with: [UInt8](encoder.encode(self)) + [UInt8(ascii: "\n")])
    }
}
