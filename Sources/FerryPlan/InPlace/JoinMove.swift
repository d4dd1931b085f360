internal import FerryMapping
internal import FerryModel
internal import FerryStore

/// The source of one destination join table's rows.
struct JoinMove: Sendable, Equatable {
    enum Way: Sendable, Equatable {
        /// The store's table, with columns renamed and added.
        case alter(KeptTable)
        /// Another join table, whose columns are dropped or in another order.
        case rebuild(JoinTable, columns: [Renaming])
        /// Foreign keys in the rows of entity tables.
        case keys([KeyRows])
        case create
    }

    /// Rows of an entity table that each hold the key of one end of a link.
    struct KeyRows: Sendable, Hashable {
        var table: String
        /// `Z_ENT` of the rows.
        var number: Int64
        /// Whether the row's object is the second end of the link.
        var isSecond: Bool
        /// The column with the position of the row's object among those of the key's object.
        var order: String?
        /// The key column, and its target table and entity.
        var key: String
        var targetTable: String
        var targetNumber: Int64
    }

    let destination: JoinTable
    let way: Way
    /// Statements that delete links of dropped or no longer related objects.
    private(set) var cuts: [ProgramStatement] = []
    /// Statements that number the rows of relationships that become ordered.
    private(set) var numberings: [ProgramStatement] = []

    init(_ table: JoinTable, _ sources: RelationshipRules, keys: [String: [String]]) throws(StepObstacle) {
        destination = table
        let pairs = try sources.pairs(of: table.relationship)
        guard let first = pairs.first else {
            way = .create
            return
        }
        if case .join(let name, let own, let other, let otherOrder, let ownOrder) = first.storage {
            guard pairs.allSatisfy({ $0.storage == first.storage }),
                let old = sources.source.joinTables.first(where: { $0.name == name })
            else { throw StepObstacle("\(table.name) takes its links from several places") }
            cuts = try Self.cuts(of: pairs, old, own: own, other: other, sources)
            // Core Data's own migrations in place can leave the columns of the key in another order.
            let key = (table.isKeyTurned ? [other, own] : [own, other]).map { $0.uppercased() }
            let isKeyKept = keys[old.name.uppercased()]?.map { $0.uppercased() } == key
            way = Self.way(
                table, old, own: own, other: other, otherOrder: otherOrder, ownOrder: ownOrder,
                isKeyKept: isKeyKept)
            number(isSecondKnown: otherOrder != nil, isFirstKnown: ownOrder != nil)
        } else {
            let rows = try Self.keyRows(pairs, sources)
            way = .keys(rows)
            number(
                isSecondKnown: rows.allSatisfy { $0.isSecond && $0.order != nil },
                isFirstKnown: rows.allSatisfy { !$0.isSecond && $0.order != nil })
        }
    }

    var kept: KeptTable? { if case .alter(let kept) = way { kept } else { nil } }

    private mutating func number(isSecondKnown: Bool, isFirstKnown: Bool) {
        let (first, second) = (destination.firstColumn, destination.secondColumn)
        if let order = destination.secondOrderColumn, !isSecondKnown {
            numberings.append(.numbering(order, of: destination.name, key: "rowid", group: first, by: second))
        }
        if let order = destination.firstOrderColumn, !isFirstKnown {
            numberings.append(.numbering(order, of: destination.name, key: "rowid", group: second, by: first))
        }
    }

    // MARK: From a join table

    private static func way(
        _ new: JoinTable, _ old: JoinTable, own: String, other: String, otherOrder: String?, ownOrder: String?,
        isKeyKept: Bool
    ) -> Way {
        var columns = [Renaming(from: own, to: new.firstColumn), Renaming(from: other, to: new.secondColumn)]
        if let order = new.firstOrderColumn, let ownOrder { columns.append(Renaming(from: ownOrder, to: order)) }
        if let order = new.secondOrderColumn, let otherOrder { columns.append(Renaming(from: otherOrder, to: order)) }
        let kept = Set(columns.map(\.from))
        guard isKeyKept, old.columns.allSatisfy(kept.contains) else { return .rebuild(old, columns: columns) }
        let given = Set(columns.map(\.to))
        let additions = [new.firstOrderColumn, new.secondOrderColumn].compactMap { $0 }.filter { !given.contains($0) }
            .map { Column(name: $0, type: "INTEGER") }
        return .alter(
            KeptTable(
                name: old.name, newName: new.name, columns: old.columns, reason: "the relationship is ordered",
                renames: columns.filter { $0.from != $0.to }, additions: additions))
    }

    private static func cuts(
        of pairs: [RelationshipRules.Pair], _ old: JoinTable, own: String, other: String,
        _ sources: RelationshipRules
    ) throws(StepObstacle) -> [ProgramStatement] {
        let owners = Set(pairs.map(\.own.source))
        let others = Set(pairs.map(\.other.source))
        let related = Set(pairs.map { [$0.own.source, $0.other.source] })
        guard related.count == owners.count * others.count else {
            throw StepObstacle("\(old.name) keeps some of its links by the entities of both ends")
        }
        let isOwnFirst = own == old.firstColumn
        let (ownSide, otherSide) = isOwnFirst ? (old.relationship, old.inverse) : (old.inverse, old.relationship)
        return [(own, ownSide, owners), (other, otherSide, others)].compactMap { column, side, kept in
            let lost = sources.source.model.concreteFamily(of: side.entity).subtracting(kept)
                .compactMap { sources.source.number(of: $0) }
            guard !lost.isEmpty, let table = sources.source.table(of: side.entity)?.name else { return nil }
            return ProgramStatement(
                "DELETE FROM \(old.name) WHERE \(column) IN "
                    + "(SELECT Z_PK FROM \(table) WHERE \(lost.sorted().rowCondition()))", .once,
                reason: "objects at the end of \(column) are removed or no longer related", tables: .search(old.name))
        }
    }

    // MARK: From keys

    private static func keyRows(
        _ pairs: [RelationshipRules.Pair], _ sources: RelationshipRules
    ) throws(StepObstacle) -> [KeyRows] {
        var found: [KeyRows] = []
        for pair in pairs {
            let ownHolds = if case .foreignKey = pair.storage { true } else { false }
            let held = ownHolds ? pair : pair.mirrored(in: sources.source)
            guard case .foreignKey(let table, let column, _, let order) = held.storage else {
                throw StepObstacle("links are partly in a join table and partly in rows")
            }
            guard let number = sources.source.number(of: held.own.source),
                let targetNumber = sources.source.number(of: held.other.source),
                let targetTable = sources.source.table(of: held.other.source)?.name
            else { continue }
            let rows = KeyRows(
                table: table, number: number, isSecond: !ownHolds, order: order, key: column, targetTable: targetTable,
                targetNumber: targetNumber)
            if !found.contains(rows) { found.append(rows) }
        }
        return found
    }

    /// Fills a new table; `names` has the current names of the store's tables.
    func fills(_ names: [String: String]) -> [ProgramStatement] {
        switch way {
        case .alter, .create: []
        case .rebuild(let old, let columns): [fill(from: names[old.name] ?? old.name, columns)]
        case .keys(let rows):
            rows.map { fill($0, from: names[$0.table] ?? $0.table, targets: names[$0.targetTable] ?? $0.targetTable) }
        }
    }

    private func fill(_ rows: KeyRows, from table: String, targets: String) -> ProgramStatement {
        var columns = [destination.firstColumn, destination.secondColumn]
        var values = rows.isSecond ? ["s.\(rows.key)", "s.Z_PK"] : ["s.Z_PK", "s.\(rows.key)"]
        let orderColumn = rows.isSecond ? destination.secondOrderColumn : destination.firstOrderColumn
        if let orderColumn, let order = rows.order {
            columns.append(orderColumn)
            values.append("s.\(order)")
        }
        return ProgramStatement(
            "INSERT OR IGNORE INTO \(destination.name) (\(columns.joined(separator: ", "))) "
                + "SELECT \(values.joined(separator: ", ")) FROM \(table) AS s "
                + "JOIN \(targets) AS t ON t.Z_PK = s.\(rows.key) "
                + "WHERE +s.Z_ENT = \(rows.number) AND +t.Z_ENT = \(rows.targetNumber)", .once,
            reason: "\(rows.key) becomes a to-many relationship",
            tables: .fill(destination.name, from: table, rowsOf: [rows.number], lookups: 1))
    }

    private func fill(from table: String, _ columns: [Renaming]) -> ProgramStatement {
        ProgramStatement(
            "INSERT INTO \(destination.name) (\(columns.map(\.to).joined(separator: ", "))) "
                + "SELECT \(columns.map(\.from).joined(separator: ", ")) FROM \(table)", .once,
            reason: "columns of the join table are removed or reordered",
            tables: .fill(destination.name, from: table, rowsOf: nil))
    }
}
