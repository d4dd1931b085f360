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
        var device: UInt64
        var inode: UInt64

        func isDone(at path: String, files: FileLayer) throws -> Bool {
            guard let attributes = try files.attributesIfPresent(path) else { return false }
            return attributes.device == device && attributes.inode == inode
        }
    }
}
