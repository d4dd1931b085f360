/// One SQLite value, for tests, verification and small tables; never per cell on the row path.
package enum Value: Sendable, Hashable {
    case null
    case integer(Int64)
    case real(Double)
    /// Text with invalid UTF-8 repaired; `Statement.withBytes` gives the exact bytes.
    case text(String)
    case blob([UInt8])

    package var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
    package var text: String? { if case .text(let value) = self { value } else { nil } }

    package var literal: String {
        switch self {
        case .null: "NULL"
        case .integer(let value): String(value)
        // SQL has no literal for infinity; a number out of range becomes infinity.
        case .real(let value) where value.isInfinite: value < 0 ? "-9e999" : "9e999"
        case .real(let value): value.isNaN ? "NULL" : "\(value)"
        case .text(let text):
            "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''") + "'"
        case .blob(let bytes):
            "X'" + bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined() + "'"
        }
    }
}

package enum StorageClass: Int32, Sendable {
    case integer = 1
    case real = 2
    case text = 3
    case blob = 4
    case null = 5
}

/// The affinity of a column, which converts values before SQLite stores them.
///
/// For code that must know the stored value beforehand: the lookups of find-or-create and verification.
package enum ColumnAffinity: Sendable {
    case text, numeric, real, none

    package init(declaredType: String) {
        // The types of Core Data's columns come first: searching for words takes longer than preparing the column.
        switch declaredType {
        case "INTEGER", "TIMESTAMP", "DECIMAL": self = .numeric
        case "VARCHAR": self = .text
        case "FLOAT": self = .real
        case "BLOB": self = .none
        default: self.init(ofOtherType: declaredType.uppercased())
        }
    }

    private init(ofOtherType type: String) {
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

    /// A number in a column; `text` if SQLite converts the number to text.
    package enum Number: Sendable, Equatable {
        case null
        case integer(Int64)
        case real(Double)
        case text
    }

    /// Returns the stored form of a real.
    ///
    /// NaN becomes NULL. Numeric columns store whole numbers as integers, so they have no -0.0: REAL columns return
    /// 0.0, the others 0. The least and greatest integers stay reals.
    package func stored(_ real: Double) -> Number {
        if real.isNaN { return .null }
        return switch self {
        case .none: .real(real)
        case .text: .text
        case .real: .real(real == 0 ? 0 : real)
        case .numeric: Self.wholeNumber(real).map { .integer($0) } ?? .real(real)
        }
    }

    /// Returns the stored form of an integer.
    package func stored(_ integer: Int64) -> Number {
        switch self {
        case .none, .numeric: .integer(integer)
        case .real: .real(Double(integer))
        case .text: .text
        }
    }

    /// Whether numeric affinity converts a text to a number: digits with sign, point and exponent, between blanks.
    ///
    /// `CAST(… AS NUMERIC)` then returns the number.
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
