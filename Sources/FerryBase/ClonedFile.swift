internal import CSystem

/// A file that is cloned, also while SQLite has it open.
///
/// Closing any descriptor of a file drops the process's locks on it, those of SQLite's connections, too. So the
/// descriptor stays open as long as the object, which must outlive the connections.
package final class ClonedFile {
    package let path: String
    private let files: FileLayer
    private let descriptor: Int32

    /// - Throws: ``FerryError`` `.notFound`, `.fileFailed`, `.notARegularFile`.
    package init(_ path: String, files: FileLayer) throws(FerryError) {
        (self.path, self.files) = (path, files)
        descriptor = try files.openRegular(path, O_RDONLY, "open \(path)").descriptor
    }

    deinit { _ = close(descriptor) }

    /// Makes a copy-on-write copy of the file, which shares its blocks with it until one of the two changes.
    ///
    /// - Returns: False where the volume cannot, or the destination is on another one; no file is left then.
    /// - Throws: ``FerryError`` `.fileFailed`.
    package func clone(to destination: String, mode: UInt32 = 0o600) throws(FerryError) -> Bool {
        guard files.faults?.hasLinks != false else { return false }
        do throws(FerryError) {
            let copiesBytes = files.faults?.copiesClones == true
            try files.call("clone \(path) to \(destination)", telling: .cloned(path, to: destination)) {
                copiesBytes
                    ? ferry_copy_open(descriptor, destination, mode_t(mode))
                    : ferry_reflink_open(descriptor, path, destination, mode_t(mode))
            }
            return true
        } catch {
            guard error.systemError?.meansUnsupported == true else { throw error }
            return false
        }
    }
}
