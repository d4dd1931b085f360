internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// `Z_MAX`: not below the highest key of its table, nor below what the source had handed out where keys are kept.
///
/// What a run has written is exactly the highest of these; entities below a root give no keys of their own.
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
            let expected = max(largest, try context.highestKeptKey(in: root))
            let isWritten = !context.verification.mayHaveOtherNames && !context.verification.isStoreAlone
            if isWritten ? recorded != expected : recorded ?? -1 < expected {
                context.report(KeysCheck.self, entity: root, example: "Z_PRIMARYKEY \(root) Z_MAX")
            }
            guard isWritten else { continue }
            for entity in context.destinationModel.family(of: root) where entity != root {
                let own = try context.connection.integer(
                    "SELECT Z_MAX FROM destination.Z_PRIMARYKEY WHERE Z_ENT = ?",
                    [.integer(try context.destinationNumber(of: entity))])
                if own != 0 {
                    context.report(KeysCheck.self, entity: entity, example: "Z_PRIMARYKEY \(entity) Z_MAX")
                }
            }
        }
    }
}
