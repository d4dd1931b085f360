internal import FerryMapping
internal import FerryModel
internal import FerryStore

/// The source of one destination join table's rows.
struct JoinMove: Sendable, Equatable {
    enum Way: Sendable, Equatable {
        /// The store's table, with columns renamed.
        case alter(KeptTable)
        /// Another join table, whose columns are dropped or in another order.
        case rebuild(String, columns: [Renaming])
        case create
    }

    let destination: JoinTable
    private(set) var way = Way.create
    /// Statements that delete links of dropped or no longer related objects.
    private(set) var cuts: [ProgramStatement] = []

    /// - Throws: ``StepObstacle`` if the links are elsewhere or in another form.
    init(_ table: JoinTable, _ sources: RelationshipRules, keys: [String: [String]]) throws(StepObstacle) {
        destination = table
        let pairs = try sources.pairs(of: table.relationship)
        guard let first = pairs.first else { return }
        guard case .join(let name, let own, let other, let otherOrder, let ownOrder) = first.storage else {
            throw StepObstacle("the links of \(table.name) are foreign keys")
        }
        guard pairs.allSatisfy({ $0.storage == first.storage }),
            let old = sources.source.joinTables.first(where: { $0.name == name })
        else { throw StepObstacle("\(table.name) takes its links from several places") }
        cuts = try Self.cuts(of: pairs, old, own: own, other: other, sources)
        // Core Data's own migrations in place can leave the columns of the key in another order.
        let key = (table.isKeyTurned ? [other, own] : [own, other]).map { $0.uppercased() }
        var columns = [Renaming(from: own, to: table.firstColumn), Renaming(from: other, to: table.secondColumn)]
        for (old, new) in [(ownOrder, table.firstOrderColumn), (otherOrder, table.secondOrderColumn)] {
            guard let old, let new else { continue }
            columns.append(Renaming(from: old, to: new))
        }
        guard Set(columns.map(\.to)) == Set(table.columns) else {
            throw StepObstacle("\(table.relationship.title) is given an order")
        }
        if keys[old.name.uppercased()]?.map({ $0.uppercased() }) == key, columns.count == old.columns.count {
            way = .alter(
                KeptTable(
                    name: old.name, newName: table.name, columns: old.columns,
                    renames: columns.filter { $0.from != $0.to }))
        } else {
            way = .rebuild(old.name, columns: columns)
        }
    }

    /// The store's table with the links; nil for a new table.
    var origin: String? {
        switch way {
        case .alter(let kept): kept.name
        case .rebuild(let old, _): old
        case .create: nil
        }
    }

    var kept: KeptTable? { if case .alter(let kept) = way { kept } else { nil } }

    /// Fills a table that is made anew; `names` has the current names of the store's tables.
    func fill(_ names: [String: String]) -> ProgramStatement? {
        guard case .rebuild(let old, let columns) = way else { return nil }
        let table = names[old] ?? old
        return ProgramStatement(
            "INSERT INTO \(destination.name) (\(columns.map(\.to).joined(separator: ", "))) "
                + "SELECT \(columns.map(\.from).joined(separator: ", ")) FROM \(table)", .once,
            reason: "columns of the join table are removed or reordered",
            tables: .rows(destination.name, from: table))
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
}
