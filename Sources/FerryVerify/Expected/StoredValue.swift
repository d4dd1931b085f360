internal import FerryModel
package import FerrySQLite

/// How values are read from and stored in a Core Data store's columns.
enum StoredValue {
    /// What an attribute's declaration says of how its values stand in a column.
    struct Form {
        /// Dates, decimals and other reals are doubles, however a whole one is stored.
        let isReal: Bool
        let allowsExternalStorage: Bool

        init(_ attribute: Attribute) {
            isReal = [.date, .decimal, .double, .float].contains(attribute.type)
            allowsExternalStorage = attribute.allowsExternalStorage
        }
    }

    /// Decodes a column by the type that its attribute is declared with.
    static func decode(_ row: Statement, _ column: Int, as attribute: Attribute) throws -> PlainValue {
        try decode(row, column, as: Form(attribute))
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
            // 01 stands before data kept in the column; anything else names a file.
            guard first == 1 else { throw PlainFailure.valueInFile }
            return .blob(Array(bytes.dropFirst()))
        }
    }

    /// A column as it is, whatever its attribute's type.
    static func raw(_ row: Statement, _ column: Int) -> PlainValue {
        switch row.storageClass(column) {
        case .null: .null
        case .integer: .integer(row.integer(column))
        case .real: .real(row.real(column))
        case .text: .text(row.blob(column))
        case .blob: .blob(row.blob(column))
        }
    }

    /// Whether a column holds exactly this value: same storage class, same bytes.
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

/// What the columns of a store make of values, by SQLite's affinity (``ColumnAffinity``).
///
/// Numbers in text are read and written by SQLite itself: how it rounds is its own.
package final class ColumnConversion {
    private let asNumber: Statement
    private let asText: Statement

    package init(on connection: Connection) throws(DatabaseError) {
        asNumber = try connection.prepare("SELECT CAST(? AS NUMERIC)")
        asText = try connection.prepare("SELECT CAST(? AS TEXT)")
    }

    /// The value as a column of an affinity holds it.
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
            // A number is met once more: the column may be one of reals.
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
