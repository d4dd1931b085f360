internal import FerrySQLite

/// What was set of an object, by column places, in the order in which it was set.
///
/// It is kept with its memory from object to object, and belongs to one thread.
final class ColumnChanges {
    private struct Change {
        var place: Int
        var value: Value
    }

    /// Room for each column once.
    private let changes: UnsafeMutablePointer<Change>
    private let capacity: Int
    private(set) var count = 0
    /// The places below 64, a bit for each.
    private(set) var places: UInt64 = 0
    /// Text that is bound and not yet written; nil until there is some.
    private var text: UnsafeMutableRawPointer?

    /// Longer text is copied by SQLite: what is held here is held for each object that a policy keeps.
    private static let textCapacity = 1024

    init(columns: Int) {
        capacity = columns
        changes = .allocate(capacity: columns)
    }

    deinit {
        removeAll()
        changes.deallocate()
        text?.deallocate()
    }

    var isEmpty: Bool { count == 0 }

    subscript(place: Int) -> Value? {
        guard let index = index(of: place) else { return nil }
        return changes[index].value
    }

    func set(_ value: consuming Value, at place: Int) {
        if let index = index(of: place) {
            changes[index].value = value
            return
        }
        precondition(count < capacity, "each column has one place")
        (changes + count).initialize(to: Change(place: place, value: value))
        count += 1
        if place < 64 { places |= 1 << UInt64(place) }
    }

    func contains(_ place: Int) -> Bool { index(of: place) != nil }

    /// The place of the change at an index.
    func place(at index: Int) -> Int { changes[index].place }

    private func index(of place: Int) -> Int? {
        if place < 64, places & 1 << UInt64(place) == 0 { return nil }
        for index in 0..<count where changes[index].place == place { return index }
        return nil
    }

    func removeAll() {
        changes.deinitialize(count: count)
        count = 0
        places = 0
    }

    // MARK: Binding

    /// Binds each value at the parameter of its place and keeps it no longer; the statement must be run before anything
    /// is set or forgotten.
    func bind(to statement: Statement, from first: Int) throws(DatabaseError) {
        var used = 0
        for index in 0..<count { try bind(index, to: statement, at: changes[index].place + first, &used) }
    }

    /// Binds the values one after another, in the order in which they were set, in the same way.
    func bindInOrder(to statement: Statement, from first: Int) throws(DatabaseError) {
        var used = 0
        for index in 0..<count { try bind(index, to: statement, at: index + first, &used) }
    }

    private func bind(
        _ index: Int, to statement: Statement, at parameter: Int, _ used: inout Int
    ) throws(DatabaseError) {
        let value = exchange(&changes[index].value, with: .null)
        if case .text(let string) = value, let bytes = keep(string, &used) {
            try statement.bind(borrowedText: bytes, at: parameter)
        } else {
            try statement.bind(value, at: parameter)
        }
    }

    /// Copies short text to where it stays until the statement was run, which is less work for SQLite.
    private func keep(_ string: String, _ used: inout Int) -> UnsafeRawBufferPointer? {
        string.utf8.withContiguousStorageIfAvailable { bytes in
            guard let start = bytes.baseAddress, bytes.count <= Self.textCapacity - used else { return nil }
            let memory = text ?? .allocate(byteCount: Self.textCapacity, alignment: 1)
            text = memory
            let place = memory + used
            place.copyMemory(from: start, byteCount: bytes.count)
            used += bytes.count
            return UnsafeRawBufferPointer(start: place, count: bytes.count)
        } ?? nil
    }
}
