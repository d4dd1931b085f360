/// A wrapper around SQLite's own VFS, registered under a name of its own: temporary files go to a given folder, and
/// every operation can be counted and made to fail.
package final class VFS: Sendable {
    package let name: String

    init(name: String) { self.name = name }
}
