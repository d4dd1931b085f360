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
        guard context.verification.keepsTable(of: context.destinationModel.root(of: key.entity)),
            let statement = try statement(for: key)
        else { return false }
        try statement.bind(holder.map { .integer($0) } ?? .null, at: 1)
        try statement.bind(value.map { .integer($0) } ?? .null, at: 2)
        defer { statement.reset() }
        return try statement.step()
    }

    private func statement(for key: PropertyKey) throws -> Statement? {
        if let known = statements[key] { return known }
        let made = try context.connection.prepareAny(of: sources(of: key).flatMap { try queries($0, now: key) })
        statements[key] = .some(made)
        return made
    }

    /// The source relationships that a relationship continues, as their entities declare them.
    private func sources(of key: PropertyKey) throws -> [PropertyKey] {
        var found: Set<PropertyKey> = []
        for mapping in context.step.entityMappings where mapping.keepsPrimaryKey {
            guard context.destinationModel.isKind(mapping.destination, of: key.entity),
                let origin = context.origin(of: key.property, in: mapping),
                let entity = context.sourceModel.declaringEntity(of: origin.name, in: mapping.source)
            else { continue }
            found.insert(PropertyKey(entity, origin.name))
        }
        return found.sorted()
    }

    /// SQL of which one yields a row if `?1` holds `?2`, or a key of an object that is gone instead of none, and the key
    /// is damaged.
    private func queries(_ key: PropertyKey, now: PropertyKey) throws -> [String] {
        func faults(of key: PropertyKey, _ holder: String, _ value: String) -> [String] {
            StoredKeys.of(key, in: context.source, as: "source").flatMap { keys in
                [keys.wrong, keys.alone].compactMap(\.self).map {
                    "SELECT 1 \($0) AND \(keys.holder) IS \(holder) AND \(keys.value) IS \(value)"
                }
            }
        }
        let inverse = context.sourceModel.relationship(key.property, of: key.entity).flatMap {
            context.sourceModel.inverseKey(of: $0)
        }
        var queries = faults(of: key, "?1", "?2")
        switch context.source.relationshipStorage[key] {
        // Each side checks the objects to which its own keys lead.
        case .join?: queries += inverse.flatMap { $0 == key ? nil : faults(of: $0, "?2", "?1") } ?? []
        case .foreignKey(let table, let column, let entityColumn, let orderColumn)?:
            guard let end = context.destinationModel.relationship(now.property, of: now.entity)?.destinationEntity
            else {
                break
            }
            // Companion columns of no key, or another object whose foreign key leads to this one.
            var faults = [entityColumn, orderColumn].compactMap { $0 }.map { "o.\($0) IS NOT NULL" }
            if let inverse, inverse != key,
                case .foreignKey(let other, let back, _, _)? = context.source.relationshipStorage[inverse]
            {
                faults.append("EXISTS (SELECT 1 FROM source.\(other) AS i WHERE i.\(back) = o.Z_PK)")
            }
            if faults.isEmpty { break }
            queries.append(
                """
                SELECT 1 FROM source.\(table) AS o WHERE o.Z_PK = ?1 AND ?2 IS NULL AND (o.\(column) IS NULL
                    OR o.\(column) NOT IN (SELECT Z_PK FROM destination.\(try context.destinationTable(of: end).name)))
                    AND (\(faults.joined(separator: " OR ")))
                """)
        default: break
        }
        return queries
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
        guard let source = context.sourceRoot(into: root) else { return 0 }
        if let number = number.integer, context.source.numbers(ofFamily: source).contains(number) { return nil }
        return try context.connection.integer(
            "SELECT count(*) FROM source.\(try context.sourceTable(of: source).name) WHERE Z_ENT IS ?", [number])
    }

    /// The number of source rows of no entity; none for a copy.
    func count(in root: String) throws -> Int64 {
        guard context.verification.isInPlace, let source = context.sourceRoot(into: root) else { return 0 }
        let rows = "source.\(try context.sourceTable(of: source).name) AS s WHERE \(isUnknown(to: source))"
        return try context.connection.integer("SELECT count(*) FROM \(rows)") ?? 0
    }

    private func isUnknown(to source: String) -> String {
        "ifnull(s.Z_ENT NOT IN (\(context.source.numbers(ofFamily: source).sqlList)), 1)"
    }

    private func prepare(for root: String) throws -> Statement? {
        try context.sourceRoot(into: root).map { source in
            try context.connection.prepare(
                """
                SELECT 1 FROM source.\(try context.sourceTable(of: source).name) AS s
                JOIN destination.\(try context.destinationTable(of: root).name) AS d
                    ON d.Z_PK = s.Z_PK AND d.Z_ENT IS s.Z_ENT
                WHERE s.Z_PK = ?1 AND \(isUnknown(to: source))
                """)
        }
    }
}

extension VerificationContext {
    func isInferred(_ mapping: ResolvedEntityMapping) -> Bool { step.mappingModels[mapping.mappingModel].isInferred }

    /// The source relationship that a relationship of a mapping continues; nil if it is new or has another origin.
    func origin(of relationship: String, in mapping: ResolvedEntityMapping) -> Relationship? {
        if let matching, isInferred(mapping) {
            return matching.sourceRelationship(of: relationship, in: mapping.destination)
        }
        // The rule of either side names the relationship.
        let model = sourceModel
        if let rule = mapping.relationships.first(where: { $0.name == relationship && $0.isAutomatic }) {
            return rule.sourceRelationship.flatMap { model.relationship($0, of: mapping.source) }
        }
        guard let declared = destinationModel.relationship(relationship, of: mapping.destination),
            let inverse = destinationModel.inverse(of: declared)
        else { return nil }
        for other in step.entityMappings {
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

/// A column of a destination table that continues one of the source, with the names of the properties that have them.
struct KeptColumn {
    let column: String
    let source: String
    private let name: String
    private let oldName: String
    private let isOfKey: Bool

    /// The columns of foreign keys, with their entities and positions, and of attributes whose values stay.
    static func all(of root: String, in context: VerificationContext) -> [KeptColumn] {
        // Subentities share columns.
        var known: Set<String> = []
        return context.keepingMappings(into: root).flatMap { mapping in
            let keys = context.destinationModel.relationships(of: mapping.destination).flatMap {
                relationship -> [KeptColumn] in
                guard
                    case .foreignKey(_, let column, let entity, let order)? =
                        context.destination.storage(of: relationship.name, in: mapping.destination),
                    known.insert(column).inserted,
                    let name = context.origin(of: relationship.name, in: mapping)?.name,
                    case .foreignKey(_, let oldColumn, let oldEntity, let oldOrder)? =
                        context.source.storage(of: name, in: mapping.source)
                else { return [] }
                return [(column, oldColumn), (entity, oldEntity), (order, oldOrder)].compactMap { new, old in
                    guard let new, let old else { return nil }
                    return KeptColumn(column: new, source: old, name: relationship.name, oldName: name, isOfKey: true)
                }
            }
            let attributes = mapping.attributes.compactMap { rule -> KeptColumn? in
                // The value that is taken if it is not NULL: all of it, or the operand that has a default.
                let value = if case .ifNil(let value, _)? = rule.expression { value } else { rule.expression }
                guard let name = value?.sourceKeys,
                    let column = context.destination.column(of: rule.name, in: mapping.destination)?.name,
                    let source = context.source.column(of: name, in: mapping.source)?.name,
                    known.insert(column).inserted
                else { return nil }
                return KeptColumn(column: column, source: source, name: rule.name, oldName: name, isOfKey: false)
            }
            return keys + attributes
        }
    }

    /// Whether neither of a mapping's entities has the property; a value of the object's own that no mapping carries is
    /// taken out of the row.
    func isOnlyOfOthers(than mapping: ResolvedEntityMapping, in context: VerificationContext) -> Bool {
        let (new, old) = (context.destinationModel, context.sourceModel)
        return isOfKey
            ? new.relationship(name, of: mapping.destination) == nil
                && old.relationship(oldName, of: mapping.source) == nil
            : new.attribute(name, of: mapping.destination) == nil && old.attribute(oldName, of: mapping.source) == nil
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
