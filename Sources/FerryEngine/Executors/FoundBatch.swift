internal import FerrySQLite

/// Rows whose objects are looked for together: what is on disk is then read in its order, not wherever a value stands.
///
/// Its size is fixed: with many times as many objects on disk as in memory, each page of them is read once for a batch
/// instead of once for a row.
package final class FoundBatch {
    /// How many rows make a batch.
    private let limit: Int

    static let columns = ["source", "element", "object", "destination"]

    package struct Row {
        /// Stands for no key: no object has the lowest one.
        private static let none = ChunkRanges.beginning

        package var source: Int64
        var element: Int64
        var hash: KnownObjects.Hash
        private var objectKey: Int64
        private var destinationKey = Row.none

        /// The key of an element that is an object.
        var object: Int64? { objectKey == Self.none ? nil : objectKey }
        /// The object that was found or created.
        package internal(set) var destination: Int64? {
            get { destinationKey == Self.none ? nil : destinationKey }
            set { destinationKey = newValue ?? Self.none }
        }

        package init(source: Int64, element: Int64, object: Int64?, hash: KnownObjects.Hash) {
            (self.source, self.element, self.hash, objectKey) = (source, element, hash, object ?? Self.none)
        }
    }

    package private(set) var rows: [Row] = []
    private var wanted: [Int32] = []

    package init(limit: Int) { self.limit = limit }

    /// - Parameter bytes: What the rows and their order may take; more than 2 MiB are of little use.
    convenience init(bytes: Int) {
        self.init(
            limit: max(1, min(bytes, 2 << 20) / (MemoryLayout<Row>.stride + MemoryLayout<Int32>.stride)))
    }

    package var isFull: Bool { rows.count >= limit }

    package func add(_ row: Row) {
        if rows.capacity < limit {
            rows.reserveCapacity(limit)
            wanted.reserveCapacity(limit)
        }
        rows.append(row)
    }

    func set(_ destination: Int64, at index: Int) { rows[index].destination = destination }

    package func removeAll() { rows.removeAll(keepingCapacity: true) }

    /// Gives the memory back: the connection keeps whatever its functions know.
    func free() { (rows, wanted) = ([], []) }

    /// Fills in objects that are found by their hashes, in the order of these.
    ///
    /// - Parameters:
    ///   - isWanted: Which hashes are to be looked for.
    ///   - find: Looks for one.
    /// - Throws: What `find` throws.
    func search(
        where isWanted: (KnownObjects.Hash) -> Bool, _ find: (KnownObjects.Hash) throws -> Int64?
    ) rethrows {
        wanted.removeAll(keepingCapacity: true)
        for index in rows.indices where isWanted(rows[index].hash) { wanted.append(Int32(index)) }
        wanted.sort { rows[Int($0)].hash < rows[Int($1)].hash }
        for index in wanted { rows[Int(index)].destination = try find(rows[Int(index)].hash) }
    }

    func cursor() -> any TableCursor { Cursor(self) }

    private final class Cursor: TableCursor {
        private let batch: FoundBatch
        private var place = -1

        init(_ batch: FoundBatch) { self.batch = batch }

        func start(_ arguments: borrowing FunctionArguments) { place = -1 }

        func next() -> Bool {
            place += 1
            return place < batch.rows.count
        }

        func column(_ index: Int, _ result: inout FerrySQLite.FunctionResult) {
            let row = batch.rows[place]
            switch index {
            case 0: result.set(row.source)
            case 1: result.set(row.element)
            case 2: if let object = row.object { result.set(object) }
            default: if let destination = row.destination { result.set(destination) }
            }
        }
    }
}
