package import FerrySQLite

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
            switch affinity.stored(integer) {
            case .null: return .null
            case .integer(let integer): return .integer(integer)
            case .real(let real): return .real(real)
            case .text:
                try asText.bind(integer, at: 1)
                return try converted(by: asText)
            }
        case .real(let real):
            switch affinity.stored(real) {
            case .null: return .null
            case .integer(let integer): return .integer(integer)
            case .real(let real): return .real(real)
            case .text:
                try asText.bind(real, at: 1)
                return try converted(by: asText)
            }
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

    private func converted(by statement: Statement) throws -> PlainValue {
        defer { statement.reset() }
        return try statement.step() ? StoredValue.raw(statement, 0) : .null
    }
}
