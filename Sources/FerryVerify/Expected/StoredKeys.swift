internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// The keys of a stored relationship in one column of a store, with the queries that check them.
struct StoredKeys: Sendable {
    let relationship: PropertyKey
    /// The links, seen from the holders of the keys, which are in the column of `b`.
    private let links: StoredLinks
    /// The same, seen from the declaring side of a join table.
    private let declared: StoredLinks
    /// The table of the objects to which the keys lead, and the allowed `Z_ENT`, as an SQL list.
    let other: String
    private let otherNumbers: String
    /// Whether the keys are foreign keys of which, apart from the companion columns that ``TableTally`` counts, the only
    /// condition is that they lead to objects of some entities.
    let needOnlyTargets: Bool
    /// Whether the keys are those of one side of a one-to-one.
    let haveInverse: Bool
    /// A query without its columns, open to more conditions: keys that are wrong.
    let wrong: String
    /// The same for NULL keys with companion columns; nil without any.
    let alone: String?
    /// An order of the keys, in which SQLite reads the related rows in sequence; empty if theirs is that of the holders.
    let order: String

    var table: String { links.table }
    var column: String { links.b }
    /// The columns that a difference names.
    var holder: String { "o.\(declared.a)" }
    var value: String { "o.\(declared.b)" }

    /// All keys of the destination.
    static func all(in context: VerificationContext) -> [StoredKeys] {
        context.destination.relationshipStorage.keys.sorted().flatMap {
            of($0, in: context.destination, as: "destination")
        }
    }

    func place(of number: Int64) -> String {
        "\(table) \(declared.a) \(number)" + (links.areInRowsOfA ? " \(column)" : "")
    }

    /// Whether each key of the destination leads to a valid object; SQLite reads both in the order of the keys' index.
    func leadToObjects(on connection: Connection) throws -> Bool {
        let lost = try connection.value(
            """
            SELECT 1 FROM destination.\(table) o LEFT JOIN destination.\(other) t ON t.Z_PK = o.\(column)
            WHERE o.\(column) IS NOT NULL AND (t.Z_PK IS NULL OR t.Z_ENT NOT IN (\(otherNumbers)))
            ORDER BY o.\(column) LIMIT 1
            """)
        return lost == nil
    }

    // MARK: Kinds of storage

    /// The keys of a relationship in a store that is attached as `schema`.
    static func of(_ key: PropertyKey, in layout: StoreLayout, as schema: String) -> [StoredKeys] {
        guard let relationship = layout.model.relationship(key.property, of: key.entity),
            let storage = layout.relationshipStorage[key]
        else { return [] }
        let (links, ends) = (StoredLinks(storage), (key.entity, relationship.destinationEntity))
        let inverse = layout.model.inverseKey(of: relationship)
        let found: [StoredKeys?]
        switch storage {
        case .inverseForeignKey: found = []
        case .inverseless: found = [StoredKeys(key, links.reversed, from: ends.1, to: ends.0, in: layout, as: schema)]
        case .foreignKey:
            var back: String?
            if let inverse, inverse != key, case .foreignKey(_, let column, _, _)? = layout.relationshipStorage[inverse]
            {
                back = column
            }
            // With several entities, the object itself must be read.
            let leadToOneEntity = layout.model.family(of: ends.1).count == 1
            found = [
                StoredKeys(
                    key, links, from: ends.0, to: ends.1, back: back,
                    needOnlyTargets: back == nil && (links.entity == nil || leadToOneEntity), in: layout, as: schema)
            ]
        case .join:
            var turned = links.reversed
            turned.bOrder = nil
            found = [
                StoredKeys(key, links, from: ends.0, to: ends.1, in: layout, as: schema),
                // Another inverse has keys of its own.
                inverse == key
                    ? StoredKeys(key, turned, declared: links, from: ends.1, to: ends.0, in: layout, as: schema) : nil,
            ]
        }
        return found.compactMap { $0 }
    }

    /// Keys that `links`, seen from their holders of one entity, have of objects of another one; nil if that has no table.
    private init?(
        _ key: PropertyKey, _ links: StoredLinks, declared: StoredLinks? = nil, from owner: String, to target: String,
        back: String? = nil, needOnlyTargets: Bool = false, in layout: StoreLayout, as schema: String
    ) {
        guard let other = layout.table(of: target)?.name else { return nil }
        (relationship, self.links, self.declared, self.other) = (key, links, declared ?? links, other)
        (self.needOnlyTargets, haveInverse) = (needOnlyTargets, back != nil)
        otherNumbers = layout.numbers(ofFamily: target).sqlList
        let areInRows = links.areInRowsOfA
        let position = areInRows ? links.aOrder : links.bOrder
        var wrong = ["t.Z_PK IS NULL", "t.Z_ENT NOT IN (\(otherNumbers))"]
        // A row of another entity in the table does not have the relationship.
        if areInRows { wrong.append("o.Z_ENT NOT IN (\(layout.numbers(ofFamily: owner).sqlList))") }
        if let entity = links.entity { wrong.append("o.\(entity) IS NOT t.Z_ENT") }
        if let position { wrong.append("typeof(o.\(position)) <> 'integer'") }
        if let back { wrong.append("t.\(back) IS NOT o.Z_PK") }
        let rows = "FROM \(schema).\(links.table) o"
        self.wrong = """
            \(rows) LEFT JOIN \(schema).\(other) t ON t.Z_PK = o.\(links.b)
            WHERE \(areInRows ? "o.\(links.b) IS NOT NULL AND " : "")(\(wrong.joined(separator: " OR ")))
            """
        // Without a key, its companion columns must be NULL.
        let companions = (areInRows ? [links.entity, position] : []).compactMap { $0 }.map { "o.\($0) IS NOT NULL" }
        alone =
            companions.isEmpty
            ? nil : "\(rows) WHERE o.\(links.b) IS NULL AND (\(companions.joined(separator: " OR ")))"
        order = areInRows || position != nil ? "" : "ORDER BY o.\(links.b), o.\(links.a)"
    }
}
