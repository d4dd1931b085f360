internal import FerrySQLite

/// The order of an index's entries, each compared with the one before it, as SQLite orders values.
///
/// An entry out of its place is one that a search does not find.
struct EntryOrder {
    enum Fault { case place, duplicate }

    private enum Rank: Int { case null, number, text, blob }

    private struct Cell {
        var storageClass = StorageClass.null
        var integer: Int64 = 0
        var real = 0.0
        var bytes: [UInt8] = []
    }

    private let columns: [StoredIndex.Column]
    private let keyCount: Int
    private let isUnique: Bool
    private var cells: [Cell]
    private var isFirst = true

    /// Nil when only the app could say what comes first.
    init?(_ index: StoredIndex) {
        guard index.columns.allSatisfy({ $0.collation != nil }) else { return nil }
        columns = index.columns
        keyCount = index.columns.prefix { $0.isKey }.count
        isUnique = index.isUnique
        cells = [Cell](repeating: Cell(), count: columns.count)
    }

    /// Looks whether the entry at hand may follow the one before.
    mutating func follow(_ row: Statement) -> Fault? {
        let fault = isFirst ? nil : fault(of: row)
        isFirst = false
        for column in columns.indices { keep(row, column) }
        return fault
    }

    private func fault(of row: Statement) -> Fault? {
        for (place, column) in columns.enumerated() {
            // Of keys that must be unique equal ones are too many, but for NULL.
            if place == keyCount, isUnique, !cells[..<place].contains(where: { $0.storageClass == .null }) {
                return .duplicate
            }
            let order = compare(cells[place], row, place, column.collation ?? .binary)
            if order != 0 { return (order < 0) == column.isDescending ? .place : nil }
        }
        return .place
    }

    private mutating func keep(_ row: Statement, _ column: Int) {
        let storageClass = row.storageClass(column)
        cells[column].storageClass = storageClass
        switch storageClass {
        case .null: break
        case .integer: cells[column].integer = row.integer(column)
        case .real: cells[column].real = row.real(column)
        case .text, .blob:
            cells[column].bytes.removeAll(keepingCapacity: true)
            cells[column].bytes.append(contentsOf: row.lentBytes(column))
        }
    }

    // MARK: Values

    private static func rank(_ storageClass: StorageClass) -> Rank {
        switch storageClass {
        case .null: .null
        case .integer, .real: .number
        case .text: .text
        case .blob: .blob
        }
    }

    /// Below 0 where the kept value comes first.
    private func compare(_ cell: Cell, _ row: Statement, _ column: Int, _ collation: StoredIndex.Collation) -> Int {
        let storageClass = row.storageClass(column)
        let (left, right) = (Self.rank(cell.storageClass), Self.rank(storageClass))
        guard left == right else { return left.rawValue - right.rawValue }
        switch (cell.storageClass, storageClass) {
        case (.integer, .integer): return Self.order(cell.integer, row.integer(column))
        case (.real, .real): return Self.order(cell.real, row.real(column))
        case (.integer, .real): return Self.compare(cell.integer, row.real(column))
        case (.real, .integer): return -Self.compare(row.integer(column), cell.real)
        case (.text, _), (.blob, _):
            let bytes = row.lentBytes(column)
            return cell.bytes.withUnsafeBytes { kept in
                cell.storageClass == .blob ? compareBytes(kept, bytes) : Self.text(kept, bytes, collation)
            }
        default: return 0
        }
    }

    private static func order<Number: Comparable>(_ left: Number, _ right: Number) -> Int {
        left < right ? -1 : left > right ? 1 : 0
    }

    /// Exactly, also where a double cannot hold the integer.
    private static func compare(_ integer: Int64, _ real: Double) -> Int {
        if real < -0x1p63 { return 1 }
        if real >= 0x1p63 { return -1 }
        let whole = Int64(real)
        return integer == whole ? order(0, real - Double(whole)) : order(integer, whole)
    }

    private static func text(
        _ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer, _ collation: StoredIndex.Collation
    ) -> Int {
        switch collation {
        case .binary: compareBytes(left, right)
        case .rightTrim: compareBytes(trimmed(left), trimmed(right))
        case .noCase: noCase(left, right)
        }
    }

    private static func trimmed(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        var count = bytes.count
        while count > 0, bytes[count - 1] == 0x20 { count -= 1 }
        return UnsafeRawBufferPointer(rebasing: bytes[..<count])
    }

    /// As SQLite's NOCASE: only the letters of ASCII are folded, and nothing behind a NUL counts but the length.
    private static func noCase(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
        func folded(_ byte: UInt8) -> UInt8 { (0x41...0x5a).contains(byte) ? byte + 32 : byte }
        for index in 0..<min(left.count, right.count) {
            let (first, second) = (folded(left[index]), folded(right[index]))
            if first != second { return first < second ? -1 : 1 }
            if first == 0 { break }
        }
        return order(left.count, right.count)
    }
}
