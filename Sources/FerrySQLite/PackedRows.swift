internal import CSQLite

/// Rows one after another in one block of memory, passed from a reading to a writing thread.
///
/// Every row has the same number of cells. Rows and values allocate no memory. One thread at a time owns the object.
package final class PackedRows {
    private let cells: Int
    private let capacity: Int
    private var memory: UnsafeMutableRawBufferPointer

    /// The end of the packed rows.
    ///
    /// The extent changes with every value: in this object, near data of the other thread, false sharing would result.
    private struct Extent {
        var end = PackedRows.start
        var next = PackedRows.start
    }

    /// The offset of the first row, after the extent: twice the usual size of a cache line.
    private static let start = 128
    private var extent: UnsafeMutablePointer<Extent> {
        UnsafeMutablePointer(memory.baseAddress!.assumingMemoryBound(to: Extent.self))
    }

    /// `capacity` is the bytes for all rows; a larger row needs ``grow()``.
    package init(cells: Int, capacity: Int) {
        self.cells = cells
        self.capacity = Self.start + max((capacity + 7) & ~7, PackedRow.cellsOffset + cells * PackedRow.cellSize)
        memory = Self.allocate(self.capacity)
    }

    deinit { memory.deallocate() }

    private static func allocate(_ count: Int) -> UnsafeMutableRawBufferPointer {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: start)
        memory.baseAddress!.initializeMemory(as: Extent.self, to: Extent())
        return memory
    }

    package var isEmpty: Bool { extent.pointee.end == Self.start }

    /// Removes all rows, and frees the extra memory of a large one.
    package func removeAll() {
        extent.pointee = Extent()
        guard memory.count > capacity else { return }
        memory.deallocate()
        memory = Self.allocate(capacity)
    }

    /// Doubles the memory, for a single row that does not fit.
    package func grow() {
        precondition(isEmpty, "only a row alone may be larger than what was set aside for rows")
        let count = memory.count
        memory.deallocate()
        memory = Self.allocate(2 * count)
    }

    // MARK: Packing

    /// Begins a row, and discards an unfinished one; false if the row does not fit.
    package func begin() -> Bool {
        extent.pointee.next = extent.pointee.end + PackedRow.cellsOffset + cells * PackedRow.cellSize
        return extent.pointee.next <= memory.count
    }

    /// Ends the current row; a row that is only counted, not taken, needs just its first cell.
    package func finish(isTaken: Bool) {
        let size = (extent.pointee.next - extent.pointee.end + 7) & ~7
        let start = memory.baseAddress! + extent.pointee.end
        start.storeBytes(of: size, as: Int.self)
        start.storeBytes(of: isTaken ? 1 : 0, toByteOffset: MemoryLayout<Int>.size, as: Int.self)
        extent.pointee.end += size
    }

    /// Packs columns of a statement's current row into the first cells.
    ///
    /// - Returns: False if they do not fit; the caller then begins the row anew in another object.
    package func pack(_ columns: [Int32], of statement: Statement) -> Bool {
        for (cell, column) in columns.enumerated() {
            // The value belongs to the statement, and no other thread reads it.
            let value = sqlite3_column_value(statement.handle, column)
            switch sqlite3_value_type(value) {
            case SQLITE_INTEGER: pack(sqlite3_value_int64(value), into: cell)
            case SQLITE_FLOAT: pack(sqlite3_value_double(value), into: cell)
            case SQLITE_NULL: packNull(into: cell)
            case let type:
                // The pointer first: asking for the size first could convert the value twice.
                let start = sqlite3_value_blob(value)
                let bytes = UnsafeRawBufferPointer(
                    start: start, count: start == nil ? 0 : Int(sqlite3_value_bytes(value)))
                guard pack(bytes, isText: type == SQLITE_TEXT, into: cell) else { return false }
            }
        }
        return true
    }

    package func packNull(into cell: Int) { set(.null, 0, 0, in: cell) }

    /// Marks a cell as missing; its reader must get the value elsewhere.
    package func packMissing(into cell: Int) {
        place(of: cell).storeBytes(of: PackedRow.missing, as: UInt64.self)
    }

    private func place(of cell: Int) -> UnsafeMutableRawPointer {
        memory.baseAddress! + extent.pointee.end + PackedRow.cellsOffset + cell * PackedRow.cellSize
    }

    package func pack(_ integer: Int64, into cell: Int) {
        set(.integer, 0, UInt64(bitPattern: integer), in: cell)
    }

    package func pack(_ real: Double, into cell: Int) { set(.real, 0, real.bitPattern, in: cell) }

    /// Packs text or a BLOB; false if it does not fit.
    package func pack(_ bytes: UnsafeRawBufferPointer, isText: Bool, into cell: Int) -> Bool {
        // The row's size is rounded up by up to 7 bytes.
        let next = extent.pointee.next
        guard bytes.count <= memory.count - next - 7 else { return false }
        if let start = bytes.baseAddress {
            memory.baseAddress!.advanced(by: next).copyMemory(from: start, byteCount: bytes.count)
        }
        set(isText ? .text : .blob, UInt32(bytes.count), UInt64(next - extent.pointee.end), in: cell)
        extent.pointee.next = next + bytes.count
        return true
    }

    private func set(_ type: StorageClass, _ count: UInt32, _ bits: UInt64, in cell: Int) {
        let start = place(of: cell)
        start.storeBytes(of: UInt64(bitPattern: Int64(type.rawValue)) | UInt64(count) << 32, as: UInt64.self)
        start.storeBytes(of: bits, toByteOffset: 8, as: UInt64.self)
    }

    package var rows: PackedRowSequence {
        let base = UnsafeRawPointer(memory.baseAddress!)
        return PackedRowSequence(next: base + Self.start, end: base + extent.pointee.end)
    }
}

/// The remaining rows of a ``PackedRows``, valid until that removes its rows.
package struct PackedRowSequence {
    /// Nil without rows.
    private var next: UnsafeRawPointer?
    private var end: UnsafeRawPointer?

    package init() {}

    fileprivate init(next: UnsafeRawPointer, end: UnsafeRawPointer) { (self.next, self.end) = (next, end) }

    /// The next row, or nil at the end.
    package var first: PackedRow? { next == end ? nil : next.map(PackedRow.init) }

    package mutating func removeFirst() { if let row = first { next = row.start + row.size } }
}

/// One row of a ``PackedRows``, valid until that removes its rows.
package struct PackedRow {
    static let cellsOffset = 16
    static let cellSize = 16
    /// The mark of a missing value in place of a storage class.
    fileprivate static let missing: UInt64 = 0

    fileprivate let start: UnsafeRawPointer

    /// The distance to the next row in bytes.
    package var size: Int { start.load(as: Int.self) }
    /// Whether the row's values are used; otherwise only the first cell has a value.
    package var isTaken: Bool { start.load(fromByteOffset: MemoryLayout<Int>.size, as: Int.self) != 0 }

    private func header(_ cell: Int) -> UInt64 {
        start.load(fromByteOffset: Self.cellsOffset + cell * Self.cellSize, as: UInt64.self)
    }

    private func bits(_ cell: Int) -> UInt64 {
        start.load(fromByteOffset: Self.cellsOffset + cell * Self.cellSize + 8, as: UInt64.self)
    }

    package func isMissing(_ cell: Int) -> Bool { header(cell) == Self.missing }

    package func storageClass(_ cell: Int) -> StorageClass {
        StorageClass(rawValue: Int32(truncatingIfNeeded: header(cell) & 0xff)) ?? .null
    }

    package func integer(_ cell: Int) -> Int64 { Int64(bitPattern: bits(cell)) }
    package func real(_ cell: Int) -> Double { Double(bitPattern: bits(cell)) }

    /// Returns the bytes of a text or BLOB cell; the address is never nil.
    package func bytes(_ cell: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: start + Int(bits(cell)), count: Int(header(cell) >> 32))
    }

    package func value(_ cell: Int) -> Value {
        switch storageClass(cell) {
        case .null: .null
        case .integer: .integer(integer(cell))
        case .real: .real(real(cell))
        case .text: .text(String(decoding: bytes(cell), as: UTF8.self))
        case .blob: .blob(Array(bytes(cell)))
        }
    }
}

/// A parameter, and the cell of each row that is bound to it.
package struct CellBinding: Sendable {
    var cell: Int
    var parameter: Int32

    /// Cells are counted from 0, parameters from 1.
    package init(cell: Int, parameter: Int) {
        self.cell = cell
        self.parameter = Int32(parameter)
    }
}

extension Statement {
    /// Binds cells of a row without copying their bytes: the row must stay until the statement was run.
    ///
    /// `skipped` has a bit for each parameter below 64 that keeps its value.
    package func bind(
        _ cells: [CellBinding], of row: PackedRow, except skipped: UInt64 = 0
    ) throws(DatabaseError) {
        for binding in cells {
            // A shift beyond the width gives 0.
            if skipped != 0, skipped & (1 as UInt64) << UInt64(binding.parameter) != 0 { continue }
            let code = bind(borrowing: binding.cell, of: row, binding.parameter)
            try check(code)
        }
    }

    /// Binds one cell of a row without copies of their bytes: the row must live until the statement has run.
    package func bind(borrowing cell: Int, of row: PackedRow, at index: Int) throws(DatabaseError) {
        try check(bind(borrowing: cell, of: row, Int32(index)))
    }

    /// Binds UTF-8 text without a copy: the bytes must live until the statement has run.
    package func bind(borrowedText bytes: UnsafeRawBufferPointer, at index: Int) throws(DatabaseError) {
        try check(bind(borrowing: bytes, asText: true, Int32(index)))
    }

    @inline(__always)
    private func bind(borrowing cell: Int, of row: PackedRow, _ parameter: Int32) -> Int32 {
        switch row.storageClass(cell) {
        case .null: sqlite3_bind_null(handle, parameter)
        case .integer: sqlite3_bind_int64(handle, parameter, row.integer(cell))
        case .real: sqlite3_bind_double(handle, parameter, row.real(cell))
        case .text: bind(borrowing: row.bytes(cell), asText: true, parameter)
        case .blob: bind(borrowing: row.bytes(cell), asText: false, parameter)
        }
    }

    @inline(__always)
    func bind(borrowing bytes: UnsafeRawBufferPointer, asText: Bool, _ parameter: Int32) -> Int32 {
        // No destructor: SQLite neither copies nor frees.
        asText
            ? sqlite3_bind_text64(
                handle, parameter, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), UInt64(bytes.count), nil,
                UInt8(SQLITE_UTF8))
            : sqlite3_bind_blob64(handle, parameter, bytes.baseAddress, UInt64(bytes.count), nil)
    }
}
