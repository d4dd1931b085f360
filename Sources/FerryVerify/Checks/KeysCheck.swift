internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// `Z_MAX`: not below the highest key of its table, nor below what the source had handed out where keys are kept.
struct KeysCheck: Check {
    static let name = "keys"
    static let isQuick = true
    static let scope = CheckScope.any

    func run(in context: VerificationContext) throws {
        for root in context.destination.tables.keys.sorted(by: codeUnitOrder) {
            let table = try context.destinationTable(of: root)
            let largest = try context.connection.integer("SELECT max(Z_PK) FROM destination.\(table.name)") ?? 0
            let recorded = try context.connection.integer(
                "SELECT Z_MAX FROM destination.Z_PRIMARYKEY WHERE Z_ENT = ?",
                [.integer(try context.destinationNumber(of: root))])
            if (recorded ?? -1) < max(largest, try context.highestKeptKey(in: root)) {
                context.report(KeysCheck.self, entity: root, example: "Z_PRIMARYKEY \(root) Z_MAX")
            }
        }
    }
}
