internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// Derived attributes and their triggers, computed again; ``RowsCheck`` compares carried `now()` values.
struct DerivedAttributesCheck: Check {
    static let name = "derivedAttributes"

    func run(in context: VerificationContext) throws {
        for entity in context.destinationModel.sortedEntityNames {
            for attribute in context.destinationModel.entities[entity]?.attributes ?? []
            where context.destinationModel.isComputedByStore(attribute, of: entity)
                && !isInherited(attribute, of: entity, in: context) && !isKept(attribute, of: entity, in: context)
            {
                try check(attribute, of: entity, in: context)
            }
        }
        try checkTriggers(in: context)
    }

    /// Whether the value and all of its operands are in tables that no statement could write.
    private func isKept(_ attribute: Attribute, of entity: String, in context: VerificationContext) -> Bool {
        let name =
            switch attribute.derivation {
            case .count(let relationship), .sum(let relationship, _): relationship
            case .value(let path), .function(_, let path): path[0]
            case .now, nil: ""
            }
        let relationship = context.destinationModel.relationship(name, of: entity)
        let tables = [
            context.destination.table(of: entity)?.name,
            relationship.flatMap { context.destination.table(of: $0.destinationEntity)?.name },
            relationship.flatMap { context.destination.storage(of: $0.name, in: entity)?.table },
        ]
        return tables.compactMap { $0 }.allSatisfy { KeptTables.hold($0, in: context) }
    }

    private func checkTriggers(in context: VerificationContext) throws {
        let expected = Set(context.destination.allTriggers.map(\.name))
        let found = try context.connection.rows(
            "SELECT name FROM destination.sqlite_master WHERE type = 'trigger' AND name LIKE 'Z\\_DA\\_%' ESCAPE '\\'")
        for name in found.compactMap({ $0[0].text }) where !expected.contains(name) {
            context.report(DerivedAttributesCheck.self, entity: nil, example: "trigger \(name)")
        }
        for trigger in context.destination.allTriggers {
            if try context.statement(of: "trigger", trigger.name, on: trigger.table) != trigger.sql {
                context.report(DerivedAttributesCheck.self, entity: nil, example: "trigger \(trigger.name)")
            }
        }
    }

    /// Whether a superentity has the attribute: models made in code repeat inherited attributes in subentities.
    private func isInherited(_ attribute: Attribute, of entity: String, in context: VerificationContext) -> Bool {
        context.destinationModel.lineage(of: entity).dropFirst().contains { ancestor in
            ancestor.attributes.contains { $0.name == attribute.name }
        }
    }

    private func check(_ attribute: Attribute, of entity: String, in context: VerificationContext) throws {
        let table = try context.destinationTable(of: entity).name
        guard let column = context.destination.column(of: attribute.name, in: entity)?.name,
            let expected = expected(attribute, of: entity, in: context)
        else {
            return context.report(DerivedAttributesCheck.self, entity: entity, example: "\(table) \(attribute.name)")
        }
        try context.announce(table)
        let wrong = try context.connection.rows(
            """
            SELECT count(*), min(t.Z_PK) FROM destination.\(table) AS t \(expected.join)
            WHERE t.Z_ENT IN (\(context.destinationNumbers(ofFamily: entity)))
                AND \(expected.isSum ? Self.differs("t.\(column)", expected.value) : "t.\(column) IS NOT \(expected.value)")
            """)
        context.report(
            DerivedAttributesCheck.self, entity: entity, count: wrong.first?[0].integer ?? 0,
            example: wrong.first?[1].integer.map { "\(table) Z_PK \($0) \(column)" })
    }

    /// The SQL condition that two sums differ; the last digits of a sum of doubles depend on the order of the addends.
    private static func differs(_ left: String, _ right: String) -> String {
        "CASE WHEN typeof(\(left)) = 'integer' AND typeof(\(right)) = 'integer' THEN \(left) <> \(right) "
            + "ELSE ifnull(abs(\(left) - \(right)) > 1e-9 * max(abs(\(left)), abs(\(right)), 1), 1) END"
    }

    private struct Expected {
        var join: String
        var value: String
        var isSum = false
    }

    /// The SQL of the expected value, as one pass over its operands; the engine looks up object by object instead.
    private func expected(_ attribute: Attribute, of entity: String, in context: VerificationContext) -> Expected? {
        let layout = context.destination
        switch attribute.derivation {
        case .value(let path):
            if let own = layout.column(of: path.joined(separator: "."), in: entity) {
                return Expected(join: "", value: "t.\(own.name)")
            }
            guard case .foreignKey(_, let key, _, _)? = layout.storage(of: path[0], in: entity),
                let destination = context.destinationModel.relationship(path[0], of: entity)?.destinationEntity,
                let table = layout.table(of: destination)?.name,
                let column = layout.column(of: path.dropFirst().joined(separator: "."), in: destination)?.name
            else { return nil }
            return Expected(
                join: "LEFT JOIN destination.\(table) AS s ON s.Z_PK = t.\(key)", value: "s.\(column)")
        case .count(let relationship): return expected(relationship, of: entity, summing: nil, in: context)
        case .sum(let relationship, let summed): return expected(relationship, of: entity, summing: summed, in: context)
        case .function, .now, nil: return nil
        }
    }

    /// The SQL of the number of objects in a to-many relationship, or of the sum of one of their attributes.
    private func expected(
        _ relationship: String, of entity: String, summing summed: String?, in context: VerificationContext
    ) -> Expected? {
        let layout = context.destination
        guard let destination = context.destinationModel.relationship(relationship, of: entity)?.destinationEntity,
            let objects = layout.table(of: destination)?.name,
            let links = layout.storage(of: relationship, in: entity).map(StoredLinks.init), !links.areInRowsOfA
        else { return nil }
        var (value, join) = ("count(*)", "")
        if let summed {
            guard let column = layout.column(of: summed, in: destination)?.name else { return nil }
            value = "sum(\(links.areInRowsOfB ? "l" : "o").\(column))"
            if !links.areInRowsOfB { join = "JOIN destination.\(objects) AS o ON o.Z_PK = l.\(links.b) " }
        }
        return Expected(
            join: """
                LEFT JOIN (SELECT l.\(links.a) AS owner, \(value) AS n FROM destination.\(links.table) AS l \(join)
                    WHERE l.\(links.a) IS NOT NULL GROUP BY owner) AS c ON c.owner = t.Z_PK
                """, value: "ifnull(c.n, 0)", isSum: summed != nil)
    }
}
