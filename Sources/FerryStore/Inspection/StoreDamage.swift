package import FerryBase
internal import FerryModel
package import FerrySQLite

/// One kind of damage in one entity, with how many rows have it.
package struct StoreDamage: Sendable, Hashable, Codable {
    package enum Kind: String, Sendable, Hashable, CaseIterable, Codable {
        /// A foreign key or a row of a join table that leads to no row, or to one of another entity than is declared.
        case danglingKey
        /// A one-to-one relationship whose other side does not lead back.
        case oneSidedInverse
        /// The number of an entity beside a key that is not the one of the row to which the key leads.
        case wrongEntity
        /// No position in an ordered relationship.
        case missingOrder
        /// NULL in a mandatory attribute.
        case missingValue
        /// A `Z_ENT` that is no entity of the table.
        case unknownEntity
        /// A `Z_MAX` below the highest key.
        case lowMaximumKey
        /// A value that names an external file which is not there.
        case missingFile
    }

    package var kind: Kind
    package var entity: String
    package var property: String?
    package var rows: Int64

    /// Looks for damage in every row of a store; takes one scan of each table and a look-up per key.
    ///
    /// Mandatory attributes are not looked at where another check does that, nor entity numbers in sound tables, whose rows
    /// are known to be all of entities that belong there.
    ///
    /// - Returns: What was found, by kind, entity and property; kinds without a row are left out.
    package static func scan(
        _ layout: StoreLayout, on connection: Connection, missingValues: Bool = true, soundTables: Set<String> = [],
        walk: PageWalk? = nil
    ) throws(DatabaseError) -> [StoreDamage] {
        var scan = DamageScan(layout: layout, connection: connection, schema: "main", walk: walk)
        try scan.findBrokenLinks()
        for table in layout.tablesInOrder where try scan.hasRows(table.name) {
            let isSound = soundTables.contains(table.name)
            try scan.findDamagedRows(of: table, missingValues: missingValues, areKindsSound: isSound)
            try scan.findLowMaximumKey(of: table)
        }
        return scan.found
    }

    /// Looks only at relationships: what must be known before keys are copied as they are.
    package static func brokenLinks(
        in layout: StoreLayout, on connection: Connection, schema: String = "main"
    ) throws(DatabaseError) -> [StoreDamage] {
        var scan = DamageScan(layout: layout, connection: connection, schema: schema)
        try scan.findBrokenLinks()
        return scan.found
    }

    /// Looks for values that name a file which the store does not have: one finding per attribute, by entity and property.
    ///
    /// - Throws: ``DatabaseError``, ``FerryError``.
    package static func missingFiles(
        in layout: StoreLayout, of store: String, on connection: Connection, files: FileLayer
    ) throws -> [StoreDamage] {
        let folder = ExternalData.folder(forStore: store)
        var found: [StoreDamage] = []
        for (key, _) in ExternalData.attributes(of: layout) {
            var missing: Int64 = 0
            try ExternalData.forEachReference(of: key, in: layout, on: connection) { name in
                if try !files.exists(folder + "/" + name) { missing += 1 }
            }
            if missing > 0 {
                found.append(
                    StoreDamage(kind: .missingFile, entity: key.entity, property: key.property, rows: missing))
            }
        }
        return found
    }
}

/// What becomes of rows that no rule heals: of an unknown entity, or without a value that they must have.
package enum DamagedRows: String, Sendable, Hashable, CaseIterable {
    /// They go along as they are, where the new version can hold them.
    case keep
    /// They are left out, with the links to them, and counted.
    case drop
    /// Nothing is done as long as there are any.
    case refuse
}

/// The statements that look for damage: one pass over each table that has rows, and one over each of its keys.
private struct DamageScan {
    let layout: StoreLayout
    let connection: Connection
    let schema: String
    /// Has seen which keys there are, where the store's pages were walked over.
    var walk: PageWalk?
    var found: [StoreDamage] = []

    // MARK: Relationships

    /// What is wrong with keys, the entities and the positions beside them, and inverses.
    mutating func findBrokenLinks() throws(DatabaseError) {
        for (key, storage) in layout.relationshipStorage.sorted(by: { $0.key < $1.key }) {
            guard let relationship = layout.model.relationship(key.property, of: key.entity) else { continue }
            switch storage {
            case .foreignKey(let table, let column, let entityColumn, let orderColumn):
                var more: [(StoreDamage.Kind, String)] = []
                if let inverse = inverseColumn(of: relationship, key) {
                    more.append((.oneSidedInverse, "b.Z_PK IS NOT NULL AND b.\(inverse) IS NOT a.Z_PK"))
                }
                if let entityColumn {
                    more.append((.wrongEntity, "b.Z_PK IS NOT NULL AND a.\(entityColumn) IS NOT b.Z_ENT"))
                }
                if let orderColumn { more.append((.missingOrder, "a.\(orderColumn) IS NULL")) }
                try count(key, in: table, column, to: relationship.destinationEntity, more)
            case .inverseless(let table, let column): try count(key, in: table, column, to: key.entity, [])
            case .join(let table, let own, let other, let otherOrder, let ownOrder):
                // Both sides would count the same rows; the naming side does.
                guard layout.joinTables.contains(where: { $0.name == table && $0.relationship == key }) else {
                    continue
                }
                try countLinks(
                    key, in: table, (own, key.entity), (other, relationship.destinationEntity),
                    orders: [otherOrder, ownOrder].compactMap { $0 })
            case .inverseForeignKey: break
            }
        }
    }

    /// Where only the column is read, its index gives the keys in order, and the rows they lead to are met in order too.
    private mutating func count(
        _ key: PropertyKey, in table: String, _ column: String, to entity: String,
        _ more: [(StoreDamage.Kind, String)]
    ) throws(DatabaseError) {
        guard let target = layout.table(of: entity), try hasRows(table) else { return }
        if more.isEmpty, let range = wholeRange(of: entity, in: target.name) {
            return append(.danglingKey, key, rows: try leadingNowhere(column, of: table, range))
        }
        try add(
            [(.danglingKey, "b.Z_PK IS NULL")] + more, key,
            from: "\(quoted(table)) AS a LEFT JOIN \(quoted(target.name)) AS b "
                + "ON b.Z_PK = a.\(column) AND \(isKind("b", of: entity)) WHERE a.\(column) IS NOT NULL")
    }

    private mutating func countLinks(
        _ key: PropertyKey, in table: String, _ own: (column: String, entity: String),
        _ other: (column: String, entity: String), orders: [String]
    ) throws(DatabaseError) {
        guard let ownTable = layout.table(of: own.entity), let otherTable = layout.table(of: other.entity),
            try hasRows(table)
        else { return }
        if !orders.isEmpty {
            let missing = orders.map { "a.\($0) IS NULL" }.joined(separator: " OR ")
            try add([(.missingOrder, missing)], key, from: "\(quoted(table)) AS a")
        }
        // Each column by its own index gives the keys in order; only where something is broken are both looked at.
        var isBroken = false
        for (side, target) in [(own, ownTable), (other, otherTable)] where !isBroken {
            if let range = wholeRange(of: side.entity, in: target.name) {
                isBroken = try leadingNowhere(side.column, of: table, range) > 0
            } else {
                let broken = try connection.integer(
                    "SELECT sum(b.Z_PK IS NULL) FROM \(quoted(table)) AS a LEFT JOIN \(quoted(target.name)) AS b "
                        + "ON b.Z_PK = a.\(side.column) AND \(isKind("b", of: side.entity)) "
                        + "WHERE a.\(side.column) IS NOT NULL")
                isBroken = (broken ?? 0) > 0
            }
            if !isBroken { isBroken = try hasNull(side.column, of: table) }
        }
        guard isBroken else { return }
        try add(
            [(.danglingKey, "b.Z_PK IS NULL OR c.Z_PK IS NULL")], key,
            from: "\(quoted(table)) AS a LEFT JOIN \(quoted(ownTable.name)) AS b "
                + "ON b.Z_PK = a.\(own.column) AND \(isKind("b", of: own.entity)) "
                + "LEFT JOIN \(quoted(otherTable.name)) AS c "
                + "ON c.Z_PK = a.\(other.column) AND \(isKind("c", of: other.entity))")
    }

    private func hasNull(_ column: String, of table: String) throws(DatabaseError) -> Bool {
        try connection.integer("SELECT 1 FROM \(quoted(table)) WHERE \(column) IS NULL LIMIT 1") != nil
    }

    /// The keys of a table whose rows are all of an entity or below it, where none is missing between the first and the
    /// last: what leads there needs no look-up.
    private func wholeRange(of entity: String, in table: String) -> ClosedRange<Int64>? {
        guard let range = walk?.wholeRanges[table], let tally = walk?.tallies[table] else { return nil }
        let family = Set(layout.numbers(ofFamily: entity))
        return family.isSuperset(of: tally.rows.keys) ? range : nil
    }

    /// Rows whose key is none of a range; where the walk has not seen that there is none, the column's index alone is
    /// read, if it has one.
    private func leadingNowhere(
        _ column: String, of table: String, _ range: ClosedRange<Int64>
    ) throws(DatabaseError) -> Int64 {
        if walk?.tallies[table]?.holds(column, within: range) == true { return 0 }
        return try connection.integer(
            "SELECT count(*) FROM \(quoted(table)) WHERE \(column) IS NOT NULL "
                + "AND (typeof(\(column)) <> 'integer' OR \(column) < ? OR \(column) > ?)",
            [.integer(range.lowerBound), .integer(range.upperBound)]) ?? 0
    }

    /// The key on the other side of a one-to-one relationship.
    private func inverseColumn(of relationship: Relationship, _ key: PropertyKey) -> String? {
        guard let inverse = relationship.inverseName,
            layout.model.declaringEntity(of: inverse, in: relationship.destinationEntity)
                .map({ PropertyKey($0, inverse) }) != key,
            case .foreignKey(_, let column, _, _)? = layout.storage(of: inverse, in: relationship.destinationEntity)
        else { return nil }
        return column
    }

    // MARK: Rows

    /// Entity numbers and mandatory attributes of a table in one scan.
    mutating func findDamagedRows(
        of table: EntityTable, missingValues: Bool, areKindsSound: Bool
    ) throws(DatabaseError) {
        var counts: [(PropertyKey, String)] = []
        if !areKindsSound {
            counts.append((PropertyKey(table.root, ""), "a.Z_ENT IS NULL OR NOT \(isKind("a", of: table.root))"))
        }
        for (key, column) in layout.attributeColumns.sorted(by: { $0.key < $1.key })
        where missingValues && layout.model.root(of: key.entity) == table.root {
            guard let attribute = layout.model.attribute(key.property, of: key.entity), !attribute.isOptional,
                !attribute.isDerived
            else { continue }
            counts.append((key, "\(EmptyValues.condition([column.name])) AND \(isKind("a", of: key.entity))"))
        }
        guard !counts.isEmpty else { return }
        let sums = counts.map { EmptyValues.sum(where: $0.1) }.joined(separator: ", ")
        let row = try connection.rows("SELECT \(sums) FROM \(quoted(table.name)) AS a").first ?? []
        for ((key, _), count) in zip(counts, row) {
            let kind: StoreDamage.Kind = key.property.isEmpty ? .unknownEntity : .missingValue
            append(kind, key, rows: count.integer ?? 0)
        }
    }

    mutating func findLowMaximumKey(of table: EntityTable) throws(DatabaseError) {
        guard let number = layout.entityNumbers[table.root] else { return }
        let highest = try connection.integer("SELECT max(Z_PK) FROM \(quoted(table.name))") ?? 0
        let stored = try connection.integer(
            "SELECT Z_MAX FROM \(quoted("Z_PRIMARYKEY")) WHERE Z_ENT = ?", [.integer(number)])
        if (stored ?? 0) < highest { append(.lowMaximumKey, PropertyKey(table.root, ""), rows: 1) }
    }

    // MARK: SQL

    private mutating func add(
        _ counts: [(kind: StoreDamage.Kind, condition: String)], _ key: PropertyKey, from rows: String
    ) throws(DatabaseError) {
        let sums = counts.map { "ifnull(sum(\($0.condition)), 0)" }.joined(separator: ", ")
        guard let row = try connection.rows("SELECT \(sums) FROM \(rows)").first else { return }
        for (count, sum) in zip(counts, row) {
            append(count.kind, key, rows: sum.integer ?? 0)
        }
    }

    private mutating func append(_ kind: StoreDamage.Kind, _ key: PropertyKey, rows: Int64) {
        guard rows > 0 else { return }
        let property = key.property.isEmpty ? nil : key.property
        found.append(StoreDamage(kind: kind, entity: key.entity, property: property, rows: rows))
    }

    func hasRows(_ table: String) throws(DatabaseError) -> Bool {
        try connection.integer("SELECT 1 FROM \(quoted(table)) LIMIT 1") != nil
    }

    private func quoted(_ table: String) -> String { SQLName.quoted(schema, table) }

    /// Whether a row is of an entity or of one below it.
    private func isKind(_ alias: String, of entity: String) -> String {
        let numbers = layout.numbers(ofFamily: entity)
        // Numbers of a family stand together where Core Data gave them, and a range is quicker than a list.
        if let first = numbers.first, let last = numbers.last,
            last.subtractingReportingOverflow(first) == (Int64(numbers.count - 1), false)
        {
            return "\(alias).Z_ENT BETWEEN \(first) AND \(last)"
        }
        return numbers.rowCondition("\(alias).")
    }
}
