internal import CSQLite
internal import FerryBase

extension DatabaseFingerprint {
    private var headerBytes: [UInt8] {
        let digits = Array(header.utf8).map { $0 > 0x39 ? $0 - 0x57 : $0 - 0x30 }
        return stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    /// Whether the database's own header says that it has a write-ahead log.
    package var usesWriteAheadLog: Bool { DatabaseHeader(headerBytes)?.usesWriteAheadLog == true }

    /// What it is when the `-wal` is gone that is all written back by now.
    package var withoutLog: DatabaseFingerprint {
        var other = self
        (other.walBytes, other.walHeader, other.walLastFrame, other.walFrames) = (0, nil, nil, nil)
        return other
    }

    /// What it is when this SQLite has taken the database, whose `-wal` is gone, to a rollback journal
    /// (`PRAGMA journal_mode`); when that happens is not known beforehand.
    ///
    /// The header is all that changes. What writes after that, by such a journal, counts the change there.
    package var withRollbackJournal: DatabaseFingerprint {
        var bytes = headerBytes
        guard let header = DatabaseHeader(bytes) else { return self }
        func put(_ number: UInt32, at offset: Int) {
            for index in 0..<4 { bytes[offset + index] = UInt8(truncatingIfNeeded: number >> UInt32(24 - 8 * index)) }
        }
        let counter = header.changeCounter &+ 1
        bytes[18] = 1
        bytes[19] = 1
        put(counter, at: 24)
        if header.changeCounter != header.versionValidFor || header.pageCount == 0 {
            put(UInt32(truncatingIfNeeded: self.bytes / Int64(header.pageSize)), at: 28)
        }
        put(counter, at: 92)
        put(UInt32(sqlite3_libversion_number()), at: 96)
        var other = withoutLog
        other.header = bytes.hexadecimal
        (other.modified, other.changed) = (0, nil)
        return other
    }

    /// Whether it is another one but for the time of the last change.
    package func isSame(butForTime other: DatabaseFingerprint) -> Bool {
        var other = other
        (other.modified, other.changed) = (modified, changed)
        return self == other
    }
}
