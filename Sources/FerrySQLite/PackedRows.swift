internal import CSQLite

/// Rows one after another in one block of memory, passed from a reading to a writing thread.
///
/// Every row has the same number of cells. Rows and values allocate no memory. One thread at a time owns the object.
package final class PackedRows {
    private let cells: Int
    private let capacity: Int
    private var memory: UnsafeMutableRawBufferPointer

    /// The offset of the first row, after ``end``: twice the usual size of a cache line.
    private static let start = 128
    /// The end of the packed rows.
    ///
    /// It changes with every row: in this object, near data of the other thread, false sharing would result.
    private var end: Int {
        get { memory.load(as: Int.self) }
        set { memory.storeBytes(of: newValue, as: Int.self) }
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
        memory.storeBytes(of: start, as: Int.self)
        return memory
    }

    package var isEmpty: Bool { end == Self.start }

    /// Removes all rows, and frees the extra memory of a large one.
    package func removeAll() {
        end = Self.start
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

    /// Packs the columns of a statement's current row; false if they do not fit.
    package func pack(_ statement: Statement) -> Bool {
        let start = end
        var next = start + PackedRow.cellsOffset + cells * PackedRow.cellSize
        guard next <= memory.count else { return false }
        for cell in 0..<cells {
            // The value belongs to the statement, and no other thread reads it.
            let value = sqlite3_column_value(statement.handle, Int32(cell))
            switch sqlite3_value_type(value) {
            case SQLITE_INTEGER: set(.integer, 0, UInt64(bitPattern: sqlite3_value_int64(value)), in: cell)
            case SQLITE_FLOAT: set(.real, 0, sqlite3_value_double(value).bitPattern, in: cell)
            case SQLITE_NULL: set(.null, 0, 0, in: cell)
            case let type:
                // The pointer first: asking for the size first could convert the value twice.
                let bytes = sqlite3_value_blob(value)
                let count = bytes == nil ? 0 : Int(sqlite3_value_bytes(value))
                // The row's size is rounded up by up to 7 bytes.
                guard count <= memory.count - next - 7 else { return false }
                if let bytes { memory.baseAddress!.advanced(by: next).copyMemory(from: bytes, byteCount: count) }
                set(type == SQLITE_TEXT ? .text : .blob, UInt32(count), UInt64(next - start), in: cell)
                next += count
            }
        }
        let size = (next - start + 7) & ~7
        memory.storeBytes(of: size, toByteOffset: start, as: Int.self)
        end = start + size
        return true
    }

    private func set(_ type: StorageClass, _ count: UInt32, _ bits: UInt64, in cell: Int) {
        let start = memory.baseAddress! + end + PackedRow.cellsOffset + cell * PackedRow.cellSize
        start.storeBytes(of: UInt64(bitPattern: Int64(type.rawValue)) | UInt64(count) << 32, as: UInt64.self)
        start.storeBytes(of: bits, toByteOffset: 8, as: UInt64.self)
    }

    package var rows: PackedRowSequence {
        let base = UnsafeRawPointer(memory.baseAddress!)
        return PackedRowSequence(next: base + Self.start, end: base + end)
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
    static let cellsOffset = 8
    static let cellSize = 16

    fileprivate let start: UnsafeRawPointer

    /// The distance to the next row in bytes.
    package var size: Int { start.load(as: Int.self) }

    private func header(_ cell: Int) -> UInt64 {
        start.load(fromByteOffset: Self.cellsOffset + cell * Self.cellSize, as: UInt64.self)
    }

    private func bits(_ cell: Int) -> UInt64 {
        start.load(fromByteOffset: Self.cellsOffset + cell * Self.cellSize + 8, as: UInt64.self)
    }

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
