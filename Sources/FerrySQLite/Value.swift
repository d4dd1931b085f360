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
}

/// The storage class of a value.
package enum StorageClass: Int32, Sendable {
    case integer = 1
    case real = 2
    case text = 3
    case blob = 4
    case null = 5
}
