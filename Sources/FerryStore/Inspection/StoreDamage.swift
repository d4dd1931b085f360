package import FerryBase
internal import FerryModel
package import FerrySQLite

extension StoreDamage {
    /// Finds damage in every row of a store, by one scan of each table and a look-up per key.
    ///
    /// `missingValues` is false if another check reads mandatory attributes; what an inspection has counted is not
    /// counted again. With `tables`, only the rows of these are scanned.
    ///
    /// - Returns: The damage by kind, entity and property, without kinds that have no rows.
    package static func scan(
        _ layout: StoreLayout, on connection: Connection, missingValues: Bool = true,
        inspection: StoreInspection? = nil, in tables: Set<String>? = nil
    ) throws(DatabaseError) -> [StoreDamage] {
        var scan = DamageScan(layout: layout, connection: connection, schema: "main", inspection: inspection)
        scan.tables = tables
        try scan.findBrokenLinks()
        for table in layout.tablesInOrder where tables?.contains(table.name) != false {
            guard try scan.hasRows(table.name) else { continue }
            let isSound = inspection?.soundTables.contains(table.name) == true
            try scan.findDamagedRows(of: table, missingValues: missingValues, areEntitiesSound: isSound)
            if missingValues { try scan.findWrongCounts(of: table) }
            try scan.findLowMaximumKey(of: table)
        }
        return scan.found
    }

    /// Finds damage in relationships, for steps that copy keys unchanged.
    package static func brokenLinks(
        in layout: StoreLayout, on connection: Connection, schema: String = "main"
    ) throws(DatabaseError) -> [StoreDamage] {
        var scan = DamageScan(layout: layout, connection: connection, schema: schema)
        try scan.findBrokenLinks()
        return scan.found
    }

    /// Finds values with names of missing external files: one result per attribute, by entity and property.
    ///
    /// - Throws: ``DatabaseError``, ``FerryError``.
    package static func missingFiles(
        in layout: StoreLayout, of store: String, on connection: Connection, files: FileLayer,
        tables: Set<String>? = nil
    ) throws -> [StoreDamage] {
        let folder = ExternalData.folder(forStore: store)
        var found: [StoreDamage] = []
        for (key, _) in ExternalData.attributes(of: layout)
        where layout.table(of: key.entity).map({ tables?.contains($0.name) != false }) != false {
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

/// A search for damage: one pass over each non-empty table, and one over each of its foreign keys.
private struct DamageScan {
    let layout: StoreLayout
    let connection: Connection
    let schema: String
    let inspection: StoreInspection?
    /// The tables whose rows are scanned; nil for all.
    var tables: Set<String>?
    var found: [StoreDamage] = []
    /// The columns of mandatory attributes and to-one relationships, by root entity; found once, since a model may have hundreds of tables.
    private lazy var mandatory: [String: [(key: PropertyKey, column: String)]] = {
        let columns = layout.attributeColumns.inOrder { $0.key < $1.key }.filter { key, _ in
            guard let attribute = layout.model.attribute(key.property, of: key.entity) else { return false }
            return !attribute.isOptional && !attribute.isDerived
        }
        var all = columns.map { (key: $0.key, column: $0.value.name) }
        for (key, storage) in layout.relationshipStorage.inOrder(by: { $0.key < $1.key }) {
            guard case .foreignKey(_, let column, _, _) = storage,
                let relationship = layout.model.relationship(key.property, of: key.entity), !relationship.isOptional
            else { continue }
            all.append((key: key, column: column))
        }
        return Dictionary(grouping: all) { layout.model.root(of: $0.key.entity) }
    }()

    init(layout: StoreLayout, connection: Connection, schema: String, inspection: StoreInspection? = nil) {
        (self.layout, self.connection, self.schema, self.inspection) = (layout, connection, schema, inspection)
    }

    // MARK: Relationships

    /// Finds damage in keys, in the entity numbers and positions beside them, and in inverses.
    mutating func findBrokenLinks() throws(DatabaseError) {
        for (key, storage) in layout.relationshipStorage.inOrder(by: { $0.key < $1.key }) {
            guard let relationship = layout.model.relationship(key.property, of: key.entity) else { continue }
            switch storage {
            case .foreignKey(let table, let column, let entityColumn, let orderColumn):
                var more: [(DamageKind, String)] = []
                if let inverse = inverseColumn(of: relationship, key) {
                    more.append((.oneSidedInverse, "b.Z_PK IS NOT NULL AND b.\(inverse) IS NOT a.Z_PK"))
                }
                if let entityColumn {
                    more.append(
                        (
                            .wrongEntity,
                            "b.Z_PK IS NOT NULL AND a.\(entityColumn) IS NOT b.Z_ENT"
                                + (layout.isKind("a.", of: key.entity).map { " AND \($0)" } ?? "")
                        ))
                }
                if let orderColumn {
                    more.append((.missingOrder, "a.\(orderColumn) IS NULL"))
                    more.append((.wrongOrder, Self.isNoPosition("a.\(orderColumn)")))
                }
                try count(key, in: table, column, to: relationship.destinationEntity, more)
            case .inverseless(let table, let column): try count(key, in: table, column, to: key.entity, [])
            case .join(let table, let own, let other, let otherOrder, let ownOrder):
                // Both sides would count the same rows, so only the naming side counts.
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

    private mutating func count(
        _ key: PropertyKey, in table: String, _ column: String, to entity: String,
        _ more: [(DamageKind, String)]
    ) throws(DatabaseError) {
        guard tables?.contains(table) != false, let target = layout.table(of: entity), try hasRows(table) else {
            return
        }
        if more.isEmpty {
            return append(.danglingKey, key, rows: try danglingRows(column, of: table, to: entity, in: target.name))
        }
        try add(
            [(.danglingKey, "b.Z_PK IS NULL")] + more, key,
            from: "\(quoted(table)) AS a LEFT JOIN \(quoted(target.name)) AS b "
                + "ON b.Z_PK = a.\(column) AND \(isOfFamily("b", of: entity)) WHERE a.\(column) IS NOT NULL")
    }

    private mutating func countLinks(
        _ key: PropertyKey, in table: String, _ own: (column: String, entity: String),
        _ other: (column: String, entity: String), orders: [String]
    ) throws(DatabaseError) {
        guard tables?.contains(table) != false, let ownTable = layout.table(of: own.entity),
            let otherTable = layout.table(of: other.entity), try hasRows(table)
        else { return }
        if !orders.isEmpty {
            let missing = orders.map { "a.\($0) IS NULL" }.joined(separator: " OR ")
            let wrong = orders.map { Self.isNoPosition("a.\($0)") }.joined(separator: " OR ")
            try add([(.missingOrder, missing), (.wrongOrder, wrong)], key, from: "\(quoted(table)) AS a")
        }
        // The index of each column gives the keys in order; a query of both columns runs only after damage in one.
        var isBroken = false
        for (side, target) in [(own, ownTable), (other, otherTable)] where !isBroken {
            isBroken = try danglingRows(side.column, of: table, to: side.entity, in: target.name) > 0
            if !isBroken { isBroken = try hasNull(side.column, of: table) }
        }
        guard isBroken else { return }
        try add(
            [(.danglingKey, "b.Z_PK IS NULL OR c.Z_PK IS NULL")], key,
            from: "\(quoted(table)) AS a LEFT JOIN \(quoted(ownTable.name)) AS b "
                + "ON b.Z_PK = a.\(own.column) AND \(isOfFamily("b", of: own.entity)) "
                + "LEFT JOIN \(quoted(otherTable.name)) AS c "
                + "ON c.Z_PK = a.\(other.column) AND \(isOfFamily("c", of: other.entity))")
    }

    private static func isNoPosition(_ column: String) -> String { "typeof(\(column)) NOT IN ('integer', 'null')" }

    private func hasNull(_ column: String, of table: String) throws(DatabaseError) -> Bool {
        try connection.integer("SELECT 1 FROM \(quoted(table)) WHERE \(column) IS NULL LIMIT 1") != nil
    }

    /// Returns the rows whose key is that of no row of an entity or its subentities.
    ///
    /// A query of the column alone uses its index, if any, which gives keys and destination rows in order.
    private func danglingRows(
        _ column: String, of table: String, to entity: String, in target: String
    ) throws(DatabaseError) -> Int64 {
        guard let range = try wholeRange(of: target, entity) else {
            return try connection.integer(
                "SELECT sum(b.Z_PK IS NULL) FROM \(quoted(table)) AS a LEFT JOIN \(quoted(target)) AS b "
                    + "ON b.Z_PK = a.\(column) AND \(isOfFamily("b", of: entity)) WHERE a.\(column) IS NOT NULL") ?? 0
        }
        return try connection.integer(
            "SELECT count(*) FROM \(quoted(table)) WHERE \(column) IS NOT NULL "
                + "AND (typeof(\(column)) <> 'integer' OR \(column) < ? OR \(column) > ?)",
            [.integer(range.lowerBound), .integer(range.upperBound)]) ?? 0
    }

    /// The keys of a table without gaps and without other entities, to which keys need no look-up; nil for others.
    private func wholeRange(of table: String, _ entity: String) throws(DatabaseError) -> ClosedRange<Int64>? {
        guard let inspection, inspection.soundTables.contains(table) else { return nil }
        let present = inspection.entities.filter { $0.table == table && $0.rows != 0 }
        guard Set(layout.numbers(ofFamily: entity)).isSuperset(of: present.map(\.number)),
            let first = try connection.integer("SELECT min(Z_PK) FROM \(quoted(table))"),
            let last = try connection.integer("SELECT max(Z_PK) FROM \(quoted(table))"),
            last.subtractingReportingOverflow(first) == (present.reduce(-1) { $0 + ($1.rows ?? 0) }, false)
        else { return nil }
        return first...last
    }

    private func inverseColumn(of relationship: Relationship, _ key: PropertyKey) -> String? {
        guard let inverse = relationship.inverseName, layout.model.inverseKey(of: relationship) != key,
            case .foreignKey(_, let column, _, _)? = layout.storage(of: inverse, in: relationship.destinationEntity)
        else { return nil }
        return column
    }

    // MARK: Rows

    /// Finds wrong entity numbers and missing mandatory attributes of a table in one scan.
    mutating func findDamagedRows(
        of table: EntityTable, missingValues: Bool, areEntitiesSound: Bool
    ) throws(DatabaseError) {
        var counts: [(PropertyKey, String)] = []
        if !areEntitiesSound {
            counts.append(
                (PropertyKey(table.root, ""), "typeof(a.Z_ENT) <> 'integer' OR NOT \(isOfFamily("a", of: table.root))"))
        }
        for (key, column) in missingValues ? mandatory[table.root] ?? [] : [] {
            counts.append((key, "\(EmptyValues.condition([column])) AND \(isOfFamily("a", of: key.entity))"))
        }
        guard !counts.isEmpty else { return }
        let sums = counts.map { EmptyValues.count(where: $0.1) }.joined(separator: ", ")
        let row = try connection.rows("SELECT \(sums) FROM \(quoted(table.name)) AS a").first ?? []
        for ((key, _), count) in zip(counts, row) {
            let kind: DamageKind = key.property.isEmpty ? .unknownEntity : .missingValue
            append(kind, key, rows: count.integer ?? 0)
        }
    }

    /// Finds to-many relationships with too few or too many objects.
    mutating func findWrongCounts(of table: EntityTable) throws(DatabaseError) {
        for (key, storage) in layout.relationshipStorage.inOrder(by: { $0.key < $1.key })
        where layout.model.root(of: key.entity) == table.root {
            guard let relationship = layout.model.relationship(key.property, of: key.entity),
                let query = RelationshipLimits(relationship)?.violations(
                    of: storage, by: table.name, where: isOfFamily("a", of: key.entity), schema: schema)
            else { continue }
            append(.wrongCount, key, rows: try connection.integer(query) ?? 0)
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
        _ counts: [(kind: DamageKind, condition: String)], _ key: PropertyKey, from rows: String
    ) throws(DatabaseError) {
        let sums = counts.map { "ifnull(sum(\($0.condition)), 0)" }.joined(separator: ", ")
        guard let row = try connection.rows("SELECT \(sums) FROM \(rows)").first else { return }
        for (count, sum) in zip(counts, row) {
            append(count.kind, key, rows: sum.integer ?? 0)
        }
    }

    private mutating func append(_ kind: DamageKind, _ key: PropertyKey, rows: Int64) {
        guard rows > 0 else { return }
        let property = key.property.isEmpty ? nil : key.property
        found.append(StoreDamage(kind: kind, entity: key.entity, property: property, rows: rows))
    }

    func hasRows(_ table: String) throws(DatabaseError) -> Bool {
        try connection.integer("SELECT 1 FROM \(quoted(table)) LIMIT 1") != nil
    }

    private func quoted(_ table: String) -> String { SQLName.quoted(schema, table) }

    private func isOfFamily(_ alias: String, of entity: String) -> String {
        let numbers = layout.numbers(ofFamily: entity)
        // Core Data numbers a family consecutively, and a range is faster than a list.
        if let first = numbers.first, let last = numbers.last,
            last.subtractingReportingOverflow(first) == (Int64(numbers.count - 1), false)
        {
            return "\(alias).Z_ENT BETWEEN \(first) AND \(last)"
        }
        return numbers.rowCondition("\(alias).")
    }
}
