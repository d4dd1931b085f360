internal import FerryModel

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
