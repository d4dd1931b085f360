internal import FerryBase
internal import FerrySQLite
internal import FerryStore

/// Written before a swap: tells the next command whether it has happened.
package enum SwapIntent: Codable, Hashable, Sendable {
    /// The content of the store's file becomes another one, by one transaction.
    case overwrite(Overwrite)
    /// A file gets a name where nothing stands; a rename keeps its device and inode.
    case place(Place)

    package struct Overwrite: Codable, Hashable, Sendable {
        /// The number of the old content's schema (`PRAGMA schema_version`); nil where the file was no database.
        ///
        /// The transaction makes it one more, and rows do not change it.
        var schemaVersion: Int64?
        /// The new content's version hashes, in hexadecimal.
        var hashes: [String: String]

        /// Whether the database holds the new content, or what has become of it since.
        func isDone(on connection: Connection) throws -> Bool {
            if let schemaVersion, try connection.schemaVersion() == schemaVersion { return false }
            return try StoreMetadata.read(from: connection).hashes.mapValues(\.hexadecimal) == hashes
        }
    }

    package struct Place: Codable, Hashable, Sendable {
        private var device: UInt64
        private var inode: UInt64
        /// Of an output, which only the run may write before its end.
        ///
        /// Absent for a store, which its app may open at once, and in records of earlier tools.
        private var bytes: Int64?
        private var modified: Int64?

        init(ofStore file: FileAttributes) { (device, inode) = (file.device, file.inode) }

        init(ofOutput file: FileAttributes) {
            self.init(ofStore: file)
            (bytes, modified) = (file.size, file.modified)
        }

        /// - Throws: ``FerryError`` `.outputExists` when the file stands at its place, and was written to since.
        func isDone(at path: String, files: FileLayer) throws -> Bool {
            guard let file = try files.attributesIfPresent(path), file.device == device, file.inode == inode else {
                return false
            }
            guard file.size == bytes ?? file.size, file.modified == modified ?? file.modified else {
                throw FerryError(
                    .outputExists,
                    "\(path) was written by an earlier call of this run, and changed by another program since then.",
                    remedy: "Move it away, and make it anew with \(on: .restart).")
            }
            return true
        }
    }
}
