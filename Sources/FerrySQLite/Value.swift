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

/// What a column makes of values before it stores them: SQLite's affinity, by the type that the column is declared with.
///
/// The one rule where it must be known beforehand what SQLite will have stored: the lookups of find-or-create and
/// verification.
package enum ColumnAffinity: Sendable {
    case text, numeric, real, none

    /// By SQLite's rules for declared types.
    package init(declaredType: String) {
        let type = declaredType.uppercased()
        let holds = { (words: [String]) in words.contains { type.contains($0) } }
        if holds(["INT"]) {
            self = .numeric
        } else if holds(["CHAR", "CLOB", "TEXT"]) {
            self = .text
        } else if type.isEmpty || holds(["BLOB"]) {
            self = .none
        } else {
            self = holds(["REAL", "FLOA", "DOUB"]) ? .real : .numeric
        }
    }

    /// A number as a column holds it; one that a text column turns into text is left to SQLite.
    package enum Number: Sendable, Equatable {
        case null
        case integer(Int64)
        case real(Double)
        case text
    }

    /// What becomes of a real.
    ///
    /// NaN is NULL everywhere. A column of numbers keeps a whole number as an integer, so there is no -0.0 in it: one of
    /// reals gives 0.0 back, the others 0. The ends of the range of integers stay reals.
    package func stored(_ real: Double) -> Number {
        if real.isNaN { return .null }
        return switch self {
        case .none: .real(real)
        case .text: .text
        case .real: .real(real == 0 ? 0 : real)
        case .numeric: Self.wholeNumber(real).map { .integer($0) } ?? .real(real)
        }
    }

    /// What becomes of an integer.
    package func stored(_ integer: Int64) -> Number {
        switch self {
        case .none, .numeric: .integer(integer)
        case .real: .real(Double(integer))
        case .text: .text
        }
    }

    /// Whether a column of numbers takes a text for a number: digits with a sign, a point and an exponent, and blanks
    /// around them.
    ///
    /// `CAST(… AS NUMERIC)` gives the number then.
    package static func isNumber(_ text: UnsafeRawBufferPointer) -> Bool {
        var rest = text[...]
        func skip(_ isWanted: (UInt8) -> Bool) -> Int {
            let before = rest.count
            rest = rest.drop(while: isWanted)
            return before - rest.count
        }
        func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0d).contains(byte) }
        func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
        func skipSign() { if rest.first == 0x2b || rest.first == 0x2d { rest = rest.dropFirst() } }
        _ = skip(isBlank)
        skipSign()
        var digits = skip(isDigit)
        if rest.first == 0x2e {
            rest = rest.dropFirst()
            digits += skip(isDigit)
        }
        guard digits > 0 else { return false }
        if rest.first == 0x65 || rest.first == 0x45 {
            rest = rest.dropFirst()
            skipSign()
            guard skip(isDigit) > 0 else { return false }
        }
        _ = skip(isBlank)
        return rest.isEmpty
    }

    private static func wholeNumber(_ real: Double) -> Int64? {
        guard let integer = Int64(exactly: real), integer > .min, integer < .max else { return nil }
        return integer
    }
}
