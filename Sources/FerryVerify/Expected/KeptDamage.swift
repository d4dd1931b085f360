internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// Damage of the source's relationships that a table which stays has under the same key; never sound links.
///
/// The damage is a dangling key, a key in a row of another entity, or a key whose object has an inverse that does not lead
/// back.
final class KeptDamage {
    private unowned let context: VerificationContext
    private var statements: [PropertyKey: Statement?] = [:]

    init(_ context: VerificationContext) { self.context = context }

    /// Whether a row of the source holds the same damaged key; always false for a table that is copied.
    ///
    /// In a join table the holder is the key in the declaring side's column, which may be NULL, and the value is the
    /// other key.
    func holds(_ key: PropertyKey, holder: Int64?, value: Int64?) throws -> Bool {
        let verification = context.verification
        let isKept =
            verification.isInPlace || verification.keptRoots.contains(context.destinationModel.root(of: key.entity))
        guard isKept, let statement = try statement(for: key) else { return false }
        try statement.bind(holder.map { .integer($0) } ?? .null, at: 1)
        try statement.bind(value.map { .integer($0) } ?? .null, at: 2)
        defer { statement.reset() }
        return try statement.step()
    }

    private func statement(for key: PropertyKey) throws -> Statement? {
        if let known = statements[key] { return known }
        let made = try context.connection.prepareAny(of: sources(of: key).compactMap { try query($0, now: key) })
        statements[key] = .some(made)
        return made
    }

    /// The source relationships that a relationship continues, as their entities declare them.
    private func sources(of key: PropertyKey) throws -> [PropertyKey] {
        var found: Set<PropertyKey> = []
        // Not stored: RelationshipOrigins holds the context, which holds this object.
        let origins = RelationshipOrigins(context)
        for mapping in context.step.entityMappings where mapping.keepsPrimaryKey {
            guard context.destinationModel.isKind(mapping.destination, of: key.entity),
                let origin = origins.origin(of: key.property, in: mapping),
                let entity = context.sourceModel.declaringEntity(of: origin.name, in: mapping.source)
            else { continue }
            found.insert(PropertyKey(entity, origin.name))
        }
        return found.sorted()
    }

    /// SQL that yields a row if `?1` holds `?2`, or a key of an object that is gone instead of none, and the key is damaged.
    private func query(_ key: PropertyKey, now: PropertyKey) throws -> String? {
        guard let relationship = context.sourceModel.relationship(key.property, of: key.entity),
            let end = context.destinationModel.relationship(now.property, of: now.entity)?.destinationEntity,
            let storage = context.source.relationshipStorage[key]
        else { return nil }
        let own = try context.sourceTable(of: key.entity).name
        let other = try context.sourceTable(of: relationship.destinationEntity).name
        let owners = context.source.numbers(ofFamily: key.entity).sqlList
        let others = context.source.numbers(ofFamily: relationship.destinationEntity).sqlList
        switch storage {
        case .foreignKey(let table, let column, let entityColumn, let orderColumn):
            // A row of another entity in the table does not have the relationship.
            var faults = ["o.Z_ENT NOT IN (\(owners))", "t.Z_PK IS NULL", "t.Z_ENT NOT IN (\(others))"]
            if let entityColumn { faults.append("o.\(entityColumn) IS NOT t.Z_ENT") }
            if let orderColumn { faults.append("typeof(o.\(orderColumn)) <> 'integer'") }
            // Companion columns of a NULL key; or another object whose foreign key leads to this one.
            var faultsOfNone = [entityColumn, orderColumn].compactMap { $0 }.map { "o.\($0) IS NOT NULL" }
            if let inverse = context.sourceModel.inverseKey(of: relationship), inverse != key,
                case .foreignKey(_, let back, _, _)? = context.source.relationshipStorage[inverse]
            {
                faults.append("t.\(back) IS NOT o.Z_PK")
                faultsOfNone.append("EXISTS (SELECT 1 FROM source.\(other) AS i WHERE i.\(back) = o.Z_PK)")
            }
            let ofNone = faultsOfNone.isEmpty ? "0" : faultsOfNone.joined(separator: " OR ")
            return """
                SELECT 1 FROM source.\(table) AS o LEFT JOIN source.\(other) AS t ON t.Z_PK = o.\(column)
                WHERE o.Z_PK = ?1 AND (o.\(column) IS ?2 OR ?2 IS NULL AND o.\(column) NOT IN (
                    SELECT r.Z_PK FROM destination.\(try context.destinationTable(of: end).name) AS r))
                    AND CASE WHEN ?2 IS NULL THEN \(ofNone) ELSE \(faults.joined(separator: " OR ")) END
                """
        case .inverseless(let table, let column):
            return """
                SELECT 1 FROM source.\(table) AS o LEFT JOIN source.\(own) AS t ON t.Z_PK = o.\(column)
                WHERE o.Z_PK = ?1 AND o.\(column) IS ?2 AND (t.Z_PK IS NULL OR t.Z_ENT NOT IN (\(owners)))
                """
        case .join(let table, let first, let second, let otherOrder, let ownOrder):
            let unordered = [otherOrder, ownOrder].compactMap { $0 }.map { " OR typeof(j.\($0)) <> 'integer'" }.joined()
            return """
                SELECT 1 FROM source.\(table) AS j LEFT JOIN source.\(own) AS a ON a.Z_PK = j.\(first)
                LEFT JOIN source.\(other) AS b ON b.Z_PK = j.\(second)
                WHERE j.\(first) IS ?1 AND j.\(second) IS ?2 AND (a.Z_PK IS NULL OR b.Z_PK IS NULL
                    OR a.Z_ENT NOT IN (\(owners)) OR b.Z_ENT NOT IN (\(others))\(unordered))
                """
        case .inverseForeignKey: return nil
        }
    }
}

/// Rows of no entity that a migration in place leaves: only their key and `Z_ENT` are known and compared.
final class KeptUnknownRows {
    private unowned let context: VerificationContext
    private var statements: [String: Statement?] = [:]

    init(_ context: VerificationContext) { self.context = context }

    /// Whether the source row of a destination row is of no entity, too; always false for a copy.
    func holds(_ key: Int64, in root: String) throws -> Bool {
        guard context.verification.isInPlace else { return false }
        let statement = try statements[root] ?? prepare(for: root)
        statements[root] = .some(statement)
        return try statement?.finds(key) ?? false
    }

    /// The number of source rows with a `Z_ENT` that no entity has; nil if an entity has it, and for a copy.
    func count(_ number: Value, in root: String) throws -> Int64? {
        guard context.verification.isInPlace else { return nil }
        var before: Int64 = 0
        for source in sources(of: root) {
            if let number = number.integer, context.source.numbers(ofFamily: source).contains(number) { return nil }
            before +=
                try context.connection.integer(
                    "SELECT count(*) FROM source.\(try context.sourceTable(of: source).name) WHERE Z_ENT IS ?",
                    [number]) ?? 0
        }
        return before
    }

    /// The number of source rows of no entity; none for a copy.
    func count(in root: String) throws -> Int64 {
        guard context.verification.isInPlace else { return 0 }
        return try sources(of: root).reduce(0) { sum, source in
            let isUnknown = "ifnull(Z_ENT NOT IN (\(context.source.numbers(ofFamily: source).sqlList)), 1)"
            let table = try context.sourceTable(of: source).name
            return try sum
                + (context.connection.integer("SELECT count(*) FROM source.\(table) WHERE \(isUnknown)") ?? 0)
        }
    }

    private func sources(of root: String) -> [String] {
        context.sourceRoots(into: root).inOrder(by: codeUnitOrder)
    }

    private func prepare(for root: String) throws -> Statement? {
        let table = try context.destinationTable(of: root).name
        return try context.connection.prepareAny(
            of: sources(of: root).map { source in
                """
                SELECT 1 FROM source.\(try context.sourceTable(of: source).name) AS s
                JOIN destination.\(table) AS d ON d.Z_PK = s.Z_PK AND d.Z_ENT IS s.Z_ENT
                WHERE s.Z_PK = ?1 AND ifnull(s.Z_ENT NOT IN (\(context.source.numbers(ofFamily: source).sqlList)), 1)
                """
            })
    }
}

/// The source relationship that an entity mapping's relationship continues.
struct RelationshipOrigins {
    private let context: VerificationContext

    init(_ context: VerificationContext) { self.context = context }

    func isInferred(_ mapping: ResolvedEntityMapping) -> Bool {
        context.step.mappingModels[mapping.mappingModel].isInferred
    }

    /// The source relationship, or nil if the relationship is new or has another origin.
    func origin(of relationship: String, in mapping: ResolvedEntityMapping) -> Relationship? {
        if let matching = context.matching, isInferred(mapping) {
            return matching.sourceRelationship(of: relationship, in: mapping.destination)
        }
        // The rule of either side names the relationship.
        let model = context.sourceModel
        if let rule = mapping.relationships.first(where: { $0.name == relationship && $0.isAutomatic }) {
            return rule.sourceRelationship.flatMap { model.relationship($0, of: mapping.source) }
        }
        guard let declared = context.destinationModel.relationship(relationship, of: mapping.destination),
            let inverse = context.destinationModel.inverse(of: declared)
        else { return nil }
        for other in context.step.entityMappings {
            let rule = other.relationships.first {
                $0.name == inverse.name && $0.isAutomatic && $0.mappings.contains(mapping.name)
            }
            guard let name = rule?.sourceRelationship, let old = model.relationship(name, of: other.source) else {
                continue
            }
            return model.inverse(of: old)
        }
        return nil
    }
}

/// A foreign key in the rows of a destination table, with the columns of the source that it continues.
struct KeptKeys {
    let name: String
    let oldName: String
    /// Of the key, its entity and its position.
    let columns: [(column: String, source: String)]

    /// Those of one table of the source.
    static func all(of root: String, in context: VerificationContext) -> [KeptKeys] {
        let origins = RelationshipOrigins(context)
        guard context.sourceRoots(into: root).count == 1 else { return [] }
        var known: Set<String> = []
        return context.keepingMappings(into: root).flatMap { mapping in
            context.destinationModel.relationships(of: mapping.destination).compactMap { relationship -> KeptKeys? in
                guard
                    case .foreignKey(_, let column, let entity, let order)? =
                        context.destination.storage(of: relationship.name, in: mapping.destination),
                    // Subentities share the column.
                    known.insert(column).inserted,
                    let name = origins.origin(of: relationship.name, in: mapping)?.name,
                    case .foreignKey(_, let oldColumn, let oldEntity, let oldOrder)? =
                        context.source.storage(of: name, in: mapping.source)
                else { return nil }
                let pairs = [(column, oldColumn), (entity, oldEntity), (order, oldOrder)]
                return KeptKeys(
                    name: relationship.name, oldName: name,
                    columns: pairs.compactMap { new, old in new.flatMap { new in old.map { (new, $0) } } })
            }
        }
    }
}

extension Connection {
    /// A statement that has a row if one of several queries has one; nil without queries.
    func prepareAny(of queries: [String]) throws(DatabaseError) -> Statement? {
        queries.isEmpty ? nil : try prepare(queries.joined(separator: " UNION ALL "))
    }
}

extension Statement {
    /// Whether the statement has a row for a key, its first parameter.
    func finds(_ key: Int64) throws(DatabaseError) -> Bool {
        try bind(key, at: 1)
        defer { reset() }
        return try step()
    }
}
