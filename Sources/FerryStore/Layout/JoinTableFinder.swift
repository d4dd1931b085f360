/// Finds the table of a many-to-many relationship in a store.
///
/// Either side may name it, and its names may hold entity numbers or suffixes that differ from the computed ones.
struct JoinTableFinder {
    private let table: JoinTable
    private let catalog: StoreCatalog
    /// The numbers of the entities that declare the relationship and its inverse.
    private let own: Int64
    private let other: Int64

    init(_ table: JoinTable, in expected: StoreLayout, catalog: StoreCatalog) {
        self.table = table
        self.catalog = catalog
        own = expected.entityNumbers[table.relationship.entity] ?? 0
        other = expected.entityNumbers[table.inverse.entity] ?? 0
    }

    func find() -> JoinTable? {
        let (name, inverse) = (table.relationship.property.uppercased(), table.inverse.property.uppercased())
        for computed in ["Z_\(own)\(name)", "Z_\(other)\(inverse)"] {
            if let found = catalog.table(computed).flatMap(matched) { return found }
        }
        let (pattern, inversePattern) = (ColumnPattern("Z_#", name), ColumnPattern("Z_#", inverse))
        let candidates = catalog.tables.filter { pattern.matches($0.name) || inversePattern.matches($0.name) }
            .compactMap(matched)
        // With several, none is certain.
        return candidates.count == 1 ? candidates[0] : nil
    }

    /// The relationship's join table with the names of `candidate`, when that has the columns.
    private func matched(_ candidate: StoreCatalog.Table) -> JoinTable? {
        guard candidate.keyColumns.count == 2 else { return nil }
        var found = table
        found.name = candidate.name
        if table.isReflexive {
            guard let second = candidate.column("REFLEXIVE"),
                let first = candidate.keyColumns.first(where: { $0 != second.name })
            else { return nil }
            found.firstColumn = first
            found.secondColumn = second.name
            return found
        }
        guard let (first, second) = keyColumns(of: candidate) else { return nil }
        found.firstColumn = first
        found.secondColumn = second
        if let column = table.firstOrderColumn {
            guard let order = orderColumn(column, for: first, in: candidate) else { return nil }
            found.firstOrderColumn = order
        }
        if let column = table.secondOrderColumn {
            guard let order = orderColumn(column, for: second, in: candidate) else { return nil }
            found.secondOrderColumn = order
        }
        found.isKeyTurned = candidate.keyColumns != [first, second]
        let order = candidate.columns.map(\.name).filter(found.columns.contains)
        if order != found.columns { found.foundColumns = order }
        return found
    }

    /// The columns that hold the naming entity's key (named after the inverse) and the other one's.
    private func keyColumns(of candidate: StoreCatalog.Table) -> (first: String, second: String)? {
        let (name, inverse) = (table.relationship.property, table.inverse.property)
        let attempts = [
            (ColumnPattern("Z_\(own)", inverse), ColumnPattern("Z_\(other)", name)),
            (ColumnPattern("Z_#", inverse), ColumnPattern("Z_#", name)),
        ]
        for (first, second) in attempts {
            let keys = candidate.keyColumns
            if first.matches(keys[0]), second.matches(keys[1]) { return (keys[0], keys[1]) }
            if first.matches(keys[1]), second.matches(keys[0]) { return (keys[1], keys[0]) }
        }
        return nil
    }

    private func orderColumn(_ computed: String, for key: String, in candidate: StoreCatalog.Table) -> String? {
        (candidate.column("Z_FOK_\(key.dropFirst(2))") ?? candidate.column(computed))?.name
    }
}
