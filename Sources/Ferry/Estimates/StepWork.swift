internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerryPreflight
internal import FerrySQLite
internal import FerryStore

/// A step's work and disk space, as far as they are known before it runs.
struct StepEstimate {
    /// The statements of the one transaction that keeps and alters tables, then the operations that fill the others,
    /// and verification; what takes hardly any time is left out.
    var items: [WorkItem] = []
    var disk: DiskNeed.Step

    /// The estimates of a plan's steps.
    ///
    /// - Throws: ``DatabaseError``, and ``FerryError`` when a version cannot be laid out.
    static func all(
        of planned: Planned, on connection: Connection, verify: VerifyMode, jobs: Int
    ) throws -> [Self] {
        let bytes = try connection.contentBytes()
        guard planned.plan.refusals.isEmpty, planned.plan.steps.allSatisfy(\.canBeLaidOut) else {
            return planned.plan.steps.map { _ in Self(disk: (0, destinationBytes: bytes)) }
        }
        var sizes = try TableSizes(of: planned.facts, on: connection)
        var kept = Double(bytes)
        return try planned.plan.steps.enumerated().map { index, step in
            let work = try StepWork(of: step, index, planned, sizes)
            sizes = work.after
            // Pages of dropped tables stay in a file that keeps tables. A mapping may make far fewer objects than it can.
            kept = max(step.keepsTables ? kept : 0, min(sizes.bytes, 8 * Double(bytes)))
            let peak = min(work.peak(verifies: verify != .none), 0x1p52)
            return Self(
                items: work.items + work.verification(verify, jobs),
                disk: (Int64(peak), destinationBytes: Int64(kept)))
        }
    }
}

extension StepPlan {
    /// Whether it is known how Core Data stores the newer version; if not, preflight refuses the step.
    var canBeLaidOut: Bool {
        StoreLayout.refusals(for: resolved.destination.model, foundTriggers: .assumed).isEmpty
    }
}

/// The bytes that the operations of a step read and write, by the sizes of the tables before and after it.
private struct StepWork {
    private let step: StepPlan
    private let number: Int
    /// The sizes of the store that the step reads, and of the one that it makes.
    private let before: TableSizes
    let after: TableSizes
    /// Nil if the step cannot run: the run tells why.
    private let program: StepProgram?

    init(of step: StepPlan, _ index: Int, _ planned: Planned, _ sizes: TableSizes) throws {
        let destination = try StoreLayout.canonical(for: step.resolved.destination.model, foundTriggers: .assumed)
        (self.step, number, before) = (step, index + 1, sizes)
        after = sizes.after(step.resolved, in: destination)
        if index == 0, step.mode == .inPlace, case .success(let found)? = try planned.inPlace?.attempt() {
            program = found
            return
        }
        do throws(FerryError) {
            program = try StepProgram(step, source: sizes.layout, destination: destination)
        } catch {
            program = nil
        }
    }

    // MARK: Operations

    var items: [WorkItem] { (program?.operations ?? []).flatMap(items(of:)) }

    private func items(of operation: StepOperation) -> [WorkItem] {
        switch operation.work {
        case .rows(let positions): [rows(of: positions.map { step.resolved.entityMappings[$0] })]
        case .links(let place, let contribution): [links(of: place, by: contribution)].compactMap(\.self)
        case .joinTable(let table, let origin):
            [item(.relationships, table.name, origin == nil ? .sort : .statement, 2 * after.work(on: table.name))]
        case .statements(let statements): statements.map { item(of: $0, in: operation) }
        case .policies, .settle, .highestKeys, .version: []
        }
    }

    /// The time of an operation on no rows, which reads the schema: on 50, 200 and 600 entities with three indexes each,
    /// a statement, an index and the verification of a table took 0.6 to 1.7, 1.3 to 2.1 and 4.4 to 6.3 ms.
    private func item(
        _ phase: Phase, _ name: String?, _ kind: WorkKind, _ bytes: Double, rows: Double = 0
    ) -> WorkItem {
        let objects = after.layout.tables.count + after.layout.joinTables.count + after.layout.indexes.count
        var item = WorkItem(phase, step: number, name, kind, bytes: bytes, rows: rows)
        item.seconds += (400_000 + 2_800 * Double(objects)) / 1e9
        return item
    }

    private func lookups(_ count: Double) -> Double { count * TableSizes.rowWork }

    /// The sizes in which a table has the name that it has when a statement runs.
    private func sizes(of table: String) -> TableSizes { before.has(table) ? before : after }

    private func item(of statement: ProgramStatement, in operation: StepOperation) -> WorkItem {
        var (kind, bytes) = (WorkKind.statement, 0.0)
        switch statement.tables {
        case .schema: break
        case .rows(let name, let from): bytes = sizes(of: from).work(on: from) + sizes(of: name).work(on: name)
        case .search(let name): bytes = sizes(of: name).work(on: name) + lookups(sizes(of: name).rows(in: name))
        // Its pages are marked as free.
        case .drop(let name): (kind, bytes) = (.pages, before.bytes(of: name))
        case .index(let index): (kind, bytes) = (.sort, after.work(on: index))
        }
        var item = item(operation.phase, operation.subject ?? statement.reason, kind, bytes)
        item.isStatement = operation.phase == .rows
        return item
    }

    /// A pass over the rows of a table for mappings that share it.
    private func rows(of mappings: [ResolvedEntityMapping]) -> WorkItem {
        let kind = mappings.contains { $0.executor == .row } ? WorkKind.rowsInSwift : .statement
        var (bytes, rows) = (0.0, 0.0)
        for mapping in mappings {
            let (read, made) = (before.rows(of: mapping.source), before.objects(madeBy: mapping))
            let found = program?.fills.inline(of: mapping).count { $0.contribution.key == .lookedUp } ?? 0
            bytes += before.work(of: mapping.source, rows: read) + after.work(of: mapping.destination, rows: made)
            bytes += lookups(made * Double(found + mapping.unique.count))
            rows += read
        }
        return item(.rows, mappings[0].name, kind, bytes, rows: rows)
    }

    /// The links that follow after all rows: an entry in a join table, or a key in a row that is there.
    private func links(of place: Int, by contribution: Int?) -> WorkItem? {
        guard let assignment = program?.fills.relationships[place] else { return nil }
        let rows = assignment.contributions.enumerated().filter { contribution ?? $0.offset == $0.offset }
            .reduce(0) { $0 + before.objects(madeBy: $1.element.mapping) }
        let written =
            assignment.joinTable.map { after.work(on: $0) }
            ?? 2 * after.work(on: assignment.storage.table, rows: rows)
        return item(
            .relationships, assignment.declared.title, contribution == nil ? .sort : .statement,
            written + lookups(2 * rows), rows: rows)
    }

    /// The comparison of all rows and entries that the step writes; of other tables only pages are copied.
    func verification(_ mode: VerifyMode, _ jobs: Int) -> [WorkItem] {
        guard mode != .none else { return [] }
        let kept = program?.moves.keptTables ?? []
        let names = after.layout.tablesInOrder.map(\.name) + after.layout.joinTables.map(\.name)
        var items = after.layout.indexes.filter { !kept.contains($0.table) }
            .map { item(.verify, $0.name, .verification, after.work(on: $0), rows: after.rows(in: $0.table)) }
        // Each row that was read is looked up, however few objects the rows made.
        items += step.resolved.entityMappings.filter { !$0.unique.isEmpty }
            .map { item(.verify, $0.name, .verification, lookups(4 * before.objects(madeBy: $0))) }
        items += names.filter { !kept.contains($0) }
            .map { item(.verify, $0, .verification, 2 * after.work(on: $0)) }
        // The rate is that of two threads, and more than eight are no faster; a quick verification reads a third.
        let share = 2 / Double(min(max(1, jobs), 8)) * (mode == .quick ? 1 / 3.0 : 1)
        for index in items.indices { items[index].seconds *= share }
        return items
    }

    // MARK: Disk space

    /// The bytes of a row of keys with its share of pages, and of a hash with a key.
    private static let (row, hash) = (40.0, 70.0)
    /// Empty tables, and journals of the few pages that a unit changes; SQLite sorts as much in memory.
    private static let base = Double(1 << 20)

    /// The most bytes beside the new store: scratch and sorting; of statements, their journal and the file's growth.
    func peak(verifies: Bool) -> Double {
        let indexes = after.layout.indexes.map { after.bytes(of: $0) }
        let altering = (program?.operations ?? []).filter { $0.phase == .rows }.flatMap(\.statements)
        let written = Set(
            altering.compactMap { statement -> String? in
                if case .rows(let name, _) = statement.tables { name } else { nil }
            })
        var bytes = written.reduce(altering.isEmpty ? 0 : indexes.reduce(0, +)) { bytes, name in
            // On the store, the pages of a new table are in the `-wal` first, and then in the file, too.
            bytes + sizes(of: name).bytes(of: name) * (step.mode == .inPlace && !before.has(name) ? 2 : 1)
        }
        var sorted = indexes.max() ?? 0
        if step.mode == .copy, let fills = program?.fills {
            for mapping in step.resolved.entityMappings {
                let made = before.objects(madeBy: mapping)
                if !mapping.keepsPrimaryKey { bytes += made * Self.row }
                if mapping.policy != nil { bytes += made * (Self.row + Self.hash) + before.bytes / 2 }
                guard !mapping.unique.isEmpty else { continue }
                bytes += (made + before.rows(of: mapping.destination)) * Self.hash
                // Verification notes each search, and sorts them.
                if verifies { sorted = max(sorted, made * Self.row) }
            }
            let links = fills.joinTables.map { after.rows(in: $0.table.name) * Self.row }
            bytes += links.reduce(Self.base, +)
            sorted = max(sorted, links.max() ?? 0)
        }
        return bytes + (sorted > Self.base ? 2 * sorted : 0)
    }
}
