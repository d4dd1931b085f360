internal import FerryMapping
internal import FerrySQLite
internal import FerryStore

/// The destination keys of source objects that merged into earlier objects, until they are recorded as associations.
///
/// They come in no order, but the table of associations is filled fastest in its own.
final class FoundObjects {
    private typealias Row = (source: Int64, element: Int64, key: Int64)

    private final class OfMapping {
        let mapping: ResolvedEntityMapping
        let table: String
        let rows: RowPartitions
        private let lowest: Int64
        /// The number of source keys for each partition.
        private let keys: UInt64

        init(_ mapping: ResolvedEntityMapping, bytes: Int, in context: VerificationContext) throws {
            self.mapping = mapping
            table = "lookups.found_\(mapping.position)"
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
    /// By position of the mapping.
    private var found: [OfMapping?]

    /// The memory is divided among so many mappings.
    init(bytes: Int, for mappings: Int, in context: VerificationContext) {
        (self.bytes, self.context) = (bytes / max(1, mappings), context)
        found = Array(repeating: nil, count: context.step.entityMappings.count)
    }

    func add(mapping position: Int, source: Int64, element: Int64, key: Int64) throws {
        let of = try found[position] ?? open(position)
        try of.rows.add(to: of.partition(of: source), source, element, key)
    }

    private func open(_ position: Int) throws -> OfMapping {
        let of = try OfMapping(context.step.entityMappings[position], bytes: bytes, in: context)
        found[position] = of
        return of
    }

    /// Records the associations, in the order of their source objects as far as memory for sorting allows.
    func associate(sorting sortBytes: Int) throws {
        var rows: [Row] = []
        let most = max(1, sortBytes / MemoryLayout<Row>.stride)
        rows.reserveCapacity(most)
        for of in found.compactMap({ $0 }) {
            let table = try context.associations.table(of: of.mapping.position)
            func record() throws {
                rows.sort { ($0.source, $0.element) < ($1.source, $1.element) }
                for row in rows { try table.add(row.source, row.element, row.key) }
                rows.removeAll(keepingCapacity: true)
            }
            try of.rows.flush()
            for partition in 0..<of.rows.count {
                try of.rows.forEach(in: partition) { row in
                    rows.append((row[0], row[1], row[2]))
                    if rows.count == most { try record() }
                }
                try record()
            }
        }
    }

    func drop() throws {
        for of in found.compactMap({ $0 }) { try context.connection.execute("DROP TABLE \(of.table)") }
    }
}
