internal import FerrySQLite

/// A stored value that is compared in pieces, with what stands before it or is left out of it.
struct LargeContent {
    var schema: String
    var table: String
    var column: String
    var row: Int64
    var isText: Bool
    var prefix: [UInt8] = []
    var skipped = 0

    private static let pieceBytes = 1 << 16

    private func handle(on connection: Connection) throws(DatabaseError) -> BlobHandle {
        try BlobHandle(column, of: table, row: row, schema: schema, on: connection)
    }

    /// Whether the value is exactly these bytes.
    func holds(_ bytes: [UInt8], on connection: Connection) throws -> Bool {
        let handle = try handle(on: connection)
        guard prefix.isEmpty, skipped == 0, handle.count == bytes.count else { return false }
        var piece = [UInt8](repeating: 0, count: Self.pieceBytes)
        return try Self.pieces(of: bytes.count) { start, count in
            try Self.read(handle, into: &piece, count, at: start)
            return piece[..<count].elementsEqual(bytes[start..<start + count])
        }
    }

    /// Whether this value, as it is, is what another one comes to.
    func equals(_ expected: LargeContent, on connection: Connection) throws -> Bool {
        let own = try handle(on: connection)
        let other = try expected.handle(on: connection)
        let start = expected.prefix.count
        guard own.count == other.count - expected.skipped + start else { return false }
        var (first, second) = (
            [UInt8](repeating: 0, count: Self.pieceBytes), [UInt8](repeating: 0, count: Self.pieceBytes)
        )
        // Only the mark of external storage is ever left out.
        if expected.skipped > 0 {
            try Self.read(other, into: &second, 1, at: 0)
            guard second[0] == 1 else { return false }
        }
        if start > 0 {
            try Self.read(own, into: &first, start, at: 0)
            guard first[..<start].elementsEqual(expected.prefix) else { return false }
        }
        return try Self.pieces(of: own.count - start) { place, count in
            try Self.read(own, into: &first, count, at: place + start)
            try Self.read(other, into: &second, count, at: place + expected.skipped)
            return first.withUnsafeBytes { one in
                second.withUnsafeBytes { two in one[..<count].elementsEqual(two[..<count]) }
            }
        }
    }

    private static func pieces(of total: Int, _ body: (Int, Int) throws -> Bool) rethrows -> Bool {
        var start = 0
        while start < total {
            let count = min(pieceBytes, total - start)
            guard try body(start, count) else { return false }
            start += count
        }
        return true
    }

    private static func read(
        _ handle: borrowing BlobHandle, into bytes: inout [UInt8], _ count: Int, at offset: Int
    ) throws {
        try bytes.withUnsafeMutableBytes {
            try handle.read(into: UnsafeMutableRawBufferPointer(rebasing: $0[..<count]), at: offset)
        }
    }
}
