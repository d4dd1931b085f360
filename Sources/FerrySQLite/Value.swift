/// One SQLite value, owned: for tests, verification and small tables; never made per cell on the row path.
package enum Value: Sendable, Hashable {
    case null
    case integer(Int64)
    case real(Double)
    /// Text as its UTF-8 bytes would decode; text with invalid UTF-8 is read by `Statement.bytes`.
    case text(String)
    case blob([UInt8])

    package var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
    package var text: String? { if case .text(let value) = self { value } else { nil } }
    package var isNull: Bool { self == .null }

    /// As SQL writes it.
    package var literal: String {
        switch self {
        case .null: "NULL"
        case .integer(let value): String(value)
        // Beyond the range of numbers SQL has no word but one that is too large.
        case .real(let value) where value.isInfinite: value < 0 ? "-9e999" : "9e999"
        case .real(let value): value.isNaN ? "NULL" : "\(value)"
        case .text(let text):
            "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''") + "'"
        case .blob(let bytes):
            "X'" + bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined() + "'"
        }
    }
}

/// The storage class of a value.
package enum StorageClass: Int32, Sendable {
    case integer = 1
    case real = 2
    case text = 3
    case blob = 4
    case null = 5
}
