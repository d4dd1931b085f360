internal import FerryBase
internal import FerryModel
internal import FerrySQLite

extension StoreLayout {
    /// Finds the number that a store gives each entity of its model.
    ///
    /// After an in-place migration that renamed an entity, `Z_PRIMARYKEY` can still hold the old name. So an entity is
    /// looked for by its name, then by its renaming identifier, then at the place where a new store would have it.
    static func storedNumbers(
        of model: ManagedObjectModel, on connection: Connection, schema: String
    ) throws -> [String: Int64] {
        // Name to number, as far as no entity has it yet.
        var free: [String: Int64] = [:]
        let table = SQLName.quoted(schema, "Z_PRIMARYKEY")
        for row in try connection.rows("SELECT Z_ENT, Z_NAME FROM \(table) ORDER BY Z_ENT") {
            guard let number = row[0].integer, let name = row[1].text else { continue }
            guard free.updateValue(number, forKey: name) == nil else {
                throw FerryError(
                    .damagedSource, "Z_PRIMARYKEY names the entity \(name) twice.",
                    remedy: "Restore the store from a backup.")
            }
        }
        var numbers: [String: Int64] = [:]
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

/// The two orders that Core Data takes a model's entities in.
///
/// Both go by name without regard to case; equal names (which a model cannot have but for case) by code unit.
struct EntityOrder {
    /// Root entities by name, each followed by its subtree, children by name: `Z_ENT` counts along it from 1.
    let numbered: [String]
    /// All entities by name, but before an entity its ancestors that are not listed yet: decides which entity names
    /// a join table, and the suffixes of join columns.
    let setUp: [String]
    /// The place of an entity in ``setUp``.
    let setUpPosition: [String: Int]

    init(_ model: ManagedObjectModel) {
        let names = model.entities.keys.sorted(by: EntityOrder.precedes)
        let children = Dictionary(grouping: names) { model.entities[$0]?.superentity ?? "" }
        numbered = EntityOrder.preOrder(children)
        setUp = EntityOrder.setUp(names, of: model)
        setUpPosition = Dictionary(uniqueKeysWithValues: setUp.enumerated().map { ($1, $0) })
    }

    /// Entity name to `Z_ENT`.
    var numbers: [String: Int64] {
        Dictionary(uniqueKeysWithValues: numbered.enumerated().map { ($1, Int64($0 + 1)) })
    }

    private static func preOrder(_ children: [String: [String]]) -> [String] {
        var order: [String] = []
        var stack = Array((children[""] ?? []).reversed())
        while let name = stack.popLast() {
            order.append(name)
            stack += (children[name] ?? []).reversed()
        }
        return order
    }

    private static func setUp(_ names: [String], of model: ManagedObjectModel) -> [String] {
        var order: [String] = []
        var listed: Set<String> = []
        for name in names {
            for entity in model.lineage(of: name).reversed() where listed.insert(entity.name).inserted {
                order.append(entity.name)
            }
        }
        return order
    }

    private static func precedes(_ left: String, _ right: String) -> Bool {
        let (folded, other) = (left.lowercased(), right.lowercased())
        return folded == other ? codeUnitOrder(left, right) : codeUnitOrder(folded, other)
    }
}

extension Sequence<Int64> {
    /// Entity numbers as they stand between the parentheses of `Z_ENT IN (…)`, in their order.
    package var sqlList: String { map(String.init).joined(separator: ", ") }

    /// The condition that a row is of one of the entities with these numbers.
    ///
    /// Before the column may stand an alias with its dot, or a plus sign that keeps SQLite from the index of entity numbers,
    /// so that rows come in the order of their keys.
    package func rowCondition(_ prefix: String = "") -> String { "\(prefix)Z_ENT IN (\(sqlList))" }
}

extension Sequence<String?> {
    /// The assignments that empty columns, as far as there are such: `ZOWNER = NULL, Z2_OWNER = NULL`.
    package var emptied: String { compactMap { $0 }.map { "\($0) = NULL" }.joined(separator: ", ") }
}
