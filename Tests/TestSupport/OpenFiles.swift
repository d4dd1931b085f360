internal import Foundation

/// The files that this process has open.
package enum OpenFiles {
    /// Returns the paths of the open files in a folder and below it; none where the system has no list of open files.
    package static func below(_ folder: String) -> [String] {
        let files = FileManager.default
        // Another test may close a descriptor while this test reads the list.
        let descriptors = (try? files.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return descriptors.compactMap { try? files.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + $0) }
            .filter { $0.hasPrefix(folder + "/") }.sorted()
    }
}
