package import FerryBase

package enum DatabaseFiles {
    /// Whether the journal is hot: its first byte exists and is not zero, and the main file is not empty.
    ///
    /// The journal of a transaction in another process looks the same.
    ///
    /// The call opens and closes the journal. With any close, POSIX drops all locks of the process on the file, so use
    /// this **only before** this process opens an SQLite connection on the database.
    package static func hasHotJournal(_ path: String, files: FileLayer) throws(FerryError) -> Bool {
        let journal = path + "-journal"
        guard try files.attributesIfPresent(path)?.size ?? 0 > 0,
            try files.attributesIfPresent(journal)?.size ?? 0 > 0
        else { return false }
        return try files.open(journal).read(count: 1, at: 0).first != 0
    }

    /// Returns words for the kind of a file that does not start like a database.
    package static func guess(_ start: [UInt8]) -> String {
        if start.starts(with: Array("SQLite format 3\0".utf8)) {
            return start.count < DatabaseHeader.byteCount ? "truncated within its header" : "damaged in its header"
        }
        let known: [(start: [UInt8], words: String)] = [
            (Array("bplist0".utf8), "a binary property list"), (Array("<?xml".utf8), "an XML file"),
            (Array("** This file contains an SQLite 2".utf8), "an SQLite 2 database"),
            ([0x28, 0xB5, 0x2F, 0xFD], "a Zstandard archive"), ([0x1F, 0x8B], "a gzip archive"),
            (Array("PK\u{3}\u{4}".utf8), "a ZIP archive"),
            ([0x37, 0x7F, 0x06], "a write-ahead log without its database"),
            ([0xD9, 0xD5, 0x05, 0xF9], "a rollback journal without its database"),
        ]
        if let match = known.first(where: { start.starts(with: $0.start) }) { return match.words }
        if start.allSatisfy({ $0 == 0 }) { return "a file of zero bytes" }
        if start.allSatisfy({ $0 == 9 || $0 == 10 || $0 == 13 || (32..<127).contains($0) }) { return "a text file" }
        // In encrypted data every byte value is about equally frequent: none is frequent among a hundred bytes.
        let most = Dictionary(grouping: start, by: { $0 }).values.map(\.count).max() ?? 0
        return start.count == DatabaseHeader.byteCount && most <= 5
            ? "encrypted, or of an unknown format" : "of an unknown format"
    }
}

/// The fields that Ferry uses from the first 100 bytes of a database file.
package struct DatabaseHeader: Sendable, Hashable {
    package static let byteCount = 100

    package var pageSize: Int
    package var usesWriteAheadLog: Bool
    package var changeCounter: UInt32

    /// Reads the header; nil if the bytes do not start an SQLite database.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count >= Self.byteCount, bytes.starts(with: Array("SQLite format 3\0".utf8)) else { return nil }
        let size = Int(bytes[16]) << 8 | Int(bytes[17])
        pageSize = size == 1 ? 65536 : size
        guard pageSize >= 512, pageSize & (pageSize - 1) == 0 else { return nil }
        // 1 for a rollback journal.
        usesWriteAheadLog = bytes[18] == 2
        changeCounter = bytes[24..<28].reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Zeroes the fields that every commit changes in a file's first bytes: the change counter, the schema cookie, and
    /// SQLite's version with its valid-for counter.
    ///
    /// These fields do not depend on the content. No commit may set them back: other connections see stale caches by
    /// them.
    package static func blankCounters(_ bytes: inout [UInt8]) {
        guard bytes.count >= byteCount else { return }
        for range in [24..<28, 40..<44, 92..<100] { for index in range { bytes[index] = 0 } }
    }
}

/// The identity of one state of a database's files: equal fingerprints mean no write in between.
package struct DatabaseFingerprint: Sendable, Hashable, Codable {
    package var device: UInt64
    package var inode: UInt64
    /// Size and last change of the main file; a checkpoint changes both without a change of the content.
    package var bytes: Int64
    package var modified: Int64
    /// Last change of the file, also of its attributes and names.
    ///
    /// No program can set this time. Absent in records of earlier versions.
    package var changed: Int64?
    /// The first 100 bytes of the main file, in hexadecimal.
    package var header: String
    package var walBytes: Int64
    /// The header of a `-wal` with committed content, and the frame header of its last commit; both hold its salts.
    package var walHeader: String?
    package var walLastFrame: String?
    package var walFrames: UInt32?

    package mutating func takeTimes(from file: FileAttributes) { (modified, changed) = (file.modified, file.changed) }

    /// Makes the fingerprint of a file, or of no file, without reading it as a database.
    package init(unread file: FileAttributes?) {
        device = file?.device ?? 0
        inode = file?.inode ?? 0
        bytes = file?.size ?? 0
        modified = file?.modified ?? 0
        changed = file?.changed
        header = ""
        walBytes = 0
    }

    private var headerBytes: [UInt8] {
        let digits = Array(header.utf8).map { $0 > 0x39 ? $0 - 0x57 : $0 - 0x30 }
        return stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    package var usesWriteAheadLog: Bool { DatabaseHeader(headerBytes)?.usesWriteAheadLog == true }

    /// The fingerprint after a complete checkpoint and the removal of the `-wal`.
    package var withoutLog: DatabaseFingerprint {
        var other = self
        (other.walBytes, other.walHeader, other.walLastFrame, other.walFrames) = (0, nil, nil, nil)
        return other
    }

    /// Whether this is the state after a change of the journal mode in the state `before`, times aside.
    ///
    /// That changes the header only, and raises its change counter by one; any write by another program raises it, too.
    package func isNext(afterJournalModeOf before: DatabaseFingerprint) -> Bool {
        var own = headerBytes
        let other = before.headerBytes
        guard let now = DatabaseHeader(own), let then = DatabaseHeader(other),
            now.changeCounter == then.changeCounter &+ 1
        else { return false }
        // The mode, the counter, the number of pages, and SQLite's version with its own counter.
        for range in [18..<20, 24..<32, 92..<100] { own.replaceSubrange(range, with: other[range]) }
        var same = withoutLog
        same.header = own.hexadecimal
        return same.isSame(butForTime: before.withoutLog)
    }

    package func isSame(butForTime other: DatabaseFingerprint) -> Bool {
        var other = other
        (other.modified, other.changed) = (modified, changed)
        return self == other
    }
}
