internal import FerryBase
internal import Foundation

/// A fresh folder that is removed, with its content, when the last reference is released.
package final class TemporaryFolder: Sendable {
    /// The folder's real path, without a trailing slash.
    package let path: String

    package init() throws {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("ferry-test-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        // `resolvingSymlinksInPath` would remove the /private at the beginning of a real path on Darwin.
        path = try FileLayer().realPath(folder.path)
    }

    deinit {
        // No test depends on this removal; a remaining folder is in the system's folder for temporary files.
        try? FileManager.default.removeItem(atPath: path)
    }

    /// The path of a file in this folder.
    package func file(_ name: String) -> String { path + "/" + name }

    /// Makes a symbolic link in this folder.
    package func makeLink(_ name: String, to destination: String) throws {
        try FileManager.default.createSymbolicLink(atPath: file(name), withDestinationPath: destination)
    }
}
