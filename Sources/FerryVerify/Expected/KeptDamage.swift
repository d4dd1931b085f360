internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// Damage of the source's relationships that a migration in place leaves as it was: a key that leads nowhere, or to an
/// object whose inverse does not lead back, under the same key in both stores.
///
/// What the source had in order is never excused.
final class KeptDamage {
    private unowned let context: VerificationContext
    private var statements: [PropertyKey: Statement?] = [:]

    init(_ context: VerificationContext) { self.context = context }

    /// Whether a key that a row holds stood in the same row of the source, as damage; never so of a copy.
    ///
    /// - Parameters:
    ///   - key: The relationship as the destination's layout has it.
    ///   - holder: `Z_PK` of the row that holds the key; in a join table the key in the declaring side's column,
    ///     which may be missing.
    ///   - value: What it holds; in a join table the key in the other column.
    /// - Returns: True when the source had it there.
    /// - Throws: ``DatabaseError``, ``FerryError``.
    func holds(_ key: PropertyKey, holder: Int64?, value: Int64?) throws -> Bool {
        guard context.verification.isInPlace, let statement = try statement(for: key) else { return false }
        try statement.bind(holder.map { .integer($0) } ?? .null, at: 1)
        try statement.bind(value.map { .integer($0) } ?? .null, at: 2)
        defer { statement.reset() }
        return try statement.step()
    }

    private func statement(for key: PropertyKey) throws -> Statement? {
        if let known = statements[key] { return known }
        let queries = try sources(of: key).compactMap(query)
        let made = queries.isEmpty ? nil : try context.connection.prepare(queries.joined(separator: " UNION ALL "))
        statements[key] = .some(made)
        return made
    }

    /// The source relationships that a relationship continues, as their entities declare them.
    private func sources(of key: PropertyKey) throws -> [PropertyKey] {
        var found: Set<PropertyKey> = []
        // Not kept: it holds the context, which holds this.
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

    /// SQL that yields a row where `?1` holds `?2` and that is damage.
    private func query(_ key: PropertyKey) throws -> String? {
        guard let relationship = context.sourceModel.relationship(key.property, of: key.entity),
            let storage = context.source.relationshipStorage[key]
        else { return nil }
        let own = try context.sourceTable(of: key.entity).name
        let other = try context.sourceTable(of: relationship.destinationEntity).name
        let (owners, others) = (numbers(key.entity), numbers(relationship.destinationEntity))
        switch storage {
        case .foreignKey(let table, let column, let entityColumn, let orderColumn):
            var faults = ["t.Z_PK IS NULL", "t.Z_ENT NOT IN (\(others))"]
            if let entityColumn { faults.append("o.\(entityColumn) IS NOT t.Z_ENT") }
            if let orderColumn { faults.append("o.\(orderColumn) IS NULL") }
            // Companions of a key that is not there; or another object leads here as the only one.
            var faultsOfNone = [entityColumn, orderColumn].compactMap { $0 }.map { "o.\($0) IS NOT NULL" }
            if let inverse = StoredRelation.inverse(of: relationship, in: context.sourceModel), inverse != key,
                case .foreignKey(_, let back, _, _)? = context.source.relationshipStorage[inverse]
            {
                faults.append("t.\(back) IS NOT o.Z_PK")
                faultsOfNone.append("EXISTS (SELECT 1 FROM source.\(other) AS i WHERE i.\(back) = o.Z_PK)")
            }
            let ofNone = faultsOfNone.isEmpty ? "0" : faultsOfNone.joined(separator: " OR ")
            return """
                SELECT 1 FROM source.\(table) AS o LEFT JOIN source.\(other) AS t ON t.Z_PK = o.\(column)
                WHERE o.Z_PK = ?1 AND o.\(column) IS ?2
                    AND CASE WHEN ?2 IS NULL THEN \(ofNone) ELSE \(faults.joined(separator: " OR ")) END
                """
        case .inverseless(let table, let column):
            return """
                SELECT 1 FROM source.\(table) AS o LEFT JOIN source.\(own) AS t ON t.Z_PK = o.\(column)
                WHERE o.Z_PK = ?1 AND o.\(column) IS ?2 AND (t.Z_PK IS NULL OR t.Z_ENT NOT IN (\(owners)))
                """
        case .join(let table, let first, let second, let otherOrder, let ownOrder):
            let unordered = [otherOrder, ownOrder].compactMap { $0 }.map { " OR j.\($0) IS NULL" }.joined()
            return """
                SELECT 1 FROM source.\(table) AS j LEFT JOIN source.\(own) AS a ON a.Z_PK = j.\(first)
                LEFT JOIN source.\(other) AS b ON b.Z_PK = j.\(second)
                WHERE j.\(first) IS ?1 AND j.\(second) IS ?2 AND (a.Z_PK IS NULL OR b.Z_PK IS NULL
                    OR a.Z_ENT NOT IN (\(owners)) OR b.Z_ENT NOT IN (\(others))\(unordered))
                """
        case .inverseForeignKey: return nil
        }
    }

    private func numbers(_ entity: String) -> String {
        context.sourceModel.family(of: entity).compactMap { context.source.number(of: $0) }.sorted().sqlList
    }
}

/// Which source relationship an entity mapping's relationship continues.
struct RelationshipOrigins {
    private let context: VerificationContext
    /// What the models say, for inferred mappings.
    private let matching: ModelMatching?

    init(_ context: VerificationContext) {
        self.context = context
        // What two models say of each other is not what the versions between them say.
        let isInferred = context.step.mappingModels.contains(where: \.isInferred) && context.step.middle.isEmpty
        matching =
            isInferred ? ModelMatching(source: context.sourceModel, destination: context.destinationModel) : nil
    }

    func isInferred(_ mapping: ResolvedEntityMapping) -> Bool {
        context.step.mappingModels[mapping.mappingModel].isInferred
    }

    /// The source relationship, or nil when the relationship is new or comes from elsewhere.
    func origin(of relationship: String, in mapping: ResolvedEntityMapping) -> Relationship? {
        if let matching, isInferred(mapping) {
            return matching.sourceRelationship(of: relationship, in: mapping.destination)
        }
        if !context.step.middle.isEmpty { return ruledOrigin(of: relationship, in: mapping) }
        let isAutomatic = mapping.relationships.contains { $0.name == relationship && $0.isAutomatic }
        guard isAutomatic || isSetByInverse(relationship, of: mapping) else { return nil }
        return context.sourceModel.relationship(relationship, of: mapping.source)
    }

    /// The relationship that the rule of either side names.
    private func ruledOrigin(of relationship: String, in mapping: ResolvedEntityMapping) -> Relationship? {
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

    /// Whether the relationship is set by its inverse, which is automatic.
    private func isSetByInverse(_ relationship: String, of mapping: ResolvedEntityMapping) -> Bool {
        guard let declared = context.destinationModel.relationship(relationship, of: mapping.destination),
            let inverse = context.destinationModel.inverse(of: declared)
        else { return false }
        return context.step.entityMappings.contains { other in
            other.relationships.contains {
                $0.name == inverse.name && $0.isAutomatic && $0.mappings.contains(mapping.name)
            }
        }
    }
}
