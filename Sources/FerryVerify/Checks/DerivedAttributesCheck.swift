internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// Derived attributes: their values counted again, their triggers as Core Data makes them.
struct DerivedAttributesCheck: Check {
    static let name = "derivedAttributes"
    static let isQuick = true
    static let scope = CheckScope.any

    func run(in context: VerificationContext) throws {
        for entity in context.destinationModel.sortedEntityNames {
            for attribute in context.destinationModel.entities[entity]?.attributes ?? [] where attribute.isDerived {
                try check(attribute, of: entity, in: context)
            }
        }
        for trigger in context.destination.triggers {
            let sql = try context.connection.value(
                "SELECT sql FROM destination.sqlite_master WHERE type = 'trigger' AND name = ? AND tbl_name = ?",
                [.text(trigger.name), .text(trigger.table)])
            if sql?.text != trigger.sql {
                context.report(DerivedAttributesCheck.self, entity: nil, example: "trigger \(trigger.name)")
            }
        }
    }

    private func check(_ attribute: Attribute, of entity: String, in context: VerificationContext) throws {
        let path = (attribute.derivationExpression ?? "").split(separator: ".")
        let table = try context.destinationTable(of: entity).name
        guard let column = context.destination.column(of: attribute.name, in: entity)?.name, path.count == 2,
            path[1] == "@count",
            case .inverseForeignKey(let counted, let key, _, _)? = context.destination.storage(
                of: String(path[0]), in: entity)
        else {
            return context.report(DerivedAttributesCheck.self, entity: entity, example: "\(table) \(attribute.name)")
        }
        try context.announce(table)
        let wrong = try context.connection.rows(
            """
            SELECT count(*), min(t.Z_PK) FROM destination.\(table) AS t
            LEFT JOIN (SELECT \(key) AS owner, count(*) AS n FROM destination.\(counted)
                WHERE \(key) IS NOT NULL GROUP BY \(key)) AS c ON c.owner = t.Z_PK
            WHERE t.Z_ENT IN (\(context.destinationNumbers(ofFamily: entity))) AND t.\(column) IS NOT ifnull(c.n, 0)
            """)
        context.report(
            DerivedAttributesCheck.self, entity: entity, count: wrong.first?[0].integer ?? 0,
            example: wrong.first?[1].integer.map { "\(table) Z_PK \($0) \(column)" })
    }
}
