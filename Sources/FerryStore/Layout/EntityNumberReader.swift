internal import FerryBase
internal import FerryModel
internal import FerrySQLite

/// Finds the number that a store gives each entity of its model.
///
/// After an in-place migration that renamed an entity, `Z_PRIMARYKEY` can still hold the old name. So an entity is
/// looked for by its name, then by its renaming identifier, then at the place where a new store would have it.
struct EntityNumberReader {
    private let model: ManagedObjectModel
    /// Name to number, as the store has it.
    private var rows: [String: Int64]

    init(_ model: ManagedObjectModel, on connection: Connection, schema: String) throws {
        self.model = model
        rows = [:]
        let table = SQLName.quoted(schema, "Z_PRIMARYKEY")
        for row in try connection.rows("SELECT Z_ENT, Z_NAME FROM \(table) ORDER BY Z_ENT") {
            guard let number = row[0].integer, let name = row[1].text else { continue }
            guard rows.updateValue(number, forKey: name) == nil else {
                throw FerryError(
                    .damagedSource, "Z_PRIMARYKEY names the entity \(name) twice.",
                    remedy: "Restore the store from a backup.")
            }
        }
    }

    func numbers() throws(FerryError) -> [String: Int64] {
        var numbers: [String: Int64] = [:]
        var free = rows
        let entities = EntityOrder(model).numbered
        for entity in entities {
            if let number = free.removeValue(forKey: entity) { numbers[entity] = number }
        }
        for entity in entities where numbers[entity] == nil {
            guard let identifier = model.entities[entity]?.renamingIdentifier else { continue }
            if let number = free.removeValue(forKey: identifier) { numbers[entity] = number }
        }
        let freeNumbers = Set(free.values)
        for (offset, entity) in entities.enumerated() where numbers[entity] == nil {
            guard freeNumbers.contains(Int64(offset + 1)) else {
                throw FerryError(
                    .damagedSource, "The store has no number for the entity \(entity) in Z_PRIMARYKEY.",
                    remedy: "Check that the model is the store's own; else restore the store from a backup.",
                    place: .init(entity: entity))
            }
            numbers[entity] = Int64(offset + 1)
        }
        return numbers
    }
}
