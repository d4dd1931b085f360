internal import FerryBase
internal import FerryModel

/// A search for the tables and columns of a computed layout in a store.
///
/// Prefers the computed name, then the name with another suffix or entity number.
struct LayoutFinder {
    let expected: StoreLayout
    let catalog: StoreCatalog
    private var layout: StoreLayout
    /// By table: the columns of properties found so far.
    private var taken: [String: Set<String>] = [:]
    /// The errors of the tables and columns that were not found, in the order of the search.
    private(set) var missing: [FerryError] = []

    init(expected: StoreLayout, catalog: StoreCatalog) {
        self.expected = expected
        self.catalog = catalog
        layout = StoreLayout(model: expected.model)
        layout.entityNumbers = expected.entityNumbers
    }

    /// Finds what is there, and notes what is missing.
    mutating func search() {
        for (root, table) in expected.tables.inOrder(by: { codeUnitOrder($0.key, $1.key) }) {
            findTable(table, of: root)
        }
        // Exact names first, so that no property gets another property's column.
        let attributes = expected.attributeColumns.inOrder { $0.key < $1.key }
        let relationships = expected.relationshipStorage.inOrder { $0.key < $1.key }
        for exactly in [true, false] {
            for (key, column) in attributes { findAttribute(key, column, exactly: exactly) }
            for (key, storage) in relationships { findForeignKey(key, storage, exactly: exactly) }
        }
        findJoinTables()
    }

    /// - Throws: The first error of ``missing``.
    mutating func find() throws(FerryError) -> StoreLayout {
        search()
        if let first = missing.first { throw first }
        for case (let key, .inverseForeignKey) in expected.relationshipStorage {
            guard let relationship = layout.model.relationship(key.property, of: key.entity) else { continue }
            _ = layout.setInverseStorage(of: key, relationship)
        }
        let names = Set(layout.tables.values.map(\.name) + layout.joinTables.map(\.name))
        layout.computedIndexNames = Set(expected.indexes.map(\.name))
        layout.indexes = catalog.indexes.filter { names.contains($0.table) }
        layout.rTrees = expected.rTrees.compactMap(find)
        layout.triggers = catalog.triggers.filter { $0.name.hasPrefix("Z_DA_") }
        let derived = expected.derivedValues.compactMap { value in
            layout.attribute(value.attribute).map { (entity: value.attribute.entity, attribute: $0) }
        }
        layout.derivedValues = DerivedAttributes(of: layout, attributes: derived).values
        return layout
    }

    /// Returns the store's R-Tree of the same name, or nil: models that differ only in indexes have equal hashes.
    private func find(_ rTree: RTree) -> RTree? {
        let made = catalog.rTrees.first { $0.name.uppercased() == rTree.name.uppercased() }
        guard let made, let table = layout.table(of: rTree.entity)?.name else { return nil }
        // Computed column to the store's column.
        let found = Dictionary(
            first: expected.attributeColumns.map { ($1.name, layout.attributeColumns[$0]?.name ?? $1.name) })
        var rTree = rTree
        (rTree.name, rTree.sql, rTree.table) = (made.name, made.sql, table)
        rTree.columns = rTree.columns.map { found[$0] ?? $0 }
        let names = Set(RTree.triggerNames(of: made.name))
        rTree.triggers = catalog.triggers.filter { names.contains($0.name) }
        return rTree
    }

    private mutating func findTable(_ table: EntityTable, of root: String) {
        guard let found = catalog.table(table.name) else {
            return note("The store has no table \(table.name) for the entity \(root).", PropertyKey(root, ""))
        }
        for system in EntityTable.systemColumns where found.column(system) == nil {
            return note("The table \(found.name) has no column \(system).", PropertyKey(root, ""))
        }
        let columns = found.columns.filter { !EntityTable.systemColumns.contains($0.name.uppercased()) }
        layout.tables[root] = EntityTable(
            root: root, name: found.name, columns: columns, uniqueLists: found.uniqueLists)
    }

    // MARK: Columns of entity tables

    private mutating func findAttribute(_ key: PropertyKey, _ column: Column, exactly: Bool) {
        guard layout.attributeColumns[key] == nil, let table = table(of: key.entity) else { return }
        let leaf = key.property.split(separator: ".").last.map { $0.uppercased() } ?? ""
        let pattern = ColumnPattern("Z", leaf)
        layout.attributeColumns[key] = take(column.name, for: key, in: table, exactly: exactly, like: pattern)
    }

    private mutating func findForeignKey(_ key: PropertyKey, _ storage: RelationshipStorage, exactly: Bool) {
        guard layout.relationshipStorage[key] == nil else { return }
        let name = key.property.uppercased()
        switch storage {
        case .foreignKey(_, let column, let entityColumn, let orderColumn):
            guard let table = table(of: key.entity) else { return }
            let pattern = ColumnPattern("Z", name)
            guard let found = take(column, for: key, in: table, exactly: exactly, like: pattern) else { return }
            layout.relationshipStorage[key] = .foreignKey(
                table: table.name, column: found.name,
                entityColumn: companion(entityColumn, of: key, in: table, like: ColumnPattern("Z#_", name)),
                orderColumn: companion(orderColumn, of: key, in: table, like: ColumnPattern("Z_FOK_", name)))
        case .inverseless(_, let column):
            guard let destination = layout.model.relationship(key.property, of: key.entity)?.destinationEntity,
                let table = table(of: destination)
            else { return }
            let pattern = ColumnPattern("Z#", name)
            guard let found = take(column, for: key, in: table, exactly: exactly, like: pattern) else { return }
            layout.relationshipStorage[key] = .inverseless(table: table.name, column: found.name)
        case .inverseForeignKey, .join: break
        }
    }

    /// Finds the column beside a foreign key, if the model requires one.
    private mutating func companion(
        _ name: String?, of key: PropertyKey, in table: StoreCatalog.Table, like pattern: ColumnPattern
    ) -> String? {
        guard let name else { return nil }
        return take(name, for: key, in: table, exactly: false, like: pattern, noted: " \(name)")?.name
    }

    private func table(of entity: String) -> StoreCatalog.Table? {
        layout.table(of: entity).flatMap { catalog.table($0.name) }
    }

    /// Takes a free column of a property; unless its name must be exact, notes that it is missing.
    private mutating func take(
        _ name: String, for key: PropertyKey, in table: StoreCatalog.Table, exactly: Bool, like pattern: ColumnPattern,
        noted: String = ""
    ) -> Column? {
        let used = taken[table.name] ?? []
        var found = table.column(name).flatMap { used.contains($0.name) ? nil : $0 }
        if found == nil, !exactly {
            found = table.columns.first { !used.contains($0.name) && pattern.matches($0.name) }
        }
        if let found {
            taken[table.name, default: []].insert(found.name)
        } else if !exactly {
            note("The table \(table.name) has no column\(noted) for \(key.title).", key)
        }
        return found
    }

    // MARK: Join tables

    private mutating func findJoinTables() {
        for table in expected.joinTables {
            guard let found = JoinTableFinder(table, in: expected, catalog: catalog).find() else {
                let key = table.relationship
                note("The store has no join table for \(key.title) (\(table.name) in a new store).", key)
                continue
            }
            layout.joinTables.append(found)
            layout.setJoinStorage(of: found)
        }
    }

    private mutating func note(_ message: String, _ key: PropertyKey) {
        missing.append(
            FerryError(
                .damagedSource, message,
                remedy: """
                    Check that the model is the store's own. Then create what is missing with \(on: .missingParts), or restore the \
                    store from a backup.
                    """,
                place: .init(entity: key.entity, property: key.property.isEmpty ? nil : key.property)))
    }
}

extension PropertyKey: Comparable {
    /// By entity, then by property.
    package static func < (left: PropertyKey, right: PropertyKey) -> Bool {
        left.entity == right.entity
            ? codeUnitOrder(left.property, right.property) : codeUnitOrder(left.entity, right.entity)
    }
}

/// A search for the table of a many-to-many relationship in a store.
///
/// Either side may name the table, and its names may have other entity numbers or suffixes than the computed ones.
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
        // Several candidates are ambiguous.
        return candidates.count == 1 ? candidates[0] : nil
    }

    /// Returns the join table with the names of `candidate`, or nil if that lacks columns.
    private func matched(_ candidate: StoreCatalog.Table) -> JoinTable? {
        guard candidate.keyColumns.count == 2 else { return nil }
        var found = table
        found.name = candidate.name
        if table.isReflexive {
            guard let second = candidate.column("REFLEXIVE"),
                let first = candidate.keyColumns.first(where: { $0 != second.name }),
                ManagedObjectModel.isName(first)
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

    /// Returns the columns with the naming entity's key (named after the inverse) and with the other key.
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

/// A pattern of column or table names: a prefix, a property's name, and an optional suffix of digits.
struct ColumnPattern {
    /// Upper case; `#` matches an entity number.
    private let prefix: String
    private let name: String

    init(_ prefix: String, _ name: String) {
        self.prefix = prefix
        self.name = name.uppercased()
    }

    func matches(_ candidate: String) -> Bool {
        var rest = candidate.uppercased()[...]
        for part in prefix.split(separator: "#", omittingEmptySubsequences: false).enumerated() {
            if part.offset > 0 {
                let digits = rest.prefix(while: \.isASCIIDigit)
                guard !digits.isEmpty else { return false }
                rest = rest.dropFirst(digits.count)
            }
            guard rest.hasPrefix(part.element) else { return false }
            rest = rest.dropFirst(part.element.count)
        }
        return rest.hasPrefix(name) && rest.dropFirst(name.count).allSatisfy(\.isASCIIDigit)
    }
}

extension Character {
    fileprivate var isASCIIDigit: Bool { ("0"..."9").contains(self) }
}
