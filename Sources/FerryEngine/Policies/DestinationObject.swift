internal import FerryBase
internal import FerryExpression
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// An object of the new store, which a policy creates and changes.
///
/// SQLite writes changes with the current chunk, and memory keeps none: a policy may create any number of objects.
///
/// An object belongs to the thread that writes. Exclusivity checks are off: no access lasts while other code runs.
public final class DestinationObject {
    let manager: MigrationManager
    let writer: EntityWriter
    /// Its `Z_PK`.
    @exclusivity(unchecked) public private(set) var primaryKey: Int64
    public var entityName: String { writer.entity }

    /// Values that are not yet written, by column.
    let changes: ColumnChanges
    @exclusivity(unchecked) private var isNew = false
    @exclusivity(unchecked) private var version = Value.null
    /// The source row that gives a new object's values; nil for the model's defaults.
    @exclusivity(unchecked) private var row: DefaultPolicyRow?
    /// Whether the manager's list of unwritten objects has it.
    @exclusivity(unchecked) var isPending = false

    init(_ writer: EntityWriter, key: Int64, _ manager: MigrationManager) {
        self.writer = writer
        primaryKey = key
        changes = ColumnChanges(columns: writer.columns.count)
        self.manager = manager
    }

    /// Represents another object, after this one was written and released.
    func represent(_ key: Int64) { primaryKey = key }

    /// Represents a new object; `row` gives the values that are not set.
    func markInserted(version: Value, row: DefaultPolicyRow?) {
        isNew = true
        self.version = version
        // Mostly the row of the object that it represented before.
        if self.row !== row { self.row = row }
    }

    /// The value of an attribute.
    public func value(forKey key: String) throws -> MigrationValue {
        let known = try writer.attribute(key)
        let stored = try stored(at: known.place)
        if known.isExternal, case .blob(let bytes) = stored {
            return MigrationValue(raw: try manager.contents(ofExternal: bytes))
        }
        return MigrationValue(stored, of: known.type)
    }

    public func string(forKey key: String) throws -> String? { try value(forKey: key).string }
    public func integer(forKey key: String) throws -> Int64? { try value(forKey: key).integer }
    public func double(forKey key: String) throws -> Double? { try value(forKey: key).double }
    public func boolean(forKey key: String) throws -> Bool? { try value(forKey: key).boolean }

    /// Sets the value of an attribute.
    ///
    /// - Throws: `FerryError` when there is no such attribute, or when its type cannot hold the value.
    public func setValue(_ value: MigrationValue, forKey key: String) throws {
        let known = try writer.attribute(key)
        manager.mark(known, of: writer)
        guard let stored = value.stored(as: known.type, isExternal: known.isExternal) else {
            throw value.refusal(by: writer.attribute(known))
        }
        set(stored, at: known.place)
    }

    func set(_ value: consuming Value, at place: Int) {
        changes.set(value, at: place)
        if !isPending { manager.touch(self) }
    }

    private func stored(at place: Int) throws -> Value {
        if let changed = changes[place] { return changed }
        if isNew { return try row?.value(at: place) ?? writer.defaults[place] }
        let sql = "SELECT \(writer.columns[place]) FROM main.\(writer.table) WHERE Z_PK = ?1"
        return try manager.context.first(sql, for: primaryKey) { $0.value(0) } ?? .null
    }

    func write() throws {
        if isNew {
            isNew = false
            try writer.insert(key: primaryKey, version: version, changes, row)
        } else if !changes.isEmpty {
            let assignments = (0..<changes.count).map { "\(writer.columns[changes.place(at: $0)]) = ?\($0 + 2)" }
            let update = try manager.context.cached(
                "UPDATE main.\(writer.table) SET \(assignments.joined(separator: ", ")) WHERE Z_PK = ?1")
            try update.bind(primaryKey, at: 1)
            try changes.bind(to: update, from: 2, inOrder: true)
            try update.run()
        }
        changes.removeAll()
    }
}

/// Relationships. A relationship and its inverse are one: a change on either side sets both.
extension DestinationObject {
    /// The object at the end of a to-one relationship.
    public func object(forKey key: String) throws -> DestinationObject? {
        try objects(forKey: key, limit: 1).first
    }

    /// The objects at the end of a relationship, in their order if it has one, else by key.
    ///
    /// For a relationship with more objects than memory should hold, fetch from the inverse's side.
    public func objects(forKey key: String) throws -> [DestinationObject] { try objects(forKey: key, limit: nil) }

    /// Sets a to-one relationship; nil empties it.
    public func setObject(_ object: DestinationObject?, forKey key: String) throws {
        let (relationship, storage) = try relationship(key)
        guard case .foreignKey(_, let column, let entityColumn, let orderColumn) = storage else {
            throw problem(key, "is to-many", "Use addObject(_:forKey:), or set the inverse.")
        }
        if let object { try check(object, relationship) }
        mark(relationship)
        try emptyPartners(relationship, newPartner: object)
        set(object.map { .integer($0.primaryKey) } ?? .null, ofColumn: column)
        if let entityColumn { set(object.map { .integer($0.writer.number) } ?? .null, ofColumn: entityColumn) }
        // The relationships phase sets the position.
        if let orderColumn { set(.null, ofColumn: orderColumn) }
    }

    /// Adds an object to a to-many relationship, at its end if it is ordered.
    public func addObject(_ object: DestinationObject, forKey key: String) throws {
        let (relationship, storage) = try relationship(key)
        try check(object, relationship)
        mark(relationship)
        switch storage {
        case .foreignKey: try setObject(object, forKey: key)
        case .inverseForeignKey(_, let column, let entityColumn, let orderColumn):
            object.set(.integer(primaryKey), ofColumn: column)
            if let entityColumn { object.set(.integer(writer.number), ofColumn: entityColumn) }
            if let orderColumn {
                try manager.flush()
                let last = try manager.context.single(
                    "SELECT max(\(orderColumn)) FROM main.\(object.writer.table) WHERE \(column) = ?1"
                        + manager.rowsToCome.condition(on: object.writer.table),
                    [.integer(primaryKey)])
                guard let position = OrderKeys.next(after: last.integer) else {
                    throw FerryError(
                        .rowFailed,
                        "\(writer.root) \(primaryKey) cannot take another object in \(key): the last one has the highest of "
                            + "all positions.", place: .init(entity: writer.root, property: key, primaryKey: primaryKey)
                    )
                }
                object.set(.integer(position), ofColumn: orderColumn)
            }
        case .inverseless(let table, let column):
            try manager.flush()
            try manager.context.run(
                "UPDATE main.\(table) SET \(column) = ?1 WHERE Z_PK = ?2",
                [.integer(primaryKey), .integer(object.primaryKey)])
        case .join(let table, let own, _, _, _):
            let link = try link(table, own)
            try manager.context.run(
                """
                INSERT INTO \(link.links) (\(link.own), \(link.other)) SELECT ?1, ?2 WHERE NOT EXISTS
                    (SELECT 1 FROM \(link.links) WHERE \(link.own) = ?1 AND \(link.other) = ?2)
                """, [.integer(primaryKey), .integer(object.primaryKey)])
        }
    }

    /// Removes an object from a relationship.
    public func removeObject(_ object: DestinationObject, forKey key: String) throws {
        let (relationship, storage) = try relationship(key)
        mark(relationship)
        try manager.flush()
        guard case .foreignKey = storage else { return try unlink(object, storage) }
        if try self.object(forKey: key)?.primaryKey == object.primaryKey { try setObject(nil, forKey: key) }
    }

    /// Sets a to-many relationship, in this order if it is ordered.
    public func setObjects(_ objects: [DestinationObject], forKey key: String) throws {
        let (relationship, storage) = try relationship(key)
        mark(relationship)
        try manager.flush()
        if case .foreignKey = storage { return try setObject(objects.first, forKey: key) }
        try unlink(nil, storage)
        for object in objects { try addObject(object, forKey: key) }
    }

    /// Removes an object, or all objects if nil, from a to-many relationship.
    private func unlink(_ object: DestinationObject?, _ storage: RelationshipStorage) throws {
        let context = manager.context
        let keys = [Value.integer(primaryKey)] + (object.map { [.integer($0.primaryKey)] } ?? [])
        let only = { (column: String) in object == nil ? "" : " AND \(column) = ?2" }
        let isFound = { [manager] (table: String) in manager.rowsToCome.condition(on: table) }
        switch storage {
        case .foreignKey: break
        case .inverseForeignKey(let table, let column, _, _), .inverseless(let table, let column):
            let emptied = (storage.columnNames as [String?]).emptied
            try context.run(
                "UPDATE main.\(table) SET \(emptied) WHERE \(column) = ?1\(only("Z_PK"))\(isFound(table))", keys)
        case .join(let table, let own, _, _, _):
            let link = try link(table, own)
            try context.run("DELETE FROM \(link.links) WHERE \(link.own) = ?1\(only(link.other))", keys)
        }
    }

    // MARK: Storage

    private func objects(forKey key: String, limit: Int64?) throws -> [DestinationObject] {
        let (relationship, storage) = try relationship(key)
        try manager.flush()
        let target = relationship.destinationEntity
        let table = manager.rowsToCome.others(
            in: try manager.context.destination.knownTable(of: target, in: "new"))
        let (from, order): (String, String)
        switch storage {
        case .foreignKey(_, let column, _, _):
            from = "main.\(writer.table) AS s JOIN \(table) AS t ON t.Z_PK = s.\(column) WHERE s.Z_PK = ?1"
            order = "t.Z_PK"
        case .inverseForeignKey(_, let column, _, let orderColumn):
            from = "\(table) AS t WHERE t.\(column) = ?1"
            order = orderColumn.map { "t.\($0) IS NULL, t.\($0), t.Z_PK" } ?? "t.Z_PK"
        case .inverseless(_, let column):
            from = "\(table) AS t WHERE t.\(column) = ?1"
            order = "t.Z_PK"
        case .join(let name, let own, _, let otherOrder, _):
            let link = try link(name, own)
            from = "\(link.links) AS l JOIN \(table) AS t ON t.Z_PK = l.\(link.other) WHERE l.\(link.own) = ?1"
            // Until the join table is filled, links without a position come last.
            let position = "l.\(link.other)Order"
            order = otherOrder == nil ? "t.Z_PK" : "\(position) IS NULL, \(position), l.rowid"
        }
        let statement = try manager.context.connection.prepare(
            "SELECT t.Z_PK, t.Z_ENT FROM \(from) GROUP BY t.Z_PK ORDER BY \(order) LIMIT \(limit ?? -1)")
        try statement.bind(primaryKey, at: 1)
        var objects: [DestinationObject] = []
        while try statement.step() {
            objects.append(try manager.destinationObject(number: statement.integer(1), key: statement.integer(0)))
        }
        return objects
    }

    /// Records that a policy sets a relationship and its inverse.
    private func mark(_ relationship: Relationship) {
        let model = manager.context.destination.model
        for case let key? in [model.key(of: relationship.name, in: entityName), model.inverseKey(of: relationship)] {
            manager.mark(key.title)
        }
    }

    private func set(_ value: Value, ofColumn column: String) {
        if let place = writer.places[column] { set(value, at: place) }
    }

    /// Sets the keys of former partners to NULL, and the new partner's key: both sides of a one-to-one hold one.
    private func emptyPartners(_ relationship: Relationship, newPartner: DestinationObject?) throws {
        guard let inverse = relationship.inverseName,
            case .foreignKey(let table, let column, let entityColumn, _)? = manager.context.destination.storage(
                of: inverse, in: relationship.destinationEntity),
            case .foreignKey(let ownTable, let ownColumn, let ownEntityColumn, _)? =
                manager.context.destination.storage(of: relationship.name, in: entityName)
        else { return }
        try manager.flush()
        let emptied = [column, entityColumn].emptied
        try manager.context.run("UPDATE main.\(table) SET \(emptied) WHERE \(column) = ?1", [.integer(primaryKey)])
        guard let newPartner else { return }
        let ownEmptied = [ownColumn, ownEntityColumn].emptied
        try manager.context.run(
            "UPDATE main.\(ownTable) SET \(ownEmptied) WHERE \(ownColumn) = ?1", [.integer(newPartner.primaryKey)])
        newPartner.set(.integer(primaryKey), ofColumn: column)
        if let entityColumn { newPartner.set(.integer(writer.number), ofColumn: entityColumn) }
    }

    /// The scratch table of a join table's links, with the columns of this side and the other side.
    private func link(_ table: String, _ own: String) throws -> (links: String, own: String, other: String) {
        guard let join = manager.context.destination.joinTables.first(where: { $0.name == table }) else {
            throw FerryError(.internalError, "The new store has no join table \(table).")
        }
        let isFirst = own == join.firstColumn
        return (ScratchTables.links(of: join), isFirst ? "first" : "second", isFirst ? "second" : "first")
    }

    private func relationship(_ key: String) throws(FerryError) -> (Relationship, RelationshipStorage) {
        let layout = manager.context.destination
        if let relationship = layout.model.relationship(key, of: entityName),
            let storage = layout.storage(of: key, in: entityName)
        {
            return (relationship, storage)
        }
        throw problem(
            key, "is not a stored relationship",
            NearNames.remedy(
                for: key, among: layout.model.relationships(of: entityName).map(\.name),
                otherwise: "Name a relationship of the new model."))
    }

    private func check(_ object: DestinationObject, _ relationship: Relationship) throws(FerryError) {
        guard manager.context.destination.model.isKind(object.entityName, of: relationship.destinationEntity) else {
            throw problem(
                relationship.name, "leads to \(relationship.destinationEntity), not to \(object.entityName)",
                "Give it an object of \(relationship.destinationEntity).")
        }
    }

    private func problem(_ key: String, _ problem: String, _ remedy: String) -> FerryError {
        FerryError(
            .badMapping, "A migration policy relates \(entityName).\(key), which \(problem).", remedy: remedy,
            place: .init(entity: entityName, property: key))
    }
}
