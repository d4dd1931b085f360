internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// Every row is of an entity that its table holds, and of none that is abstract; after a migration the counts tell.
struct EntityNumbersCheck: Check {
    static let name = "entityNumbers"
    static let isQuick = true
    static let scope = CheckScope.store

    func run(in context: VerificationContext) throws {
        let model = context.destinationModel
        for root in context.destination.tables.keys.sorted(by: codeUnitOrder) {
            let table = try context.destinationTable(of: root)
            try context.announce(table.name)
            let numbers = model.family(of: root).filter { model.entities[$0]?.isAbstract == false }
                .compactMap(context.destination.number).sorted().map(String.init).joined(separator: ", ")
            let wrong = try context.connection.prepare(
                """
                SELECT count(*), min(Z_PK) FROM destination.\(table.name)
                WHERE Z_ENT IS NULL OR Z_ENT NOT IN (\(numbers))
                """)
            guard try wrong.step(), wrong.integer(0) > 0 else { continue }
            context.report(
                EntityNumbersCheck.self, entity: root, count: wrong.integer(0),
                example: "\(table.name) Z_PK \(wrong.integer(1)) Z_ENT")
        }
    }
}
