/// The fields of the first 100 bytes of a database file that Ferry looks at.
package struct DatabaseHeader: Sendable, Hashable {
    package static let byteCount = 100

    package var pageSize: Int
    /// 1 for a rollback journal, 2 for a write-ahead log.
    package var writeVersion: UInt8
    package var readVersion: UInt8
    package var changeCounter: UInt32
    /// Pages by the header; right only while ``changeCounter`` equals ``versionValidFor``.
    package var pageCount: UInt32
    package var schemaCookie: UInt32
    /// Not zero with `auto_vacuum`.
    package var largestRootPage: UInt32
    package var incrementalVacuum: Bool
    package var userVersion: UInt32
    package var applicationID: UInt32
    package var versionValidFor: UInt32

    package var usesWriteAheadLog: Bool { writeVersion == 2 }

    /// Reads the header; nil when the bytes are not those of an SQLite database.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count >= Self.byteCount, bytes.starts(with: Array("SQLite format 3\0".utf8)) else { return nil }
        let size = Int(bytes[16]) << 8 | Int(bytes[17])
        pageSize = size == 1 ? 65536 : size
        guard pageSize >= 512, pageSize & (pageSize - 1) == 0 else { return nil }
        func number(_ offset: Int) -> UInt32 { bytes[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) } }
        writeVersion = bytes[18]
        readVersion = bytes[19]
        changeCounter = number(24)
        pageCount = number(28)
        schemaCookie = number(40)
        largestRootPage = number(52)
        userVersion = number(60)
        incrementalVacuum = number(64) != 0
        applicationID = number(68)
        versionValidFor = number(92)
    }
}

extension DatabaseHeader {
    /// Takes out of a file's first bytes what every commit counts on: the change counter, the schema's number, and the
    /// version of SQLite with the counter that it is valid for.
    ///
    /// Nothing of it says anything of the content, and no commit may set it back: by it other clients see that what they
    /// keep in memory is old.
    package static func blankCounters(_ bytes: inout [UInt8]) {
        guard bytes.count >= byteCount else { return }
        for range in [24..<28, 40..<44, 92..<100] { for index in range { bytes[index] = 0 } }
    }
}
