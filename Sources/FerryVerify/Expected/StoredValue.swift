internal import FerryModel
package import FerrySQLite

/// Reads and compares values of a Core Data store's columns.
enum StoredValue {
    /// The storage form of an attribute's values.
    struct Form {
        /// Dates, decimals and other reals are doubles, even if SQLite stores a whole one as an integer.
        let isReal: Bool
        let allowsExternalStorage: Bool

        init(_ attribute: Attribute) {
            isReal = [.date, .decimal, .double, .float].contains(attribute.type)
            allowsExternalStorage = attribute.allowsExternalStorage
        }
    }

    static func decode(_ row: Statement, _ column: Int, as attribute: Form) throws -> PlainValue {
        switch row.storageClass(column) {
        case .null: return .null
        case .integer:
            return attribute.isReal ? .real(Double(row.integer(column))) : .integer(row.integer(column))
        case .real: return .real(row.real(column))
        case .text: return .text(row.blob(column))
        case .blob:
            let bytes = row.blob(column)
            guard attribute.allowsExternalStorage, let first = bytes.first else { return .blob(bytes) }
            // 01 precedes data in the column; anything else names a file.
            guard first == 1 else { throw PlainFailure.valueInFile }
            return .blob(Array(bytes.dropFirst()))
        }
    }

    /// A column's value, whatever its attribute's type.
    static func raw(_ row: Statement, _ column: Int) -> PlainValue {
        switch row.storageClass(column) {
        case .null: .null
        case .integer: .integer(row.integer(column))
        case .real: .real(row.real(column))
        case .text: .text(row.blob(column))
        case .blob: .blob(row.blob(column))
        }
    }

    /// Whether a column holds a value with the same storage class and bytes.
    static func isEqual(_ row: Statement, _ column: Int, to value: PlainValue) -> Bool {
        switch (value, row.storageClass(column)) {
        case (.null, .null): return true
        case (.integer(let integer), .integer): return row.integer(column) == integer
        case (.real(let real), .real): return row.real(column).bitPattern == real.bitPattern
        case (.text(let bytes), .text), (.blob(let bytes), .blob):
            let stored = row.lentBytes(column)
            return stored.count == bytes.count && bytes.withUnsafeBytes { compareBytes(stored, $0) == 0 }
        default: return false
        }
    }
}

/// A stored value to be compared in pieces, after a prefix, or without its first bytes.
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

    func count(on connection: Connection) throws -> Int { try handle(on: connection).count }

    func bytes(_ range: Range<Int>, on connection: Connection) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: range.count)
        try Self.read(try handle(on: connection), into: &bytes, range.count, at: range.lowerBound)
        return bytes
    }

    func holds(_ bytes: [UInt8], on connection: Connection) throws -> Bool {
        let handle = try handle(on: connection)
        guard prefix.isEmpty, skipped == 0, handle.count == bytes.count else { return false }
        var piece = [UInt8](repeating: 0, count: Self.pieceBytes)
        return try Self.pieces(of: bytes.count) { start, count in
            try Self.read(handle, into: &piece, count, at: start)
            return piece[..<count].elementsEqual(bytes[start..<start + count])
        }
    }

    /// Whether this stored value equals another one after its prefix or omission.
    func equals(_ expected: LargeContent, on connection: Connection) throws -> Bool {
        let own = try handle(on: connection)
        let other = try expected.handle(on: connection)
        let start = expected.prefix.count
        guard own.count == other.count - expected.skipped + start else { return false }
        var (first, second) = (
            [UInt8](repeating: 0, count: Self.pieceBytes), [UInt8](repeating: 0, count: Self.pieceBytes)
        )
        // Only the first byte, which marks external storage, is ever skipped.
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

/// Converts values as columns do (``ColumnAffinity``); SQLite itself converts numbers in text, as it rounds.
package final class ColumnConversion {
    private let asNumber: Statement
    private let asText: Statement

    package init(on connection: Connection) throws(DatabaseError) {
        asNumber = try connection.prepare("SELECT CAST(? AS NUMERIC)")
        asText = try connection.prepare("SELECT CAST(? AS TEXT)")
    }

    package func stored(_ value: PlainValue, by affinity: ColumnAffinity) throws -> PlainValue {
        switch value {
        case .integer(let integer):
            return try number(affinity.stored(integer)) { () throws(DatabaseError) in try asText.bind(integer, at: 1) }
        case .real(let real):
            return try number(affinity.stored(real)) { () throws(DatabaseError) in try asText.bind(real, at: 1) }
        case .text(let bytes):
            guard affinity == .numeric || affinity == .real,
                bytes.withUnsafeBytes({ ColumnAffinity.isNumber($0) })
            else { return value }
            try asNumber.bind(String(decoding: bytes, as: UTF8.self), at: 1)
            let number = try converted(by: asNumber)
            // A column of reals converts an integer once more.
            if case .text = number { return value }
            return try stored(number, by: affinity)
        default: return value
        }
    }

    private func number(
        _ form: ColumnAffinity.Number, bindText: () throws(DatabaseError) -> Void
    ) throws -> PlainValue {
        switch form {
        case .null: return .null
        case .integer(let integer): return .integer(integer)
        case .real(let real): return .real(real)
        case .text:
            try bindText()
            return try converted(by: asText)
        }
    }

    private func converted(by statement: Statement) throws -> PlainValue {
        defer { statement.reset() }
        return try statement.step() ? StoredValue.raw(statement, 0) : .null
    }
}
