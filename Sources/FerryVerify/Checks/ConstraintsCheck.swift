internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// Mandatory attributes, object counts of relationships and uniqueness constraints are as the model requires.
///
/// A violation that the source object of the same key has in the same property is not a difference.
struct ConstraintsCheck: Check {
    static let name = "constraints"

    func run(in context: VerificationContext) throws {
        try eachEntity(in: context) { entity, table in
            try checkRelationships(of: entity, table, in: context)
            for constraint in context.destinationModel.entities[entity]?.uniquenessConstraints ?? [] {
                try check(constraint, of: entity, table, in: context)
            }
        }
    }

    /// Checks attributes: rows with NULLs were counted with all others (``TableTally``).
    func finish(_ outcomes: [PartOutcome], in context: VerificationContext) throws {
        let tallies = try TableTally.all(in: context)
        try eachEntity(in: context) { entity, table in
            try checkAttributes(of: entity, table, tallies[table.root], in: context)
        }
    }

    private func eachEntity(
        in context: VerificationContext, _ body: (_ entity: String, _ table: EntityTable) throws -> Void
    ) throws {
        for table in context.destinationTables {
            try context.announce(table.name)
            for entity in context.destinationModel.family(of: table.root) {
                try body(entity, table)
            }
        }
    }

    // MARK: Attributes

    private func checkAttributes(
        of entity: String, _ table: EntityTable, _ tally: TableTally?, in context: VerificationContext
    ) throws {
        let isComplete = tally?.isComplete(entity)
        if isComplete == true { return }
        let number = try context.destinationNumber(of: entity)
        for (attribute, column) in TableTally.mandatory(of: entity, in: context) {
            if isComplete == nil, wasMandatory(attribute, of: entity, in: context) { continue }
            try report(
                "SELECT Z_PK FROM destination.\(table.name) WHERE Z_ENT = \(number) AND \(column) IS NULL ORDER BY Z_PK",
                entity: entity, property: attribute, place: { "\(table.name) Z_PK \($0) \(column)" },
                excuse: try excuse(attribute: attribute, of: entity, in: context), in: context)
        }
    }

    /// Whether an attribute of a table that was not read was mandatory before: then it has no other NULLs than the source's.
    private func wasMandatory(_ attribute: String, of entity: String, in context: VerificationContext) -> Bool {
        keepingMappings(of: entity, in: context).allSatisfy { mapping in
            mapping.origin(of: attribute).flatMap { context.sourceModel.attribute($0, of: mapping.source) }?.isOptional
                == false
        }
    }

    // MARK: Relationships

    private func checkRelationships(
        of entity: String, _ table: EntityTable, in context: VerificationContext
    ) throws {
        let number = try context.destinationNumber(of: entity)
        for relationship in context.destinationModel.relationships(of: entity) where !relationship.isTransient {
            guard let storage = context.destination.storage(of: relationship.name, in: entity) else { continue }
            guard let limits = RelationshipLimits(relationship) else { continue }
            let tables = [table.name, StoredLinks(storage).table]
            if tables.allSatisfy({ KeptTables.hold($0, in: context) }),
                keeps(limits, of: relationship.name, of: entity, in: context)
            {
                continue
            }
            let links = StoredLinks(storage)
            let query =
                if links.areInRowsOfA {
                    "SELECT Z_PK FROM destination.\(table.name) WHERE Z_ENT = \(number) AND \(links.b) IS NULL"
                } else {
                    """
                    SELECT o.Z_PK FROM destination.\(table.name) o
                    LEFT JOIN destination.\(links.table) l ON l.\(links.a) = o.Z_PK
                    WHERE o.Z_ENT = \(number) GROUP BY o.Z_PK HAVING \(limits.violation(of: "count(l.\(links.b))"))
                    """
                }
            try report(
                query + " ORDER BY 1", entity: entity, property: relationship.name,
                place: { "\(table.name) Z_PK \($0) \(relationship.name)" },
                excuse: try excuse(relationship: relationship.name, of: entity, in: context), in: context)
        }
    }

    /// Whether the relationship that every mapping of an entity carries had the same limits.
    private func keeps(
        _ limits: RelationshipLimits, of relationship: String, of entity: String, in context: VerificationContext
    ) -> Bool {
        keepingMappings(of: entity, in: context).allSatisfy { mapping in
            context.origin(of: relationship, in: mapping).flatMap { RelationshipLimits($0) } == limits
        }
    }

    // MARK: Uniqueness

    /// Whether a constraint was one of the source's on the same columns of a table that pages have shown.
    private func isKept(
        _ constraint: [String], of entity: String, _ table: EntityTable, in context: VerificationContext
    ) -> Bool {
        KeptTables.hold(table.name, in: context)
            && keepingMappings(of: entity, in: context).allSatisfy { mapping in
                let names = constraint.map(mapping.origin)
                let constraints = context.sourceModel.entities[mapping.source]?.uniquenessConstraints ?? []
                return constraints.contains { $0.map(Optional.some) == names }
            }
    }

    private func check(
        _ constraint: [String], of entity: String, _ table: EntityTable, in context: VerificationContext
    ) throws {
        if isKept(constraint, of: entity, table, in: context) { return }
        let columns = constraint.compactMap { name -> String? in
            if let column = context.destination.column(of: name, in: entity) { return column.name }
            if case .foreignKey(_, let column, _, _)? = context.destination.storage(of: name, in: entity) {
                return column
            }
            return nil
        }
        guard columns.count == constraint.count else { return }
        let list = columns.joined(separator: ", ")
        let present = columns.map { "\($0) IS NOT NULL" }.balanced(by: "AND")
        // First among the rows of all entities, which an index of these columns alone can answer.
        let twice = try context.connection.value(
            "SELECT 1 FROM destination.\(table.name) WHERE \(present) GROUP BY \(list) HAVING count(*) > 1 LIMIT 1")
        if twice == nil { return }
        try report(
            """
            SELECT max(Z_PK) FROM destination.\(table.name)
            WHERE Z_ENT IN (\(context.destinationNumbers(ofFamily: entity))) AND \(present)
            GROUP BY \(list) HAVING count(*) > 1
            """, entity: entity, place: { "\(table.name) Z_PK \($0) \(list)" }, excuse: nil, in: context)
    }

    // MARK: Reporting

    private func report(
        _ query: String, entity: String, property: String? = nil, place: (Int64) -> String, excuse: Statement?,
        in context: VerificationContext
    ) throws {
        let statement = try context.connection.prepare(query)
        while try statement.step() {
            let key = statement.integer(0)
            if let excuse, try excuse.finds(key) { continue }
            context.report(ConstraintsCheck.self, entity: entity, property: property, example: place(key))
            try context.advance(entity, done: 0, total: nil)
        }
    }

    // MARK: Excuses: statements that find a source object of the same key that violates the same rule

    private func keepingMappings(of entity: String, in context: VerificationContext) -> [ResolvedEntityMapping] {
        context.step.entityMappings.filter { $0.keepsPrimaryKey && $0.destination == entity }
    }

    /// The excuse of an attribute that was mandatory, and NULL, in the source.
    private func excuse(
        attribute: String, of entity: String, in context: VerificationContext
    ) throws -> Statement? {
        let queries = try keepingMappings(of: entity, in: context).compactMap { mapping -> String? in
            guard let name = mapping.origin(of: attribute),
                let old = context.sourceModel.attribute(name, of: mapping.source), !old.isOptional,
                let column = context.source.column(of: name, in: mapping.source)
            else { return nil }
            let table = try context.sourceTable(of: mapping.source).name
            let number = try context.sourceNumber(of: mapping.source)
            return "SELECT 1 FROM source.\(table) WHERE Z_PK = ?1 AND Z_ENT = \(number) AND \(column.name) IS NULL"
        }
        return try context.connection.prepareAny(of: queries)
    }

    /// The excuse of a relationship that had too few or too many objects in the source; dangling keys do not count.
    ///
    /// An inferred mapping excuses also a relationship that had no such limits: Core Data's lightweight migration does
    /// not check relationships, and leaves them to the validation of saved objects.
    private func excuse(
        relationship: String, of entity: String, in context: VerificationContext
    ) throws -> Statement? {
        let queries = try keepingMappings(of: entity, in: context).compactMap { mapping -> String? in
            guard let old = context.origin(of: relationship, in: mapping), let limits = RelationshipLimits(old),
                let storage = context.source.storage(of: old.name, in: mapping.source)
            else { return context.isInferred(mapping) ? "SELECT 1 WHERE ?1 IS NOT NULL" : nil }
            let table = try context.sourceTable(of: mapping.source).name
            let other = try context.sourceTable(of: old.destinationEntity).name
            let number = try context.sourceNumber(of: mapping.source)
            return """
                SELECT 1 FROM source.\(table) o \(StoredLinks(storage).joined("LEFT JOIN", with: other, in: "source"))
                WHERE o.Z_PK = ?1 AND o.Z_ENT = \(number)
                GROUP BY o.Z_PK HAVING \(limits.violation(of: "count(t.Z_PK)"))
                """
        }
        return try context.connection.prepareAny(of: queries)
    }
}

extension ResolvedEntityMapping {
    /// The attribute of the source whose value an attribute has unchanged.
    fileprivate func origin(of attribute: String) -> String? {
        attributes.first { $0.name == attribute }?.expression?.sourceKeys
    }
}
