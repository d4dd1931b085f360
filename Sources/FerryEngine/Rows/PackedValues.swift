internal import FerryBase
internal import FerryExpression
internal import FerrySQLite

/// A packed row, for the evaluation of expressions.
final class PackedValues: RowValues {
    /// Unchecked: no access lasts while other code runs.
    @exclusivity(unchecked) private var current: PackedRow?

    /// The row at work; to be set before anything is evaluated.
    var row: PackedRow {
        get {
            guard let current else { preconditionFailure("there is no row at work") }
            return current
        }
        set { current = newValue }
    }

    func value(at cell: Int) -> FunctionValue {
        switch row.storageClass(cell) {
        case .null: .null
        case .integer: .integer(row.integer(cell))
        case .real: .real(row.real(cell))
        case .text: .text(row.bytes(cell))
        case .blob: .blob(row.bytes(cell))
        }
    }
}
