internal import FerryModel
package import FerryStore

/// The tables that a statement in place reads and writes, by the names that they have when it runs.
package enum StatementTables: Sendable, Hashable {
    /// The schema, or tables of few rows.
    case schema
    /// Inserts rows of a table into another one: those with some entity numbers, or all with nil.
    case fill(String, from: String, rowsOf: [Int64]?, lookups: Int = 0)
    /// Writes columns of the rows with some entity numbers, or of all with nil, in place.
    case update(String, columns: Set<String>, rowsOf: [Int64]? = nil, lookups: Int = 0)
    case delete(from: String, rowsOf: [Int64])
    /// Reads all rows of a table and looks up one of another for each, but changes few.
    case search(String)
    case drop(String)
    case dropIndex(String)
    case index(IndexDefinition)
}

/// The rows and bytes that a statement reads and writes, from which its time and its disk space follow.
package struct StatementWork: Sendable, Hashable {
    /// ``ProgramStatement/reason``, the subject of progress reports.
    package var subject: String
    package var readRows = 0.0
    package var readBytes = 0.0
    package var writtenRows = 0.0
    package var writtenBytes = 0.0
    /// The values of all written rows: SQLite decodes and encodes the columns of a row one by one.
    package var writtenValues = 0.0
    /// Rows found by their keys.
    package var lookups = 0.0
    /// The sorted entries of a new index with different keys, and with equal ones.
    package var sortedEntries = 0.0
    package var equalEntries = 0.0
    /// The sorted entries of an index that is too large to be sorted in memory.
    package var mergedEntries = 0.0
    package var entryBytes = 0.0
    /// The entries that a write changes in existing indexes, each at a place of its own.
    package var changedEntries = 0.0
    package var freedBytes = 0.0
    /// The bytes of the store's own pages that the statement overwrites.
    package var overwrittenBytes = 0.0

    package init(_ subject: String) { self.subject = subject }
}

/// The rows, widths and indexes of a store's tables, as they change from statement to statement.
package struct StoreContents: Sendable {
    package struct Table: Sendable {
        /// Rows by entity number; those of a join table have number 0.
        package var rows: [Int64: Double]
        /// The average bytes of a row.
        package var width: Double
        package var columns: [String: Column] = [:]
        package var indexes: [IndexDefinition] = []
        /// Whether the migration has created the table: no page of it needs a journal.
        package var isNew = false
        /// Whether all pages of the store's own table are in the journal already.
        var isJournaled = false

        package init(rows: [Int64: Double], width: Double) { (self.rows, self.width) = (rows, width) }

        package var count: Double { rows.values.reduce(0, +) }
        package var bytes: Double { count * width }

        func count(of numbers: [Int64]?) -> Double {
            guard let numbers else { return count }
            return numbers.reduce(0) { $0 + (rows[$1] ?? 0) }
        }
    }

    package struct Column: Sendable {
        /// The average bytes of a value.
        package var width: Double
        /// Whether the values differ; an index of equal values, most often NULL, needs no sorting.
        package var isVaried: Bool
        /// Whether no value is below that of a row with a lower key, as with keys of objects made together.
        package var isInOrder = false

        package init(width: Double, isVaried: Bool) { (self.width, self.isVaried) = (width, isVaried) }
        static let unknown = Column(width: 8, isVaried: true)
    }

    /// By upper-case name.
    package var tables: [String: Table]
    /// The bytes of tables in the file relative to those of their values: pages are not full.
    package var scale = 1.0

    package init(tables: [String: Table]) { self.tables = tables }

    /// The bytes of an index entry beside its key: the row's key, the header and the cell pointer.
    private static let entryBytes = 9.0
    /// SQLite sorts less than this in memory, under any memory limit.
    package static let sortedInMemory = Double(1 << 20)

    package func entry(of index: IndexDefinition) -> Column {
        let columns = tables[index.table.uppercased()]?.columns ?? [:]
        let parts = (index.listedColumns ?? []).map { columns[$0.uppercased()] ?? .unknown }
        guard !parts.isEmpty else { return Column(width: 16, isVaried: true) }
        var entry = Column(
            width: parts.reduce(Self.entryBytes) { $0 + $1.width }, isVaried: parts.contains { $0.isVaried })
        entry.isInOrder = parts[0].isInOrder && parts[0].isVaried
        return entry
    }

    /// The bytes of all indexes of a table.
    package func indexBytes(of table: Table) -> Double {
        table.indexes.reduce(0) { $0 + table.count * entry(of: $1).width }
    }
}

extension StoreContents {
    /// The work of a program's statements in place; the tables become those of the new version.
    package mutating func run(_ program: StepProgram) -> [StatementWork] {
        let after = program.moves.contents(from: self)
        var works: [StatementWork] = []
        for statement in program.statements { works.append(run(statement, after)) }
        for (name, table) in after {
            var table = table
            table.indexes = tables[name]?.indexes ?? []
            table.isNew = tables[name]?.isNew ?? true
            table.isJournaled = tables[name]?.isJournaled ?? false
            tables[name] = table
        }
        return works
    }

    private mutating func run(_ statement: ProgramStatement, _ after: [String: Table]) -> StatementWork {
        var work = StatementWork(statement.reason ?? "")
        if let change = statement.alteration { rename(change.table, to: change.newName, after) }
        switch statement.tables {
        case .schema: break
        case .fill(let name, let from, let numbers, let lookups):
            read(from, &work)
            let rows = tables[from.uppercased()]?.count(of: numbers) ?? 0
            let new = after[name.uppercased()] ?? Table(rows: [:], width: 16)
            work.lookups = rows * Double(lookups)
            write(rows, of: new, &work)
            // The primary key of a join table is an index of its own.
            if new.columns["Z_PK"] == nil { work.sortedEntries = rows }
            var known = tables[name.uppercased()] ?? new
            known.rows = new.rows
            known.isNew = true
            tables[name.uppercased()] = known
        case .update(let name, let columns, let numbers, let lookups):
            read(name, &work)
            guard var table = tables[name.uppercased()] else { break }
            let rows = table.count(of: numbers)
            work.lookups = rows * Double(lookups)
            write(rows, of: table, &work)
            work.changedEntries = rows * Double(table.indexes.filter { $0.reads(columns) }.count) * 2
            if !table.isNew, !table.isJournaled {
                work.overwrittenBytes = table.bytes * min(1, rows / max(1, table.count) * 2)
                table.isJournaled = rows * 2 > table.count
            }
            tables[name.uppercased()] = table
        case .delete(let name, let numbers):
            read(name, &work)
            guard var table = tables[name.uppercased()] else { break }
            let rows = table.count(of: numbers)
            work.writtenRows = rows
            work.changedEntries = rows * Double(table.indexes.count)
            let share = rows / max(1, table.count)
            work.freedBytes = (table.bytes + indexBytes(of: table)) * share
            if !table.isNew {
                work.overwrittenBytes =
                    min(1, share * 2) * (table.isJournaled ? 0 : table.bytes)
                    + indexBytes(of: table) * min(1, share * 2)
                table.isJournaled = table.isJournaled || share * 2 > 1
            }
            for number in numbers { table.rows[number] = 0 }
            tables[name.uppercased()] = table
        case .search(let name):
            read(name, &work)
            work.lookups = work.readRows
        case .drop(let name):
            guard let table = tables.removeValue(forKey: name.uppercased()) else { break }
            work.freedBytes = table.bytes + indexBytes(of: table)
        case .dropIndex(let name):
            for (key, table) in tables {
                guard let index = table.indexes.first(where: { $0.name == name }) else { continue }
                work.freedBytes = table.count * entry(of: index).width
                tables[key]?.indexes.removeAll { $0.name == name }
            }
        case .index(let index):
            read(index.table, &work)
            let entry = entry(of: index)
            let rows = tables[index.table.uppercased()]?.count ?? 0
            if entry.isVaried, !entry.isInOrder { work.sortedEntries = rows } else { work.equalEntries = rows }
            work.entryBytes = rows * entry.width
            if work.entryBytes > Self.sortedInMemory { work.mergedEntries = work.sortedEntries }
            tables[index.table.uppercased()]?.indexes.append(index)
        }
        return work
    }

    private func read(_ name: String, _ work: inout StatementWork) {
        guard let table = tables[name.uppercased()] else { return }
        (work.readRows, work.readBytes) = (table.count, table.bytes)
    }

    private func write(_ rows: Double, of table: Table, _ work: inout StatementWork) {
        (work.writtenRows, work.writtenBytes) = (rows, rows * table.width)
        work.writtenValues = rows * Double(table.columns.count)
    }

    /// Renames a table, and gives it the columns that it has after all alterations.
    private mutating func rename(_ name: String, to new: String, _ after: [String: Table]) {
        guard var table = tables.removeValue(forKey: name.uppercased()) else { return }
        table.columns = after[new.uppercased()]?.columns ?? table.columns
        for index in table.indexes.indices { table.indexes[index].table = new }
        tables[new.uppercased()] = table
    }
}

extension TableMoves {
    /// The tables of the new version, without their indexes.
    fileprivate func contents(from store: StoreContents) -> [String: StoreContents.Table] {
        var found: [String: StoreContents.Table] = [:]
        for move in tables {
            let old = move.source.flatMap { store.tables[$0.name.uppercased()] }
            var table = StoreContents.Table(rows: [:], width: old?.width ?? 16)
            for rows in move.rows { table.rows[rows.numbers.new, default: 0] += old?.rows[rows.numbers.old] ?? 0 }
            for slot in move.slots {
                let values = move.rows.compactMap { slot.values[$0.position] }
                let columns = values.map { $0.content(from: old) }
                var column = StoreContents.Column(
                    width: columns.map(\.width).max() ?? 0, isVaried: columns.contains { $0.isVaried })
                column.isInOrder = columns.count == 1 && columns[0].isInOrder
                table.columns[slot.column.name.uppercased()] = column
            }
            for name in ["Z_PK", "Z_ENT", "Z_OPT"] {
                table.columns[name] = .init(width: name == "Z_PK" ? 4 : 1, isVaried: name == "Z_PK")
            }
            found[move.destination.name.uppercased()] = table
        }
        for move in joinTables {
            var rows = 0.0
            switch move.way {
            case .alter(let kept): rows = store.tables[kept.name.uppercased()]?.count ?? 0
            case .rebuild(let old, _): rows = store.tables[old.name.uppercased()]?.count ?? 0
            case .keys(let keys):
                for key in keys { rows += store.tables[key.table.uppercased()]?.count(of: [key.number]) ?? 0 }
            case .create: break
            }
            found[move.destination.name.uppercased()] = .ofLinks(rows, move.destination)
        }
        return found
    }
}

extension StoreContents.Table {
    /// The rows of a join table; its primary key is an index of both columns.
    package static func ofLinks(_ count: Double, _ table: JoinTable) -> Self {
        var links = Self(rows: [0: count], width: Double(8 + 4 * table.columns.count))
        for column in table.columns { links.columns[column.uppercased()] = .init(width: 4, isVaried: true) }
        return links
    }
}

extension SlotValue {
    fileprivate func content(from table: StoreContents.Table?) -> StoreContents.Column {
        let known = base.flatMap { table?.columns[$0.uppercased()] }
        return switch self {
        case .column: known ?? .unknown
        case .constant: .init(width: 8, isVaried: false)
        case .computed: known ?? .unknown
        case .number: .init(width: 1, isVaried: false)
        }
    }
}

extension IndexDefinition {
    /// Whether an index has one of these columns; one whose columns are unknown may have all.
    fileprivate func reads(_ written: Set<String>) -> Bool {
        guard let columns = listedColumns else { return true }
        let names = Set(written.map { $0.uppercased() })
        return columns.contains { names.contains($0.uppercased()) }
    }

    /// The columns, read from the text of an index that comes from a schema; nil for an expression.
    fileprivate var listedColumns: [String]? {
        if let columns { return columns }
        guard let start = sql.firstIndex(of: "("), let end = sql.lastIndex(of: ")"), start < end else { return nil }
        let words = sql[sql.index(after: start)..<end].split(separator: ",").map { part in
            part.split(separator: " ").first.map(String.init) ?? ""
        }
        let names = words.map { $0.filter { $0 != "\"" } }
        return names.allSatisfy { !$0.isEmpty && !$0.contains("(") } ? names : nil
    }
}
