internal import FerryMapping
internal import FerrySQLite
internal import FerryStore

/// The destination keys of source objects that merged into earlier objects, until they are recorded as associations.
///
/// They come in no order, but the table of associations is filled fastest in its own.
final class FoundObjects {
    private struct Row {
        let source: Int64
        let element: Int64
        let key: Int64
    }

    private final class OfMapping {
        let mapping: ResolvedEntityMapping
        let table: String
        let rows: RowPartitions
        private let lowest: Int64
        /// The number of source keys for each partition.
        private let keys: UInt64

        init(_ mapping: ResolvedEntityMapping, bytes: Int, in context: VerificationContext) throws {
            self.mapping = mapping
            table = "main.found_\(mapping.position)"
            rows = try RowPartitions(into: table, width: 3, bytes: bytes, on: context.connection)
            let source = "source.\(try context.sourceTable(of: mapping.source).name)"
            let (lowest, highest) = try KeyRange.keys(of: source, on: context.connection)
            self.lowest = lowest
            keys = UInt64(bitPattern: highest &- lowest) / UInt64(rows.count) + 1
        }

        func partition(of source: Int64) -> Int { Int(UInt64(bitPattern: source &- lowest) / keys) }
    }

    private let context: VerificationContext
    private let bytes: Int
    private let mappings: [ResolvedEntityMapping]
    private var found: [Int: OfMapping] = [:]
    // Usually the next one is of the same mapping as the one before.
    private var last: OfMapping?

    /// The memory is divided among the mappings.
    init(_ mappings: [ResolvedEntityMapping], bytes: Int, in context: VerificationContext) {
        (self.mappings, self.bytes, self.context) = (mappings, bytes / max(1, mappings.count), context)
    }

    func add(mapping position: Int, source: Int64, element: Int64, key: Int64) throws {
        let of: OfMapping
        if let last, last.mapping.position == position { of = last } else { of = try rows(of: position) }
        last = of
        try of.rows.add(to: of.partition(of: source), source, element, key)
    }

    private func rows(of position: Int) throws -> OfMapping {
        if let known = found[position] { return known }
        guard let mapping = mappings.first(where: { $0.position == position }) else {
            preconditionFailure("no mapping at \(position) finds objects")
        }
        let of = try OfMapping(mapping, bytes: bytes, in: context)
        found[position] = of
        return of
    }

    /// Records the associations, in the order of their source objects as far as memory for sorting allows.
    func associate(sorting sortBytes: Int) throws {
        var rows: [Row] = []
        let most = max(1, sortBytes / MemoryLayout<Row>.stride)
        rows.reserveCapacity(most)
        for of in found.values {
            let table = try context.associations.table(of: of.mapping)
            func record() throws {
                rows.sort { ($0.source, $0.element) < ($1.source, $1.element) }
                for row in rows { try table.add(row.source, row.element, row.key) }
                rows.removeAll(keepingCapacity: true)
            }
            try of.rows.flush()
            for partition in 0..<of.rows.count {
                try of.rows.forEach(in: partition) { row in
                    rows.append(Row(source: row[0], element: row[1], key: row[2]))
                    if rows.count == most { try record() }
                }
                try record()
            }
        }
    }

    func drop() throws {
        for of in found.values { try context.connection.execute("DROP TABLE \(of.table)") }
        found = [:]
        last = nil
    }
}
