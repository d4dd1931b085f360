import FerryModel
import FerrySQLite
import FerryStore

/// The objects of a store and their related objects, independent of keys.
///
/// Core Data gave new keys to the objects of some real stores. So the comparison identifies objects by their values,
/// and relationships by the values of both objects.
struct StoreObjects {
    /// The number of objects with equal values, by entity.
    private var values: [String: [[Value]: Int]] = [:]
    /// The number of pairs with equal values of both objects, by entity and relationship.
    private var pairs: [String: [[Value]: Int]] = [:]

    /// Compares all objects of two stores of one version.
    ///
    /// - Parameters:
    ///   - ours: The first store.
    ///   - theirs: The second store.
    ///   - version: The version of both stores.
    ///   - edited: Attributes (`Book.title`) whose values are not compared.
    /// - Returns: The objects that only one store has.
    /// - Throws: The error of reading the stores.
    static func differences(
        _ ours: String, _ theirs: String, _ version: ModelVersion, leavingOut edited: Set<String>
    ) throws -> [String] {
        let ours = try StoreObjects(ours, version, edited)
        let theirs = try StoreObjects(theirs, version, edited)
        return differences(ours.values, theirs.values) + differences(ours.pairs, theirs.pairs)
    }

    private static func differences(
        _ ours: [String: [[Value]: Int]], _ theirs: [String: [[Value]: Int]]
    ) -> [String] {
        Set(ours.keys).union(theirs.keys).sorted().compactMap { name in
            let (left, right) = (ours[name] ?? [:], theirs[name] ?? [:])
            let onlyOurs = left.reduce(0) { $0 + max(0, $1.value - (right[$1.key] ?? 0)) }
            let onlyTheirs = right.reduce(0) { $0 + max(0, $1.value - (left[$1.key] ?? 0)) }
            return onlyOurs + onlyTheirs == 0 ? nil : "\(name): \(onlyOurs) only ours, \(onlyTheirs) only theirs"
        }
    }

    private init(_ path: String, _ version: ModelVersion, _ edited: Set<String>) throws {
        let connection = try Connection(path: path, mode: .readWrite)
        let model = version.model
        let layout = try StoreLayout.actual(for: model, on: connection)
        var objects: [String: [Int64: [Value]]] = [:]
        let concrete = model.sortedEntityNames.filter { model.entities[$0]?.isAbstract == false }
        for entity in concrete {
            guard let table = layout.table(of: entity), let number = layout.number(of: entity) else { continue }
            let columns = model.attributes(of: entity).filter { !edited.contains("\(entity).\($0.name)") }.compactMap {
                layout.column(of: $0.name, in: entity)?.name
            }
            let rows = try connection.rows(
                "SELECT \((["Z_PK"] + columns).joined(separator: ", ")) FROM \(table.name) WHERE Z_ENT = ?",
                [.integer(number)])
            for row in rows {
                guard let key = row[0].integer else { continue }
                let own = Array(row.dropFirst())
                objects[model.root(of: entity), default: [:]][key] = [.text(entity)] + own
                values[entity, default: [:]][own, default: 0] += 1
            }
        }
        for entity in concrete {
            guard let table = layout.table(of: entity), let number = layout.number(of: entity) else { continue }
            for relationship in model.relationships(of: entity) where !relationship.isTransient {
                let related: String
                switch layout.storage(of: relationship.name, in: entity) {
                case .foreignKey(_, let column, _, _)?:
                    related = "SELECT Z_PK, \(column) FROM \(table.name) WHERE Z_ENT = ?"
                case .join(let join, let first, let second, _, _)?:
                    related =
                        "SELECT \(first), \(second) FROM \(join) JOIN \(table.name) ON Z_PK = \(first) WHERE Z_ENT = ?"
                case .inverseless(let other, let column)?:
                    related =
                        "SELECT o.Z_PK, d.Z_PK FROM \(other) d JOIN \(table.name) o ON o.Z_PK = d.\(column) WHERE o.Z_ENT = ?"
                default: continue
                }
                let destination = model.root(of: relationship.destinationEntity)
                for row in try connection.rows(related, [.integer(number)]) {
                    guard let key = row[0].integer, let other = row[1].integer else { continue }
                    let both =
                        (objects[model.root(of: entity)]?[key] ?? []) + (objects[destination]?[other] ?? [])
                    pairs["\(entity).\(relationship.name)", default: [:]][both, default: 0] += 1
                }
            }
        }
    }
}
