internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerryStore

/// The bytes that the operations of a step read and write, by the sizes of the tables before and after it.
struct StepWork {
    let step: StepPlan
    let number: Int
    /// The sizes of the store that the step reads, and of the one that it makes.
    let before: TableSizes
    let after: TableSizes
    /// The program that keeps and alters tables, and the one that fills the others.
    let altering: StepProgram?
    let filling: StepProgram?

    private func item(
        _ phase: Phase, _ name: String?, _ kind: WorkKind, _ bytes: Double, rows: Double = 0
    ) -> WorkItem {
        WorkItem(phase, step: number, name, kind, bytes: bytes, rows: rows)
    }

    private func lookups(_ count: Double) -> Double { count * TableSizes.rowWork }

    // MARK: Statements of one transaction

    /// The statements of the one transaction that keeps and alters tables.
    var statements: [WorkItem] {
        (altering?.statements ?? []).map { statement in
            var item = item(.rows, statement.reason, .statement, bytes(of: statement.tables))
            switch statement.tables {
            case .index: item.kind = .sort
            case .drop: item.kind = .pages
            default: break
            }
            item.isStatement = true
            return item
        }
    }

    private func bytes(of tables: StatementTables) -> Double {
        switch tables {
        case .schema, .dropIndex: return 0
        case .fill(let name, let from, let numbers, let times):
            let rows = sizes(of: from).rows(in: from, numbers: numbers)
            return sizes(of: from).work(on: from) + after.work(on: name, rows: rows) + lookups(rows * Double(times))
        case .update(let name, let columns, let numbers, let times):
            let sizes = sizes(of: name)
            let rows = sizes.rows(in: name, numbers: numbers)
            let indexes = sizes.layout.indexes.count { $0.table == name && !columns.isDisjoint(with: $0.columns ?? []) }
            return sizes.work(on: name) + sizes.work(on: name, rows: rows) + lookups(rows * Double(times + 2 * indexes))
        case .delete(let name, let numbers):
            let sizes = sizes(of: name)
            return sizes.work(on: name) + sizes.work(on: name, rows: sizes.rows(in: name, numbers: numbers))
        case .search(let name): return sizes(of: name).work(on: name) + lookups(sizes(of: name).rows(in: name))
        // Its pages are marked as free.
        case .drop(let name): return before.bytes(of: name)
        case .index(let index): return entries(of: index)
        }
    }

    /// The sizes in which a table has the name that it has when a statement runs.
    func sizes(of table: String) -> TableSizes { before.has(table) ? before : after }

    private func entries(of index: IndexDefinition) -> Double {
        lookups(after.rows(in: index.table)) + after.bytes(of: index)
    }

    // MARK: Operations that fill tables

    /// What the operations that fill tables do, in their order; those that take hardly any time are left out.
    var operations: [WorkItem] {
        (filling?.operations ?? []).filter { !$0.altersTables }.flatMap { operation -> [WorkItem] in
            switch operation.work {
            case .rows(let positions): [rows(of: positions)].compactMap { $0 }
            case .links(let place, let contribution):
                [
                    links(of: place, contribution == nil ? .sort : .statement) {
                        contribution == nil || $0 == contribution
                    }
                ].compactMap { $0 }
            case .joinTable(let table, let origin):
                [item(.relationships, table.name, origin == nil ? .sort : .statement, 2 * after.work(on: table.name))]
            case .statements(let statements) where operation.phase == .indexes:
                statements.compactMap { closing($0.tables, of: operation.subject) }
            case .statements, .policies, .settle, .highestKeys, .version: []
            }
        }
    }

    /// A statement after all rows: an index, an R-tree, or derived values.
    private func closing(_ tables: StatementTables, of subject: String?) -> WorkItem? {
        switch tables {
        case .index(let index): item(.indexes, subject, .sort, entries(of: index))
        case .fill(_, let from, _, _): item(.indexes, subject, .sort, after.work(on: from))
        case .update(let name, _, _, _): item(.indexes, subject, .statement, after.work(on: name))
        default: nil
        }
    }

    /// A pass over the rows of a table for mappings that share it.
    private func rows(of positions: [Int]) -> WorkItem? {
        let plans = step.partitions.flatMap(\.entityMappings).filter { positions.contains($0.mapping.position) }
        guard let first = plans.first else { return nil }
        let kind = plans.contains { $0.executor == .row } ? WorkKind.rowsInSwift : .statement
        var sum = item(.rows, first.mapping.name, kind, 0)
        for mapping in plans.map(\.mapping) {
            let (read, made) = (before.rows(of: mapping.source), before.objects(madeBy: mapping))
            let found = filling?.fills.inline(of: mapping).count { $0.contribution.key == .lookedUp } ?? 0
            sum.bytes += before.work(of: mapping.source, rows: read) + after.work(of: mapping.destination, rows: made)
            sum.bytes += lookups(made * Double(found + mapping.unique.count))
            sum.rows += read
        }
        return sum
    }

    /// The links that follow after all rows: an entry in a join table, or a key in a row that is there.
    private func links(of place: Int, _ kind: WorkKind, _ isIncluded: (Int) -> Bool) -> WorkItem? {
        guard let assignment = filling?.fills.relationships[place] else { return nil }
        let mappings = assignment.contributions.enumerated().filter { isIncluded($0.offset) }.map(\.element.mapping)
        let rows = mappings.reduce(0) { $0 + before.objects(madeBy: $1) }
        let written =
            assignment.joinTable.map { after.work(on: $0) }
            ?? 2 * after.work(on: assignment.storage.table, rows: rows)
        return item(.relationships, assignment.declared.title, kind, written + lookups(2 * rows), rows: rows)
    }

    // MARK: Verification

    /// The comparison of all rows and entries that the step writes; of other tables only pages are copied.
    func verification(_ mode: VerifyMode, jobs: Int) -> [WorkItem] {
        guard mode != .none else { return [] }
        // The rate is that of two threads, and more than eight are no faster; a quick verification reads a third.
        let share = 2 / Double(min(max(1, jobs), 8)) * (mode == .quick ? 1 / 3.0 : 1)
        let kept = altering?.moves.keptTables ?? []
        func item(_ name: String, _ bytes: Double, rows: Double = 0) -> WorkItem {
            self.item(.verify, name, .verification, bytes * share, rows: rows)
        }
        let indexes = after.layout.indexes.filter { !kept.contains($0.table) }.map {
            item($0.name, entries(of: $0), rows: after.rows(in: $0.table))
        }
        // Each row that was read is looked up, however few objects the rows made.
        let found = step.resolved.entityMappings.filter { !$0.unique.isEmpty }.map {
            item($0.name, lookups(4 * before.objects(madeBy: $0)))
        }
        let tables = after.layout.tablesInOrder.map(\.name) + after.layout.joinTables.map(\.name)
        return indexes + found + tables.filter { !kept.contains($0) }.map { item($0, 2 * after.work(on: $0)) }
    }

    // MARK: Disk space

    /// The bytes of a row of integers with its share of pages, and of a hash with a key.
    private static let row = 40.0
    private static let hash = 70.0
    /// Empty tables, and journals of the few pages that a unit changes; SQLite sorts as much in memory.
    private static let base = Double(1 << 20)

    /// The most bytes beside the new store: scratch and sorting; of statements, their journal and the file's growth.
    func peak(verifies: Bool) -> Double {
        let statements = altering?.statements ?? []
        let written = Set(statements.compactMap(\.tables.written)).reduce(0) { $0 + sizes(of: $1).bytes(of: $1) }
        // On the store, the pages of a new table are in the `-wal` first, and then in the file, too.
        let grown = Set(statements.compactMap(\.tables.filled)).reduce(0) { $0 + sizes(of: $1).bytes(of: $1) }
        let sorted = after.layout.indexes.map { after.bytes(of: $0) }.max() ?? 0
        let indexes = altering == nil ? 0 : after.layout.indexes.reduce(0) { $0 + after.bytes(of: $1) }
        var (scratch, searched) = (filling == nil ? 0 : Self.base, 0.0)
        for mapping in filling == nil ? [] : step.resolved.entityMappings {
            let made = before.objects(madeBy: mapping)
            if !mapping.keepsPrimaryKey { scratch += made * Self.row }
            if mapping.policy != nil { scratch += made * (Self.row + Self.hash) + before.bytes / 2 }
            guard !mapping.unique.isEmpty else { continue }
            scratch += (made + before.rows(of: mapping.destination)) * Self.hash
            // Verification notes each search, and sorts them.
            searched += made * Self.row
        }
        let links = (filling?.fills.joinTables ?? []).filter { $0.order != .asWalked }
            .map { after.rows(in: $0.table.name) * Self.row }
        scratch += links.reduce(0, +)
        for index in filling == nil ? [] : step.resolved.memberIndexes {
            scratch += 2 * before.rows(of: index.entity) * Self.hash * Double(index.paths.count)
        }
        let largest = max(sorted, links.max() ?? 0, verifies ? searched : 0)
        return written + (step.mode == .inPlace ? grown : 0) + indexes + scratch
            + (largest > Self.base ? 2 * largest : 0)
    }
}

extension StatementTables {
    /// The table whose rows are written; nil for none.
    fileprivate var written: String? {
        switch self {
        case .fill(let name, _, _, _), .update(let name, _, _, _), .delete(let name, _): name
        case .schema, .search, .drop, .dropIndex, .index: nil
        }
    }

    /// The new table that gets rows; nil for none.
    fileprivate var filled: String? { if case .fill(let name, _, _, _) = self { name } else { nil } }
}
