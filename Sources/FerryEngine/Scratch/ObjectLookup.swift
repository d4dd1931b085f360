package import FerryBase
package import FerrySQLite

/// A reference from an SQL function, which lives as long as the connection, to an object that may be freed before.
///
/// `unowned(unsafe)` is safe, since the object's `deinit` sets nil; a weak reference would be counted for each row.
final class Owner<Object: AnyObject> { unowned(unsafe) var object: Object? }

/// Finds an object of an entity by its values, among all that the new store has so far.
///
/// The lookup compares keyed hashes of 127 bits. While a table of fixed size holds all objects, a hash that is not in
/// it is new. A full table is saved to scratch (``SavedObjects``) and emptied; from then on it is a cache, and a filter of
/// fixed size tells which hashes may be in scratch.
/// Unsaved objects are read from the new store's rows, so a resumed run, or a repeated chunk, finds the same ones.
package final class ObjectLookup {
    /// 1 MiB: half a million objects set one bit in sixteen at most.
    private static let filterBits: UInt64 = 23

    /// Makes the names of the SQL functions unique on the connection.
    private let id: Int
    private let connection: Connection
    private let key: KeyedHash.Key
    private let affinities: [ColumnAffinity]
    /// Whether an object with NULL in a column is found by NULL; if not, it is not in the lookup.
    private let nilIsEqual: Bool
    private let known: ObjectHashTable
    private let learn: Statement
    private let saved: SavedObjects
    private let owner = Owner<ObjectLookup>()
    /// Allocated at once, so that its size does not depend on the number of objects.
    private var filter = [UInt64](repeating: 0, count: 1 << (filterBits - 6))
    private var isComplete = false
    private var highest = Int64.min
    /// The hash of the last search.
    private var hash = ObjectHashTable.Hash.none

    /// Finds objects with an entity number, `Z_ENT`, in a table of the new store, named as in SQL.
    ///
    /// `id` makes the names of the functions unique; `key` is that of ``ScratchDatabase/key(ofLookup:on:)``.
    package init(
        _ name: String, of table: String, number: Int64, columns: [(name: String, affinity: ColumnAffinity)],
        nilIsEqual: Bool = true, key: KeyedHash.Key, id: Int, known: ObjectHashTable, on connection: Connection
    ) throws(DatabaseError) {
        (self.connection, self.id, self.key, self.known) = (connection, id, key, known)
        affinities = columns.map(\.affinity)
        self.nilIsEqual = nilIsEqual
        // The function lives as long as the connection, and must not retain this lookup.
        let learned = "ferry_learn_\(id)"
        try connection.register(learned, arguments: columns.count + 1, deterministic: false) {
            [owner] arguments, _ in
            try owner.object?.learn(arguments)
        }
        saved = try SavedObjects(name, batch: known.capacity, on: connection)
        // NOT INDEXED reads rows in the order of their keys: the object with the lowest key counts.
        learn = try connection.prepare(
            """
            SELECT count(\(learned)(Z_PK, \(columns.map(\.name).joined(separator: ", "))))
            FROM \(table) NOT INDEXED WHERE Z_PK > :last AND Z_ENT = :number
            """)
        try learn.bind(.integer(number), named: ":number")
        owner.object = self
    }

    deinit { owner.object = nil }

    /// Loads all objects of the table; call it first in each unit.
    ///
    /// `last` is the highest key in the table; if a known key is higher, SQLite rolled a unit back.
    package func begin(after last: Int64) throws {
        // A rollback of a unit also removes its saved objects.
        if try !isComplete || highest > last || !saved.isCurrent() { try reset() }
        guard !isComplete || highest < last else { return }
        try learn.bind(.integer(highest), named: ":last")
        try learn.run()
        highest = max(highest, last)
        isComplete = true
    }

    /// Resets the lookup to the state in scratch.
    private func reset() throws {
        isComplete = false
        known.removeAll()
        for index in filter.indices { filter[index] = 0 }
        try saved.reload()
        highest = saved.last ?? .min
        if saved.last != nil { try saved.eachSecond(addToFilter) }
    }

    /// The key of the object with the values of the arguments from `first` on, in the order of the columns, or nil.
    package func find(_ arguments: borrowing FunctionArguments, from first: Int) throws -> Int64? {
        hash = hash(of: arguments, from: first)
        guard hash != .none else { return nil }
        if let key = known.key(of: hash) { return key }
        guard saved.last != nil, filterContains(hash.second), let key = try saved.key(of: hash) else { return nil }
        // The next search may want the same object.
        try remember(key)
        return key
    }

    /// A statement that gives the key of the object with the bound values, or NULL.
    func prepareSearch() throws(DatabaseError) -> Statement {
        let function = "ferry_seek_\(id)"
        try connection.register(function, arguments: affinities.count, deterministic: false) {
            [owner] arguments, result in
            if let key = try owner.object?.find(arguments, from: 0) { result.set(key) }
        }
        let search = try connection.prepare(
            "SELECT \(function)(\(affinities.indices.map { "?\($0 + 1)" }.joined(separator: ", ")))")
        search.isSilent = true
        return search
    }

    /// Adds an object under the values of the last search, which found none.
    package func add(_ key: Int64) throws {
        precondition(key > highest, "new objects get higher keys than all before them")
        if hash != .none { try remember(key) }
        highest = key
    }

    private func learn(_ arguments: borrowing FunctionArguments) throws {
        let key = arguments.integer(0)
        if try find(arguments, from: 1) == nil { try add(key) } else { highest = key }
    }

    // MARK: Memory

    /// Adds an object under the hash of the last search.
    private func remember(_ key: Int64) throws {
        if known.add(key, with: hash) { return }
        try saveAll()
        known.removeAll()
        guard known.add(key, with: hash) else {
            throw FerryError(.internalError, "An empty lookup has no room for an object.")
        }
    }

    /// Saves the unsaved objects, in the order of their hashes.
    private func saveAll() throws(DatabaseError) {
        var (place, added) = (0, Int64(0))
        while let object = known.next(from: &place, above: saved.last ?? .min) {
            addToFilter(object.hash.second)
            try saved.add(object.key, with: object.hash)
            added += 1
        }
        try saved.record(through: highest, added: added)
    }

    private func addToFilter(_ word: UInt64) {
        let bit = word >> (64 - Self.filterBits)
        filter[Int(bit >> 6)] |= 1 << (bit & 63)
    }

    private func filterContains(_ word: UInt64) -> Bool {
        let bit = word >> (64 - Self.filterBits)
        return filter[Int(bit >> 6)] & 1 << (bit & 63) != 0
    }

    // MARK: Hashes

    /// A hash that is equal for values that SQLite compares as equal (`IS`, BINARY collation) in their columns.
    ///
    /// `.none` for values that equal no others.
    private func hash(of arguments: borrowing FunctionArguments, from first: Int) -> ObjectHashTable.Hash {
        var hash = KeyedHash(key)
        for (offset, affinity) in affinities.enumerated() {
            let index = first + offset
            var type = arguments.storageClass(index)
            if type == .text, affinity == .numeric || affinity == .real {
                type = arguments.numericStorageClass(index)
            } else if affinity == .text, type == .integer || type == .real {
                // SQLite reads the number as the text that the column would store.
                type = .text
            }
            switch type {
            case .null:
                guard nilIsEqual else { return .none }
                hash.add(Tag.null)
            case .integer:
                let integer = arguments.integer(index)
                if case .real(let real) = affinity.stored(integer) {
                    Self.add(real, to: &hash)
                } else {
                    Self.add(integer, to: &hash)
                }
            case .real: Self.add(arguments.real(index), to: &hash)
            case .text, .blob:
                arguments.withBytes(index) { bytes in
                    hash.add((type == .text ? Tag.text : Tag.blob) | UInt64(bytes.count) << 8)
                    hash.add(bytes)
                }
            }
        }
        return ObjectHashTable.Hash(hash.finish())
    }

    /// The lowest byte of a value's first word.
    private enum Tag {
        static let null: UInt64 = 0
        static let integer: UInt64 = 1
        static let real: UInt64 = 2
        static let text: UInt64 = 3
        static let blob: UInt64 = 4
    }

    private static func add(_ integer: Int64, to hash: inout KeyedHash) {
        hash.add(Tag.integer)
        hash.add(UInt64(bitPattern: integer))
    }

    /// A whole number equals an integer.
    private static func add(_ real: Double, to hash: inout KeyedHash) {
        if let integer = Int64(exactly: real) { return add(integer, to: &hash) }
        hash.add(Tag.real)
        hash.add(real.bitPattern)
    }
}
