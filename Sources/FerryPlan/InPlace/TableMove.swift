internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryStore

/// The source of one destination table's rows.
struct TableMove: Sendable, Equatable {
    enum Way: Sendable, Equatable {
        /// The source table, with columns renamed and added; `carriers` maps destination columns to source columns.
        case alter(KeptTable, carriers: [String: String])
        /// A new table with the rows of the source table, which is dropped at the end; the reason.
        case rebuild(String)
        case create
    }

    struct Rows: Sendable, Equatable {
        let position: Int
        let numbers: NumberPair
        /// Source columns that can have values in these rows; empty, and unused, if the table has one mapping.
        let columns: Set<String>
    }

    let source: EntityTable?
    let destination: EntityTable
    let way: Way
    let rows: [Rows]
    /// In the order of the table's columns.
    let slots: [ColumnSlot]
    /// Statements that ``ColumnSlots`` has found.
    let cuts: [ProgramStatement]

    init(_ found: ColumnSlots, source: EntityTable?, mustRebuild: String?) {
        self.source = source
        (destination, slots, cuts) = (found.table, found.inOrder, found.cuts)
        let isShared = found.mappings.count > 1
        rows = found.mappings.compactMap { mapping in
            guard let old = found.source.number(of: mapping.source),
                let new = found.destination.number(of: mapping.destination)
            else { return nil }
            return Rows(
                position: mapping.position, numbers: NumberPair(old: old, new: new),
                columns: source.map { isShared ? found.source.knownColumns(of: $0, in: mapping.source) : [] } ?? [])
        }
        guard let source else {
            way = .create
            return
        }
        if let mustRebuild {
            way = .rebuild(mustRebuild)
        } else {
            way = Self.alteration(of: source, to: destination, slots, rows, in: found.source)
        }
    }

    var kept: KeptTable? { if case .alter(let kept, _) = way { kept } else { nil } }

    /// Assigns source columns to destination columns; a source column that is left over forces a rebuild.
    private static func alteration(
        of source: EntityTable, to destination: EntityTable, _ slots: [ColumnSlot], _ rows: [Rows],
        in layout: StoreLayout
    ) -> Way {
        let declared = Dictionary(first: source.columns.map { ($0.name, $0.type.uppercased()) })
        var kept = KeptTable(
            name: source.name, newName: destination.name, columns: source.columns.map(\.name))
        var carriers: [String: String] = [:]
        var taken: Set<String> = []
        for keepsName in [true, false] {
            for slot in slots where carriers[slot.column.name] == nil {
                let candidates = rows.compactMap { slot.values[$0.position]?.base ?? slot.emptied[$0.position] }
                let carrier = candidates.first {
                    !taken.contains($0) && declared[$0] == slot.column.type.uppercased()
                        && (!keepsName || $0 == slot.column.name)
                }
                guard let carrier else { continue }
                carriers[slot.column.name] = carrier
                taken.insert(carrier)
            }
        }
        let known = layout.knownColumns(of: source)
        if let lost = source.columns.first(where: { known.contains($0.name) && !taken.contains($0.name) }) {
            return .rebuild("column \(lost.name) is dropped or changes its type")
        }
        let dead = Set(source.columns.filter { !known.contains($0.name) }.map { $0.name.uppercased() })
        for slot in slots {
            let name = slot.column.name
            if dead.contains(name.uppercased()) { return .rebuild("an unused column is in the way of \(name)") }
            if let carrier = carriers[name] {
                if carrier != name { kept.renames.append(Renaming(from: carrier, to: name)) }
            } else {
                kept.additions.append(slot.column)
            }
        }
        return .alter(kept, carriers: carriers)
    }

    /// Fills a table that is made anew, unless it has no rows; `names` has the current names of the store's tables.
    func fill(_ names: [String: String], in layout: StoreLayout) -> ProgramStatement? {
        guard case .rebuild(let reason) = way, let source, !rows.isEmpty else { return nil }
        var values = Parameters()
        var columns = ["Z_PK", "Z_ENT", "Z_OPT"]
        let isMoved = rows.contains { $0.numbers.old != $0.numbers.new }
        var selected = ["Z_PK", isMoved ? "CASE Z_ENT \(rows.map(\.numbers).cases) END" : "Z_ENT", "Z_OPT"]
        for slot in slots {
            guard let sql = selection(slot, in: layout, &values) else { continue }
            columns.append(slot.column.name)
            selected.append(sql)
        }
        return ProgramStatement(
            "INSERT INTO \(destination.name) (\(columns.joined(separator: ", "))) "
                + "SELECT \(selected.joined(separator: ", ")) FROM \(names[source.name] ?? source.name) "
                + "WHERE \(rows.map(\.numbers.old).sorted().rowCondition("+"))",
            values: values, .once, reason: reason,
            tables: .rows(destination.name, from: names[source.name] ?? source.name))
    }

    private func selection(_ slot: ColumnSlot, in layout: StoreLayout, _ values: inout Parameters) -> String? {
        var groups: [(sql: String, numbers: [Int64])] = []
        var isWhole = true
        let bases = rows.compactMap { slot.values[$0.position]?.base }
        for rows in rows {
            if let value = slot.values[rows.position] {
                Self.add(rows.numbers.old, to: &groups, value.sql(in: layout, &values))
            } else if let base = bases.first, rows.columns.isDisjoint(with: bases) {
                // A stray value in a column of other rows stays, as it does in a table that is altered.
                Self.add(rows.numbers.old, to: &groups, base)
            } else {
                isWhole = false
            }
        }
        guard !groups.isEmpty else { return nil }
        return groups.count == 1 && isWhole ? groups[0].sql : "CASE \(Self.cases(groups)) END"
    }

    /// Updates the rows of an altered table in one pass; nil if no value changes.
    func update(in layout: StoreLayout) -> (statement: ProgramStatement, columns: Set<String>)? {
        guard case .alter(_, let carriers) = way else { return nil }
        let names = Dictionary(first: carriers.map { ($0.value, $0.key) })
        var values = Parameters()
        var assignments: [(column: String, groups: [(sql: String, numbers: [Int64])])] = []
        for slot in slots {
            var groups: [(sql: String, numbers: [Int64])] = []
            let carrier = carriers[slot.column.name]
            for rows in rows {
                if let value = slot.values[rows.position] {
                    if let column = value.column, column == carrier { continue }
                    Self.add(rows.numbers.old, to: &groups, value.sql(in: layout, names: names, &values))
                } else if let carrier, rows.columns.contains(carrier) || slot.emptied[rows.position] != nil {
                    Self.add(rows.numbers.old, to: &groups, "NULL")
                }
            }
            if !groups.isEmpty { assignments.append((slot.column.name, groups)) }
        }
        let moved = rows.map(\.numbers).filter { $0.old != $0.new }
        if !moved.isEmpty {
            assignments.insert(("Z_ENT", moved.map { ("\($0.new)", [$0.old]) }), at: 0)
        }
        guard !assignments.isEmpty else { return nil }
        let touched = Set(assignments.flatMap { $0.groups.flatMap(\.numbers) }).sorted()
        let sets = assignments.map { assignment in
            let groups = assignment.groups
            let isWhole = groups.count == 1 && Set(groups[0].numbers) == Set(touched)
            let value = isWhole ? groups[0].sql : "CASE \(Self.cases(groups)) ELSE \(assignment.column) END"
            return "\(assignment.column) = \(value)"
        }
        let columns = Set(assignments.map(\.column))
        // With one entity every assignment covers all of its rows.
        let statement = ProgramStatement(
            "UPDATE \(destination.name) SET \(sets.joined(separator: ", ")) WHERE \(touched.rowCondition("+"))",
            values: values, .once, reason: "new values in \(columns.sorted().joined(separator: ", "))",
            tables: .rows(destination.name, from: destination.name))
        return (statement, columns)
    }

    private static func add(_ number: Int64, to groups: inout [(sql: String, numbers: [Int64])], _ sql: String) {
        if let index = groups.firstIndex(where: { $0.sql == sql }) {
            groups[index].numbers.append(number)
        } else {
            groups.append((sql, [number]))
        }
    }

    private static func cases(_ groups: [(sql: String, numbers: [Int64])]) -> String {
        groups.map { "WHEN \($0.numbers.sorted().rowCondition()) THEN \($0.sql)" }.joined(separator: " ")
    }
}
