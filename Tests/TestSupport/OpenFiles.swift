internal import Foundation

/// The files that this process has open.
package enum OpenFiles {
    /// Those in a folder and below it, by path; none where the system has no list of them.
    package static func below(_ folder: String) -> [String] {
        let files = FileManager.default
        // A descriptor may be closed by another test while the list is read.
        let descriptors = (try? files.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return descriptors.compactMap { try? files.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + $0) }
            .filter { $0.hasPrefix(folder + "/") }.sorted()
    }
}
