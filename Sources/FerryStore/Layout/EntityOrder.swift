internal import FerryBase
internal import FerryModel
internal import FerrySQLite

extension StoreLayout {
    /// Reads the entity numbers of a store.
    ///
    /// After an in-place migration with a renamed entity, `Z_PRIMARYKEY` can still have the old name. So the search
    /// uses the name, then the renaming identifier, then the number that a new store would have.
    static func storedNumbers(
        of model: ManagedObjectModel, on connection: Connection, schema: String
    ) throws -> [String: Int64] {
        // Name to number, for numbers without an entity so far.
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
                    remedy: "Check that the model is the store's own; otherwise restore the store from a backup.",
                    place: .init(entity: entity))
            }
            numbers[entity] = Int64(offset + 1)
        }
        return numbers
    }
}

/// Core Data's two orders of a model's entities.
///
/// Both sort by name without regard to case, then by code unit for names that differ only in case.
struct EntityOrder {
    /// Root entities by name, each followed by its subtree, children by name: `Z_ENT` counts in this order from 1.
    let numbered: [String]
    /// All entities by name, each after its ancestors: decides the names of join tables and suffixes of their columns.
    let setUp: [String]
    let setUpPosition: [String: Int]

    init(_ model: ManagedObjectModel) {
        let names = model.entities.keys.inOrder(by: EntityOrder.precedes)
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
    package var sqlList: String { map(String.init).joined(separator: ", ") }

    /// Returns the condition that a row is of an entity with one of these numbers.
    ///
    /// `prefix` is an alias with its dot, or a plus sign against the index on `Z_ENT`, for rows in the order of keys.
    package func rowCondition(_ prefix: String = "") -> String { "\(prefix)Z_ENT IN (\(sqlList))" }
}

extension Sequence<String?> {
    /// The assignments that set the non-nil columns to NULL: `ZOWNER = NULL, Z2_OWNER = NULL`.
    package var emptied: String { compactMap { $0 }.map { "\($0) = NULL" }.joined(separator: ", ") }
}
