package import FerryBase
package import FerrySQLite

/// What the functions of a connection, which live as long as that, know of an object that may go before.
///
/// Unsafe is right, since the object's `deinit` empties it; a weak reference would be counted for each row.
final class Owner<Object: AnyObject> { unowned(unsafe) var object: Object? }

/// Finds the object of an entity that has certain values, among all that are in the new store so far.
///
/// Values are told apart by a keyed hash of 126 bits. As long as all objects fit into a table of fixed size, a hash that
/// is not in it is proof of a new value; else the older ones are saved in scratch, sorted, and a filter of fixed size
/// says for which hashes it is worth looking there. What is not saved can be read from the new store's rows at any time,
/// so that a run that goes on, or a chunk that is repeated, finds what it would have found.
package final class ObjectLookup {
    /// 1 MiB: one bit in sixteen or fewer is set by half a million objects.
    private static let filterBits: UInt64 = 23

    /// What makes the names of its functions unique on the connection.
    let id: Int
    private let key: KeyedHash.Key
    private let affinities: [ColumnAffinity]
    private let known: ObjectHashTable
    private let saved: ObjectHashesOnDisk
    private let learn: Statement
    let owner = Owner<ObjectLookup>()
    /// Made at once, so that the memory does not depend on how many objects come.
    private var filter = [UInt64](repeating: 0, count: 1 << (filterBits - 6))
    private var isComplete = false
    /// The highest key of an object that is known.
    private var highest = Int64.min
    /// How often room was made, so that something that was known is so no more.
    private var clearings = 0
    /// How many objects are not saved.
    private var unsaved = 0
    /// Of the values that were looked for last.
    private var hash = ObjectHashTable.Hash((0, 0))

    /// The objects are those of a number, `Z_ENT`, in a table of the new store, which is written as in SQL.
    ///
    /// `id` makes the names of its functions unique on the connection, which has the tables that ``ScratchDatabase``
    /// makes for the lookup; `key` is that of all lookups of the run.
    package init(
        _ name: String, of table: String, number: Int64, columns: [(name: String, affinity: ColumnAffinity)],
        key: KeyedHash.Key, id: Int, known: ObjectHashTable, on connection: Connection
    ) throws(DatabaseError) {
        (self.id, self.key, self.known) = (id, key, known)
        affinities = columns.map(\.affinity)
        // The functions live as long as the connection; the memory behind them only as long as this lookup.
        let unsaved = "ferry_unsaved_\(id)"
        try connection.register(table: unsaved, columns: ["first", "second", "destination"], argumentCount: 0) {
            [owner] in
            HashesToSave(owner)
        }
        let learned = "ferry_learn_\(id)"
        try connection.register(learned, arguments: columns.count + 1, deterministic: false) {
            [owner] arguments, _ in
            try owner.object?.learn(arguments)
        }
        saved = try ObjectHashesOnDisk(
            name, rows: "SELECT first, second, destination FROM \(unsaved)", batch: known.capacity / 2,
            on: connection)
        // No other index than the keys': an object is found by its lowest key.
        learn = try connection.prepare(
            """
            SELECT count(\(learned)(Z_PK, \(columns.map(\.name).joined(separator: ", "))))
            FROM \(table) NOT INDEXED WHERE Z_PK > :last AND Z_ENT = :number
            """)
        try learn.bind(.integer(number), named: ":number")
        owner.object = self
    }

    deinit { owner.object = nil }

    /// Makes sure that all objects are known; to be called first in each unit.
    ///
    /// `last` is the highest key in the table. Lower than what was given out means that a unit was rolled back.
    package func begin(after last: Int64) throws {
        if try !isComplete || highest > last || !saved.isCurrent() { try forget() }
        guard !isComplete || highest < last else { return }
        try learn.bind(.integer(highest), named: ":last")
        try learn.run()
        highest = max(highest, last)
        isComplete = true
    }

    /// Begins with what scratch holds.
    private func forget() throws {
        isComplete = false
        known.removeAll()
        for index in filter.indices { filter[index] = 0 }
        try saved.reload()
        (highest, unsaved) = (saved.last ?? .min, 0)
        if saved.last != nil { try saved.forEach { pass($0) } }
    }

    /// The key of the object that has the values from an argument on, in the order of the columns; nil where there is
    /// none.
    package func find(_ arguments: borrowing FunctionArguments, from first: Int) throws -> Int64? {
        try find(hash(of: arguments, from: first))
    }

    /// The object with a hash, if there is one.
    private func find(_ wanted: ObjectHashTable.Hash) throws -> Int64? {
        hash = wanted
        if let key = known.key(of: hash) { return key }
        guard saved.last != nil, isPassed(hash), let key = try saved.key(of: hash) else { return nil }
        // It may be asked for again; without room it is found on disk again.
        if !known.add(key, with: hash) {
            try makeRoom()
            _ = known.add(key, with: hash)
        }
        return key
    }

    /// Makes an object known by the values that were looked for last and not found.
    package func add(_ key: Int64) throws {
        precondition(key > highest, "new objects get higher keys than all before them")
        if !known.add(key, with: hash) {
            try makeRoom()
            guard known.add(key, with: hash) else {
                throw FerryError(.internalError, "A lookup has no room for an object after making room.")
            }
        }
        highest = key
        unsaved += 1
    }

    // MARK: Many at a time

    /// Whether some objects are on disk alone, so that it is worth looking for many of them together.
    package var isOnDisk: Bool { saved.last != nil }

    /// Finds the objects of a batch, in the order in which its rows came; what none has is created.
    ///
    /// Its rows have hashes of ``hash(of:from:)``; `create` calls ``add(_:)`` for what it makes.
    package func find(_ batch: FoundBatch, _ create: (FoundBatch.Row) throws -> Int64) throws {
        try batch.search(where: { known.key(of: $0) == nil && isPassed($0) }, saved.key(of:))
        let before = clearings
        for index in batch.rows.indices {
            let row = batch.rows[index]
            hash = row.hash
            if let key = row.destination {
                // It may be asked for again; what has no room is found on disk again.
                if known.key(of: hash) == nil { _ = known.add(key, with: hash) }
            } else if let key = known.key(of: hash) {
                batch.set(key, at: index)
            } else if before != clearings, let key = try find(hash) {
                // It was known, or not there yet, when the batch was looked for.
                batch.set(key, at: index)
            } else {
                batch.set(try create(row), at: index)
            }
        }
    }

    private func learn(_ arguments: borrowing FunctionArguments) throws {
        let key = arguments.integer(0)
        if try find(arguments, from: 1) == nil { try add(key) } else { highest = key }
    }

    // MARK: Room

    private func makeRoom() throws {
        clearings += 1
        // Saving few at a time would be dear: then what is on disk already makes way alone.
        guard unsaved > known.capacity / 2 else {
            known.makeRoom(keepingAbove: saved.last ?? .min)
            // Where all of them were found lately few went; now none was.
            if known.count > known.capacity / 4 * 3 { known.makeRoom(keepingAbove: saved.last ?? .min) }
            return
        }
        var place = 0
        while let object = known.next(from: &place, above: saved.last ?? .min) { pass(object.hash) }
        try saved.save(through: highest)
        unsaved = 0
        known.makeRoom(keepingAbove: highest)
    }

    private func pass(_ hash: ObjectHashTable.Hash) {
        let bit = hash.second >> (64 - Self.filterBits)
        filter[Int(bit >> 6)] |= 1 << (bit & 63)
    }

    private func isPassed(_ hash: ObjectHashTable.Hash) -> Bool {
        let bit = hash.second >> (64 - Self.filterBits)
        return filter[Int(bit >> 6)] & 1 << (bit & 63) != 0
    }

    /// Gives what is not saved yet, in the order of the hashes.
    private final class HashesToSave: TableCursor {
        private let owner: Owner<ObjectLookup>
        private var place = 0
        private var object: (hash: ObjectHashTable.Hash, key: Int64)?

        init(_ owner: Owner<ObjectLookup>) { self.owner = owner }

        func start(_ arguments: borrowing FunctionArguments) { place = 0 }

        func next() -> Bool {
            guard let lookup = owner.object else { return false }
            object = lookup.known.next(from: &place, above: lookup.saved.last ?? .min)
            return object != nil
        }

        func column(_ index: Int, _ result: inout FerrySQLite.FunctionResult) {
            guard let object else { return }
            switch index {
            case 0: result.set(ObjectHashesOnDisk.integer(object.hash.first))
            case 1: result.set(ObjectHashesOnDisk.integer(object.hash.second))
            default: result.set(object.key)
            }
        }
    }

    // MARK: Hashes

    /// Equal for values that are the same to SQLite (`IS`, BINARY collation) once their columns hold them.
    package func hash(of arguments: borrowing FunctionArguments, from first: Int) -> ObjectHashTable.Hash {
        var hash = KeyedHash(key)
        for (offset, affinity) in affinities.enumerated() {
            let index = first + offset
            var type = arguments.storageClass(index)
            if type == .text, affinity == .numeric || affinity == .real {
                type = arguments.numericStorageClass(index)
            } else if affinity == .text, type == .integer || type == .real {
                // Read as text, a number becomes what the column would make of it.
                type = .text
            }
            switch type {
            case .null: hash.add(Tag.null)
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

    /// What a value's first word begins with.
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

    /// A whole number is the same as an integer.
    private static func add(_ real: Double, to hash: inout KeyedHash) {
        if let integer = Int64(exactly: real) { return add(integer, to: &hash) }
        hash.add(Tag.real)
        hash.add(real.bitPattern)
    }
}
