internal import CSQLite

/// Rows in one piece of memory, one behind another: what a thread that reads hands over to one that writes.
///
/// Every row has the same number of cells, each with a value as SQLite has it. Nothing is allocated per row or value.
/// It belongs to one thread at a time.
package final class PackedRows {
    private let cells: Int
    private let capacity: Int
    private var memory: UnsafeMutableRawBufferPointer

    /// How far the rows go.
    ///
    /// It changes with every value, so it is not kept in this object, beside which may lie what the
    /// other thread changes as often: a processor would wait for the other's cache.
    private struct Extent {
        /// Where the next row begins.
        var end = PackedRows.start
        /// Where the next bytes of the row at work go.
        var next = PackedRows.start
    }

    /// Where the first row begins, behind the extent: a line of the processors' caches further on, twice as long as
    /// most have.
    private static let start = 128
    /// One access after another, by one thread at a time.
    private var extent: UnsafeMutablePointer<Extent> {
        UnsafeMutablePointer(memory.baseAddress!.assumingMemoryBound(to: Extent.self))
    }

    /// For rows of so many cells, which take so many bytes together; a larger row needs ``grow()``.
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

    /// Forgets all rows, and gives back what a large one took.
    package func removeAll() {
        extent.pointee = Extent()
        guard memory.count > capacity else { return }
        memory.deallocate()
        memory = Self.allocate(capacity)
    }

    /// Doubles the room; for a row that is larger than all of it.
    package func grow() {
        precondition(isEmpty, "only a row alone may be larger than what was set aside for rows")
        let count = memory.count
        memory.deallocate()
        memory = Self.allocate(2 * count)
    }

    // MARK: Packing

    /// Begins a row; what was begun before and not ended is forgotten.
    ///
    /// - Returns: False when there is no room for it.
    package func begin() -> Bool {
        extent.pointee.next = extent.pointee.end + PackedRow.cellsOffset + cells * PackedRow.cellSize
        return extent.pointee.next <= memory.count
    }

    /// Ends the row at work; of one that is only counted, not taken, the first cell is enough.
    package func finish(isTaken: Bool) {
        let size = (extent.pointee.next - extent.pointee.end + 7) & ~7
        let start = memory.baseAddress! + extent.pointee.end
        start.storeBytes(of: size, as: Int.self)
        start.storeBytes(of: isTaken ? 1 : 0, toByteOffset: MemoryLayout<Int>.size, as: Int.self)
        extent.pointee.end += size
    }

    /// Packs columns of a statement's current row into the cells from the first one on.
    ///
    /// - Returns: False when there is no room; the row then has to be begun anew elsewhere.
    package func pack(_ columns: [Int32], of statement: Statement) -> Bool {
        for (cell, column) in columns.enumerated() {
            // Its memory is the statement's own, and no other thread looks at it.
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

    /// Leaves a cell without a value, which its reader has to find elsewhere.
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

    /// Packs text or a BLOB; false when there is no room.
    package func pack(_ bytes: UnsafeRawBufferPointer, isText: Bool, into cell: Int) -> Bool {
        // Up to 7 bytes more make the row's size whole.
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

    /// The rows, from the first one on.
    package var rows: PackedRowSequence {
        let base = UnsafeRawPointer(memory.baseAddress!)
        return PackedRowSequence(next: base + Self.start, end: base + extent.pointee.end)
    }
}

/// What is left of the rows of a ``PackedRows``, borrowed until that forgets its rows.
package struct PackedRowSequence {
    /// Nil where there is none.
    private var next: UnsafeRawPointer?
    private var end: UnsafeRawPointer?

    /// No rows.
    package init() {}

    fileprivate init(next: UnsafeRawPointer, end: UnsafeRawPointer) { (self.next, self.end) = (next, end) }

    /// The next row, or nil at the end.
    package var first: PackedRow? { next == end ? nil : next.map(PackedRow.init) }

    /// Goes on behind the next row.
    package mutating func removeFirst() { if let row = first { next = row.start + row.size } }
}

/// One row of a ``PackedRows``, borrowed until that forgets its rows.
package struct PackedRow {
    static let cellsOffset = 16
    static let cellSize = 16
    /// In the place of a storage class.
    fileprivate static let missing: UInt64 = 0

    fileprivate let start: UnsafeRawPointer

    /// How far it is to the next row.
    package var size: Int { start.load(as: Int.self) }
    /// Whether its values are used; else only its first cell is there.
    package var isTaken: Bool { start.load(fromByteOffset: MemoryLayout<Int>.size, as: Int.self) != 0 }

    private func header(_ cell: Int) -> UInt64 {
        start.load(fromByteOffset: Self.cellsOffset + cell * Self.cellSize, as: UInt64.self)
    }

    private func bits(_ cell: Int) -> UInt64 {
        start.load(fromByteOffset: Self.cellsOffset + cell * Self.cellSize + 8, as: UInt64.self)
    }

    /// Whether a cell was left without a value.
    package func isMissing(_ cell: Int) -> Bool { header(cell) == Self.missing }

    package func storageClass(_ cell: Int) -> StorageClass {
        StorageClass(rawValue: Int32(truncatingIfNeeded: header(cell) & 0xff)) ?? .null
    }

    /// What an integer cell holds.
    package func integer(_ cell: Int) -> Int64 { Int64(bitPattern: bits(cell)) }
    /// What a real cell holds.
    package func real(_ cell: Int) -> Double { Double(bitPattern: bits(cell)) }

    /// What a text or BLOB cell holds; never without an address.
    package func bytes(_ cell: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: start + Int(bits(cell)), count: Int(header(cell) >> 32))
    }

    /// The value, owned.
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

/// The cell that a parameter is bound to in each row.
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
    /// `skipped` has a bit for each parameter below 64 that keeps what it is bound to.
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

    /// Binds one cell of a row without copying its bytes: the row must stay until the statement was run.
    package func bind(borrowing cell: Int, of row: PackedRow, at index: Int) throws(DatabaseError) {
        try check(bind(borrowing: cell, of: row, Int32(index)))
    }

    /// Binds text by its UTF-8 without copying it: the bytes must stay until the statement was run.
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
