internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// A relationship and its inverse, which are stored once, and the rules of all entity mappings that fill them.
///
/// `a` is the side that holds the key: the object with the foreign key, or the one in a join table's first column.
struct StoredRelation {
    enum Storage {
        /// A column in the table of `a`; the other side is to-many, or there is none.
        case foreignKey(table: String, column: String, orderColumn: String?)
        /// A column on both sides.
        case oneToOne(table: String, column: String, otherTable: String, otherColumn: String)
        /// `aOrder` is the position of `a` among the objects of a `b`, `bOrder` the position of `b` among those of an `a`.
        case join(table: String, a: String, b: String, aOrder: String?, bOrder: String?, isReflexive: Bool)
    }

    struct Rule {
        var mapping: ResolvedEntityMapping
        var relationship: ResolvedRelationship
        /// Whether the rule belongs to `b`, so that its objects come second in a pair.
        var isInverse: Bool
        /// Whether the rule's own relationship is to-many.
        var isToMany: Bool
        /// Whether it is what the source's other side says, which counts only where the two sides do not agree.
        var isEcho = false
    }

    /// The relationship as `a` declares it; for a to-many without inverse, as `b` declares it.
    var key: PropertyKey
    var storage: Storage
    /// By the position of their mappings.
    var rules: [Rule]

    /// All stored relationships of the destination, each with its inverse, in the order of names.
    static func all(in context: VerificationContext) throws -> [StoredRelation] {
        var relations: [StoredRelation] = []
        let keys = context.destination.relationshipStorage.keys.sorted {
            ($0.entity, $0.property) < ($1.entity, $1.property)
        }
        for key in keys {
            guard let relationship = context.destinationModel.relationship(key.property, of: key.entity),
                let storage = context.destination.relationshipStorage[key]
            else { continue }
            let inverse = StoredRelation.inverse(of: relationship, in: context.destinationModel)
            let relation: Storage
            switch storage {
            case .foreignKey(let table, let column, _, let orderColumn):
                if let inverse, inverse != key,
                    case .foreignKey(let otherTable, let otherColumn, _, _)? =
                        context.destination.relationshipStorage[inverse]
                {
                    // Of the two columns the first by name stands for the relation.
                    if (inverse.entity, inverse.property) < (key.entity, key.property) { continue }
                    relation = .oneToOne(
                        table: table, column: column, otherTable: otherTable, otherColumn: otherColumn)
                } else {
                    relation = .foreignKey(table: table, column: column, orderColumn: orderColumn)
                }
            case .inverseForeignKey: continue
            case .inverseless(let table, let column):
                relations.append(
                    StoredRelation(
                        key: key, storage: .foreignKey(table: table, column: column, orderColumn: nil),
                        rules: rules(for: key, isInverse: true, in: context)))
                continue
            case .join(let table, let own, let other, let otherOrder, let ownOrder):
                guard let joinTable = context.destination.joinTables.first(where: { $0.name == table }) else {
                    continue
                }
                if joinTable.firstColumn != own { continue }
                relation = .join(
                    table: table, a: own, b: other, aOrder: ownOrder, bOrder: otherOrder,
                    isReflexive: joinTable.isReflexive)
            }
            var rules = rules(for: key, isInverse: false, in: context)
            if let inverse, inverse != key { rules += StoredRelation.rules(for: inverse, isInverse: true, in: context) }
            rules.sort { $0.mapping.position < $1.mapping.position }
            if case .oneToOne = relation, let inverse {
                rules = rules.filter { [rules] in !isEcho($0, of: rules) }
                rules += echoes(of: rules, key, inverse, in: context)
            } else if case .join(_, _, _, _, _, isReflexive: false) = relation, let inverse {
                rules = try fromOneSide(rules, key, inverse, in: context)
            }
            relations.append(StoredRelation(key: key, storage: relation, rules: rules))
        }
        return relations
    }

    /// Whether a rule only says what one of the first side says too: mappings with policies may have both.
    private static func isEcho(_ rule: Rule, of rules: [Rule]) -> Bool {
        guard rule.isInverse, rule.mapping.policy != nil, rule.relationship.isAutomatic else { return false }
        return rules.contains { other in
            !other.isInverse && other.relationship.isAutomatic
                && other.relationship.mappings.contains(rule.mapping.name)
                && rule.relationship.mappings.contains(other.mapping.name)
        }
    }

    /// The rules of the side of a join table from which verification has less to look up, where either side's yield the
    /// same pairs: the source's join table tells the same from both.
    private static func fromOneSide(
        _ rules: [Rule], _ key: PropertyKey, _ inverse: PropertyKey, in context: VerificationContext
    ) throws -> [Rule] {
        let sides = [false, true].map { isInverse in rules.filter { $0.isInverse == isInverse } }
        let enough = [0, 1].first { side in
            !sides[side].isEmpty && sides[1 - side].allSatisfy { isRepeated($0, by: sides[side], in: context) }
        }
        guard let enough, let rule = sides[enough].first,
            let (relationship, _) = carriedLinks(rule, in: context),
            sides[enough].allSatisfy({ carriedLinks($0, in: context) != nil })
        else { return rules }
        let highest = try [rule.mapping.source, relationship.destinationEntity].map { entity in
            let table = try context.sourceTable(of: entity).name
            return try context.connection.integer("SELECT max(Z_PK) FROM source.\(table)") ?? 0
        }
        if highest[0] >= highest[1] { return sides[enough] }
        let others = sides[enough].flatMap { rule in
            mirrors(of: rule, key, inverse, in: context).map { mirror in
                var mirror = mirror
                mirror.isToMany = true
                return mirror
            }
        }
        let targets = sides[enough].reduce(0) { $0 + $1.relationship.mappings.count }
        let isWhole = others.count == targets && others.allSatisfy { $0.mapping.policy == nil }
        return isWhole ? others : sides[enough]
    }

    /// Whether every pair that a rule yields comes from a rule of the other side too: both take the links of one join
    /// table as they are, between the same two mappings, which keep keys.
    private static func isRepeated(_ rule: Rule, by others: [Rule], in context: VerificationContext) -> Bool {
        guard let (own, table) = carriedLinks(rule, in: context) else { return false }
        return rule.relationship.mappings.allSatisfy { name in
            others.contains { other in
                guard other.mapping.name == name, other.relationship.mappings.contains(rule.mapping.name),
                    let (back, same) = carriedLinks(other, in: context)
                else { return false }
                return same == table && inverse(of: own, in: context.sourceModel)?.property == back.name
            }
        }
    }

    /// The source's relationship, and its join table, when a rule takes its links as they are.
    private static func carriedLinks(
        _ rule: Rule, in context: VerificationContext
    ) -> (relationship: Relationship, table: String)? {
        guard rule.relationship.isAutomatic, rule.mapping.keepsPrimaryKey, rule.mapping.policy == nil,
            let name = rule.relationship.sourceRelationship,
            let relationship = context.sourceModel.relationship(name, of: rule.mapping.source),
            case .join(let table, _, _, _, _)? = context.source.storage(of: name, in: rule.mapping.source)
        else { return nil }
        return (relationship, table)
    }

    /// The other sides of one-to-one relationships that are taken over as they are.
    private static func echoes(
        of rules: [Rule], _ key: PropertyKey, _ inverse: PropertyKey, in context: VerificationContext
    ) -> [Rule] {
        rules.flatMap { rule in
            mirrors(of: rule, key, inverse, in: context).map { mirror in
                var echo = mirror
                echo.isEcho = true
                return echo
            }
        }
    }

    /// What the source's other side says of links that a rule takes as they are: a rule for each mapping of the other
    /// side that keeps keys.
    private static func mirrors(
        of rule: Rule, _ key: PropertyKey, _ inverse: PropertyKey, in context: VerificationContext
    ) -> [Rule] {
        guard rule.relationship.isAutomatic, rule.mapping.keepsPrimaryKey,
            let name = rule.relationship.sourceRelationship,
            let back = context.sourceModel.relationship(name, of: rule.mapping.source)?.inverseName
        else { return [] }
        return rule.relationship.mappings.compactMap { target in
            guard let other = context.step.entityMapping(named: target), other.keepsPrimaryKey else { return nil }
            let relationship = ResolvedRelationship(
                name: (rule.isInverse ? key : inverse).property, mappings: [rule.mapping.name],
                from: .keyPath(.variable("source"), [.key(back)]), isAutomatic: true)
            return Rule(mapping: other, relationship: relationship, isInverse: !rule.isInverse, isToMany: false)
        }
    }

    static func inverse(of relationship: Relationship, in model: ManagedObjectModel) -> PropertyKey? {
        guard let name = relationship.inverseName,
            let entity = model.declaringEntity(of: name, in: relationship.destinationEntity)
        else { return nil }
        return PropertyKey(entity, name)
    }

    private static func rules(for key: PropertyKey, isInverse: Bool, in context: VerificationContext) -> [Rule] {
        context.step.entityMappings.flatMap { mapping in
            mapping.relationships.filter { relationship in
                relationship.name == key.property
                    && context.destinationModel.declaringEntity(of: key.property, in: mapping.destination) == key.entity
            }.map {
                let isToMany = context.destinationModel.relationship(key.property, of: key.entity)?.isToMany ?? true
                return Rule(mapping: mapping, relationship: $0, isInverse: isInverse, isToMany: isToMany)
            }
        }
    }
}

/// The keys that a stored relationship has in one column of the destination, and what is asked of them.
struct StoredKeys: Sendable {
    let relationship: PropertyKey
    let table: String
    let column: String
    /// Whether they stand in rows of objects, with companions that ``TableTally`` counts.
    let areForeign: Bool
    /// Whether nothing is asked of them, companions aside, but that each leads to an object of some entities.
    let leadAlone: Bool
    /// What a difference is named by: columns of ``faults``.
    let holder: String
    let value: String
    /// Queries without their columns: keys that are wrong, and companions of none.
    let faults: [String]
    /// A query without its columns: keys that lead to an object of which they, or the number beside them, say another
    /// entity; nil where no other can be said.
    let mistaken: String?
    /// The column that stands behind the table in a difference, and the one behind the number.
    private let placeOfNumber: (before: String, after: String)
    /// The table that they lead to, and `Z_ENT` of the objects in it that they may lead to, for an SQL list.
    let other: String
    private let otherNumbers: String
    /// The root entity of that table, where they may lead to every object in it.
    let wholeRoot: String?

    /// The keys of all stored relationships, in the order of their names.
    static func all(in context: VerificationContext) throws -> [StoredKeys] {
        try context.destination.relationshipStorage.keys.sorted().flatMap { try of($0, in: context) }
    }

    /// Where the object with a number is, for a difference.
    func place(of number: Int64) -> String { "\(table) \(placeOfNumber.before) \(number)\(placeOfNumber.after)" }

    /// SQL of the objects that the keys may lead to, above a first number and in the order of their numbers.
    var targets: String {
        "SELECT Z_PK FROM destination.\(other) WHERE Z_PK > ?1 AND Z_ENT IN (\(otherNumbers)) ORDER BY Z_PK"
    }

    /// The numbers of all objects that the keys may lead to, where they may lead to every one of the table and the run that
    /// wrote them has written as many as there are numbers from the first to the last: then each number is there, unless
    /// the table has other rows than were written, which only its reading shows.
    func wholeRange(in context: VerificationContext) throws -> ClosedRange<Int64>? {
        guard let wholeRoot, let rows = context.writtenRows(in: wholeRoot), rows > 0 else { return nil }
        let table = "destination.\(other)"
        guard let lowest = try context.connection.integer("SELECT min(Z_PK) FROM \(table)"),
            let highest = try context.connection.integer("SELECT max(Z_PK) FROM \(table)"),
            highest.subtractingReportingOverflow(lowest) == (rows - 1, false)
        else { return nil }
        return lowest...highest
    }

    /// Whether each leads to a fitting object; these are met in the order of the keys, which is that of their index.
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

    private static func of(_ key: PropertyKey, in context: VerificationContext) throws -> [StoredKeys] {
        guard let relationship = context.destinationModel.relationship(key.property, of: key.entity),
            let storage = context.destination.relationshipStorage[key]
        else { return [] }
        let other = try context.destinationTable(of: relationship.destinationEntity).name
        let own = try context.destinationTable(of: key.entity).name
        let ownNumbers = context.destinationNumbers(ofFamily: key.entity)
        let otherNumbers = context.destinationNumbers(ofFamily: relationship.destinationEntity)
        let root = context.destinationModel.root(of: relationship.destinationEntity)
        let wholeRoot = relationship.destinationEntity == root ? root : nil
        switch storage {
        case .foreignKey(let table, let column, let entityColumn, let orderColumn):
            var inverseColumn: String?
            if let inverse = StoredRelation.inverse(of: relationship, in: context.destinationModel), inverse != key,
                case .foreignKey(_, let column, _, _)? = context.destination.relationshipStorage[inverse]
            {
                inverseColumn = column
            }
            // Where there are several entities, the object itself must be looked at.
            let leadToOneEntity = context.destinationModel.family(of: relationship.destinationEntity).count == 1
            return [
                StoredKeys(
                    relationship: key, table: table, column: column, areForeign: true,
                    leadAlone: inverseColumn == nil && (entityColumn == nil || leadToOneEntity), holder: "o.Z_PK",
                    value: "o.\(column)",
                    faults: faults(
                        of: table, column, [entityColumn, orderColumn], inverseColumn, to: other,
                        "o.Z_ENT NOT IN (\(ownNumbers)) OR t.Z_PK IS NULL OR t.Z_ENT NOT IN (\(otherNumbers))"),
                    mistaken: entityColumn.map {
                        "FROM destination.\(table) o JOIN destination.\(other) t ON t.Z_PK = o.\(column) "
                            + "WHERE o.\($0) IS NOT t.Z_ENT"
                    },
                    placeOfNumber: ("Z_PK", " \(column)"), other: other, otherNumbers: otherNumbers,
                    wholeRoot: wholeRoot)
            ]
        case .inverseless(let table, let column):
            let query = """
                FROM destination.\(table) o LEFT JOIN destination.\(own) t ON t.Z_PK = o.\(column)
                WHERE o.\(column) IS NOT NULL AND (t.Z_PK IS NULL OR t.Z_ENT NOT IN (\(ownNumbers))
                    OR o.Z_ENT NOT IN (\(otherNumbers)))
                """
            return [
                StoredKeys(
                    relationship: key, table: table, column: column, areForeign: false, leadAlone: false,
                    holder: "o.Z_PK", value: "o.\(column)", faults: [query], mistaken: nil,
                    placeOfNumber: ("Z_PK", " \(column)"), other: own, otherNumbers: ownNumbers, wholeRoot: nil)
            ]
        case .join(let table, let first, let second, let order, _):
            let isOwnInverse = StoredRelation.inverse(of: relationship, in: context.destinationModel) == key
            return [(second, first, order), (first, second, nil)].prefix(isOwnInverse ? 2 : 1).map {
                (column: String, rest: String, order: String?) in
                let fault = order.map { " OR j.\($0) IS NULL" } ?? ""
                // In the order of the keys that are looked up, the rows that they lead to are met one after another.
                let query = """
                    FROM destination.\(table) j LEFT JOIN destination.\(other) t ON t.Z_PK = j.\(column)
                    WHERE t.Z_PK IS NULL OR t.Z_ENT NOT IN (\(otherNumbers))\(fault)
                    \(order == nil ? "ORDER BY j.\(column), j.\(rest)" : "")
                    """
                return StoredKeys(
                    relationship: key, table: table, column: column, areForeign: false, leadAlone: order == nil,
                    holder: "j.\(first)", value: "j.\(second)", faults: [query],
                    mistaken: "FROM destination.\(table) j JOIN destination.\(other) t ON t.Z_PK = j.\(column) "
                        + "WHERE t.Z_ENT NOT IN (\(otherNumbers))",
                    placeOfNumber: (first, ""),
                    other: other, otherNumbers: otherNumbers, wholeRoot: wholeRoot)
            }
        case .inverseForeignKey: return []
        }
    }

    /// Queries for foreign keys that are wrong themselves, or whose entity column, position or inverse is.
    private static func faults(
        of table: String, _ column: String, _ companions: [String?], _ inverseColumn: String?, to other: String,
        _ wrong: String
    ) -> [String] {
        var wrong = wrong
        if let entityColumn = companions[0] { wrong += " OR o.\(entityColumn) IS NOT t.Z_ENT" }
        if let orderColumn = companions[1] { wrong += " OR o.\(orderColumn) IS NULL" }
        if let inverseColumn { wrong += " OR t.\(inverseColumn) IS NOT o.Z_PK" }
        let query = """
            FROM destination.\(table) o LEFT JOIN destination.\(other) t ON t.Z_PK = o.\(column)
            WHERE o.\(column) IS NOT NULL AND (\(wrong))
            """
        // Without a key there is nothing that its companions could say.
        let alone = companions.compactMap { $0 }.map { "o.\($0) IS NOT NULL" }
        if alone.isEmpty { return [query] }
        let rest = "FROM destination.\(table) o WHERE o.\(column) IS NULL AND (\(alone.joined(separator: " OR ")))"
        return [query, rest]
    }
}
