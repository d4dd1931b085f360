/// What names one state of a database's files: equal fingerprints mean that nobody wrote in between.
package struct DatabaseFingerprint: Sendable, Hashable, Codable {
    package var device: UInt64
    package var inode: UInt64
    /// Size and last change of the main file, which a checkpoint changes though no content does.
    package var bytes: Int64
    package var modified: Int64
    /// The first 100 bytes of the main file, in hexadecimal.
    package var header: String
    package var walBytes: Int64
    /// The header of a `-wal` with committed content, and the frame header of its last commit; both hold its salts.
    package var walHeader: String?
    package var walLastFrame: String?
    package var walFrames: UInt32?
}
