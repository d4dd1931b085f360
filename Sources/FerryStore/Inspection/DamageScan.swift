internal import FerryModel
internal import FerrySQLite

/// The statements that look for damage.
struct DamageScan {
    let layout: StoreLayout
    let connection: Connection
    let schema: String
    private(set) var found: [StoreDamage] = []

    init(layout: StoreLayout, connection: Connection, schema: String) {
        self.layout = layout
        self.connection = connection
        self.schema = schema
    }

    mutating func run() throws(DatabaseError) {
        let relationships = layout.relationshipStorage.sorted { $0.key < $1.key }
        for (key, storage) in relationships { try findDanglingKeys(of: key, storage) }
        for (key, storage) in relationships { try findOneSidedInverses(of: key, storage) }
        for table in layout.tablesInOrder { try findMissingValues(in: table) }
        for table in layout.tablesInOrder { try findUnknownEntities(in: table) }
        for table in layout.tablesInOrder { try findLowMaximumKey(of: table) }
    }

    // MARK: Relationships

    private mutating func findDanglingKeys(of key: PropertyKey, _ storage: RelationshipStorage) throws(DatabaseError) {
        guard let relationship = layout.model.relationship(key.property, of: key.entity),
            let own = layout.table(of: key.entity), let other = layout.table(of: relationship.destinationEntity)
        else { return }
        switch storage {
        case .foreignKey(_, let column, _, _):
            try add(
                .danglingKey, key,
                count: "\(quoted(own.name)) AS a WHERE a.\(column) IS NOT NULL AND \(isKind("a", of: key.entity)) "
                    + "AND NOT EXISTS (SELECT 1 FROM \(quoted(other.name)) AS b WHERE b.Z_PK = a.\(column))")
        case .inverseless(let table, let column):
            try add(
                .danglingKey, key,
                count: "\(quoted(table)) AS a WHERE a.\(column) IS NOT NULL "
                    + "AND NOT EXISTS (SELECT 1 FROM \(quoted(own.name)) AS b WHERE b.Z_PK = a.\(column))")
        case .join(let table, let ownColumn, let otherColumn, _, _):
            // Both sides would count the same rows; the naming side does.
            guard layout.joinTables.contains(where: { $0.name == table && $0.relationship == key }) else { return }
            try add(
                .danglingKey, key,
                count: "\(quoted(table)) AS a "
                    + "WHERE NOT EXISTS (SELECT 1 FROM \(quoted(own.name)) AS b WHERE b.Z_PK = a.\(ownColumn)) "
                    + "OR NOT EXISTS (SELECT 1 FROM \(quoted(other.name)) AS b WHERE b.Z_PK = a.\(otherColumn))")
        case .inverseForeignKey: break
        }
    }

    private mutating func findOneSidedInverses(
        of key: PropertyKey, _ storage: RelationshipStorage
    ) throws(DatabaseError) {
        guard case .foreignKey(let table, let column, _, _) = storage,
            let relationship = layout.model.relationship(key.property, of: key.entity),
            let inverse = relationship.inverseName,
            case .foreignKey(let otherTable, let otherColumn, _, _)? = layout.storage(
                of: inverse, in: relationship.destinationEntity)
        else { return }
        try add(
            .oneSidedInverse, key,
            count: "\(quoted(table)) AS a JOIN \(quoted(otherTable)) AS b ON b.Z_PK = a.\(column) "
                + "WHERE \(isKind("a", of: key.entity)) AND b.\(otherColumn) IS NOT a.Z_PK")
    }

    // MARK: Rows

    /// All mandatory attributes of a table in one scan.
    private mutating func findMissingValues(in table: EntityTable) throws(DatabaseError) {
        let mandatory = layout.attributeColumns.sorted { $0.key < $1.key }.filter { key, _ in
            guard layout.model.root(of: key.entity) == table.root,
                let attribute = layout.model.attribute(key.property, of: key.entity)
            else { return false }
            return !attribute.isOptional && !attribute.isDerived
        }
        guard !mandatory.isEmpty else { return }
        let sums = mandatory.map { "sum(a.\($0.value.name) IS NULL AND \(isKind("a", of: $0.key.entity)))" }
        let counts = try connection.prepare("SELECT \(sums.joined(separator: ", ")) FROM \(quoted(table.name)) AS a")
        guard try counts.step() else { return }
        for (position, attribute) in mandatory.enumerated() {
            found.append(
                StoreDamage(
                    kind: .missingValue, entity: attribute.key.entity, property: attribute.key.property,
                    rows: counts.integer(position)))
        }
        counts.reset()
    }

    private mutating func findUnknownEntities(in table: EntityTable) throws(DatabaseError) {
        try add(
            .unknownEntity, PropertyKey(table.root, ""),
            count: "\(quoted(table.name)) AS a WHERE a.Z_ENT IS NULL OR NOT \(isKind("a", of: table.root))")
    }

    private mutating func findLowMaximumKey(of table: EntityTable) throws(DatabaseError) {
        guard let number = layout.entityNumbers[table.root] else { return }
        let highest = try connection.integer("SELECT max(Z_PK) FROM \(quoted(table.name))") ?? 0
        let stored = try connection.integer(
            "SELECT Z_MAX FROM \(quoted("Z_PRIMARYKEY")) WHERE Z_ENT = ?", [.integer(number)])
        if (stored ?? 0) < highest {
            found.append(StoreDamage(kind: .lowMaximumKey, entity: table.root, property: nil, rows: 1))
        }
    }

    // MARK: SQL

    private mutating func add(
        _ kind: StoreDamage.Kind, _ key: PropertyKey, count rows: String
    ) throws(DatabaseError) {
        let count = try connection.integer("SELECT count(*) FROM \(rows)") ?? 0
        let property = key.property.isEmpty ? nil : key.property
        found.append(StoreDamage(kind: kind, entity: key.entity, property: property, rows: count))
    }

    private func quoted(_ table: String) -> String { SQLName.quoted(schema, table) }

    /// Whether a row is of an entity or of one below it.
    private func isKind(_ alias: String, of entity: String) -> String {
        let numbers = layout.model.family(of: entity).compactMap { layout.entityNumbers[$0] }.sorted()
        return "\(alias).Z_ENT IN (\(numbers.map(String.init).joined(separator: ", ")))"
    }
}
