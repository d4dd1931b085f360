internal import FerryModel
internal import FerrySQLite

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
            guard first == 1 else { throw PlainFailure("the value is kept in a file") }
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
