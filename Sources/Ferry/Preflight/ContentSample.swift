internal import FerryBase
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// Measures the rows of a store's tables from a few of them: reading all would take as long as a migration.
struct ContentSample {
    let layout: StoreLayout
    let inspection: StoreInspection
    /// Rows of exactly each entity.
    let rows: [String: Int64]
    let connection: Connection

    /// The rows that are read of each table.
    private static let probes: Int64 = 48
    /// The rows of smaller tables count as average ones: they take no time in a migration, unless they are long.
    private static let smallTable: Int64 = 500
    private static let longRow = 1_000.0
    /// The most columns of one statement: SQLite allows 2,000 results, and a column has two.
    private static let columnsAtOnce = 400
    /// The bytes of a row beside its values: key, header, cell pointer.
    private static let rowBytes = 9.0
    private static let averageWidth = 100.0
    /// The sampled sizes, scaled to the file, are trusted up to this factor: the file has free and half-full pages.
    private static let scales = 0.4...2.5

    /// - Throws: ``DatabaseError``.
    func contents() throws -> StoreContents {
        var tables: [String: StoreContents.Table] = [:]
        let pageSize = try connection.pragma("page_size")?.integer ?? 4_096
        let free = try (connection.pragma("freelist_count")?.integer ?? 0) * pageSize
        let used = try Double(connection.contentBytes() - free)
        let areLong = used > Self.longRow * Double(rows.values.reduce(1, +))
        for table in layout.tablesInOrder {
            var content = StoreContents.Table(rows: [:], width: Self.averageWidth)
            for entity in layout.entities(inTableOf: table.root) {
                guard let number = layout.number(of: entity) else { continue }
                content.rows[number] = Double(rows[entity] ?? 0)
            }
            content.indexes = layout.indexes.filter { $0.table.uppercased() == table.name.uppercased() }
            for name in ["Z_PK", "Z_ENT", "Z_OPT"] {
                content.columns[name] = .init(width: name == "Z_PK" ? 4 : 1, isVaried: name == "Z_PK")
            }
            if content.count >= Double(Self.smallTable) || (areLong && content.count > 0) {
                try sampleIfSound(table, into: &content)
            }
            tables[table.name.uppercased()] = content
        }
        for table in layout.joinTables {
            let known = inspection.joinTables.first { $0.table == table.name }?.rows ?? 0
            var content = StoreContents.Table.ofLinks(Double(known), table)
            content.indexes = layout.indexes.filter { $0.table == table.name }
            tables[table.name.uppercased()] = content
        }
        var contents = StoreContents(tables: tables)
        let sum = tables.values.reduce(0) { $0 + $1.bytes + contents.indexBytes(of: $1) }
        guard sum > 0, used > 0 else { return contents }
        let scale = min(max(used / sum, Self.scales.lowerBound), Self.scales.upperBound)
        contents.scale = scale
        for name in tables.keys { contents.tables[name]?.width *= scale }
        return contents
    }

    /// Leaves the average width for a table whose pages or rows are damaged: preflight reports the damage.
    private func sampleIfSound(_ table: EntityTable, into content: inout StoreContents.Table) throws {
        do {
            try sample(table, into: &content)
        } catch let error as DatabaseError where !error.isInterrupted {
            content.width = Self.averageWidth
        }
    }

    private func sample(_ table: EntityTable, into content: inout StoreContents.Table) throws {
        let name = Connection.quoted(table.name)
        guard let first = try connection.integer("SELECT min(Z_PK) FROM \(name)"),
            let last = try connection.integer("SELECT max(Z_PK) FROM \(name)"),
            case let (range, isTooWide) = last.subtractingReportingOverflow(first), !isTooWide
        else { return }
        var width = Self.rowBytes + Double(table.columns.count)
        for start in stride(from: 0, to: table.columns.count, by: Self.columnsAtOnce) {
            let columns = Array(table.columns[start..<min(start + Self.columnsAtOnce, table.columns.count)])
            for (column, found) in zip(columns, try sample(columns, of: table, from: first, range)) {
                content.columns[column.name.uppercased()] = found
                width += found.width
            }
        }
        content.width = width
    }

    private func sample(
        _ columns: [Column], of table: EntityTable, from first: Int64, _ range: Int64
    ) throws -> [StoreContents.Column] {
        // SQLite finds type and length of a BLOB without reading it; numbers are read.
        let results = columns.map { column in
            let name = Connection.quoted(column.name)
            return column.hasVariableLength
                ? "typeof(\(name)), CASE typeof(\(name)) WHEN 'blob' THEN length(\(name)) END"
                : "typeof(\(name)), CASE WHEN typeof(\(name)) IN ('integer', 'real') THEN \(name) END"
        }
        let statement = try connection.prepare(
            "SELECT Z_PK, \(results.joined(separator: ", ")) FROM \(Connection.quoted(table.name)) "
                + "WHERE Z_PK >= ?1 ORDER BY Z_PK LIMIT 1")
        var sums = columns.map { _ in 0.0 }
        var firsts: [Double?] = columns.map { _ in nil }
        var varied = columns.map { _ in false }
        var lasts: [Double?] = columns.map { _ in nil }
        var inOrder = columns.map { _ in true }
        var seen = 0.0
        for probe in 0..<Self.probes {
            try statement.bind(first + range / Self.probes * probe, at: 1)
            defer { statement.reset() }
            guard try statement.step() else { break }
            let key = statement.integer(0)
            for (index, column) in columns.enumerated() {
                var value: Double?
                switch statement.text(1 + 2 * index) {
                case "text": value = try Double(length(of: column, in: table, row: key))
                case "blob": value = statement.real(2 + 2 * index)
                case "integer", "real": value = statement.real(2 + 2 * index)
                default: break
                }
                sums[index] += value.map { column.hasVariableLength ? $0 : Self.bytes(of: $0) } ?? 0
                if let value, !column.hasVariableLength {
                    inOrder[index] = inOrder[index] && lasts[index].map { $0 <= value } ?? true
                    lasts[index] = value
                }
                // A long value is not read; values of one type differ as a rule.
                if seen == 0 { firsts[index] = value }
                varied[index] = varied[index] || firsts[index] != value || (column.hasVariableLength && value != nil)
            }
            seen += 1
        }
        return columns.indices.map { index in
            var column = StoreContents.Column(width: sums[index] / max(1, seen), isVaried: varied[index])
            column.isInOrder = inOrder[index] && !columns[index].hasVariableLength
            return column
        }
    }

    private func length(of column: Column, in table: EntityTable, row: Int64) throws -> Int {
        try BlobHandle(column.name, of: table.name, row: row, schema: "main", on: connection).count
    }

    /// The bytes of a stored number.
    private static func bytes(of number: Double) -> Double {
        guard number == number.rounded(), abs(number) < 0x1p47 else { return 8 }
        return switch abs(number) {
        case ..<2: 0
        case ..<128: 1
        case ..<32_768: 2
        case ..<8_388_608: 3
        case ..<2_147_483_648: 4
        default: 6
        }
    }
}
