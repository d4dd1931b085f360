package import FerryBase

/// What names one state of a database's files: equal fingerprints mean that nothing was written in between.
package struct DatabaseFingerprint: Sendable, Hashable, Codable {
    package var device: UInt64
    package var inode: UInt64
    /// Size and last change of the main file, which a checkpoint changes though no content does.
    package var bytes: Int64
    package var modified: Int64
    /// Last change of the file, its attributes and names included.
    ///
    /// No program can set it back. Absent in records of earlier tools.
    package var changed: Int64?
    /// The first 100 bytes of the main file, in hexadecimal.
    package var header: String
    package var walBytes: Int64
    /// The header of a `-wal` with committed content, and the frame header of its last commit; both hold its salts.
    package var walHeader: String?
    package var walLastFrame: String?
    package var walFrames: UInt32?

    /// Takes over the times of a file whose content is known to be the same.
    package mutating func takeTimes(from file: FileAttributes) { (modified, changed) = (file.modified, file.changed) }

    /// What can be said of a file, or of none, that is not read as a database.
    package init(unread file: FileAttributes?) {
        device = file?.device ?? 0
        inode = file?.inode ?? 0
        bytes = file?.size ?? 0
        modified = file?.modified ?? 0
        changed = file?.changed
        header = ""
        walBytes = 0
    }

    init(
        file: FileAttributes, header: String, walBytes: Int64, walHeader: String?, walLastFrame: String?,
        walFrames: UInt32?
    ) {
        self.init(unread: file)
        self.header = header
        self.walBytes = walBytes
        self.walHeader = walHeader
        self.walLastFrame = walLastFrame
        self.walFrames = walFrames
    }
}
