internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryStore

/// Attributes at the end of paths of to-one relationships, which SQLite reads together with the rows of a source table:
/// one statement for all rows instead of one look-up for each object on each path.
struct JoinedPaths {
    /// More would cost rows that need none of them too much.
    private static let mostJoins = 16

    private let context: VerificationContext
    /// SQL after the table, whose name is `o`; empty without paths.
    private(set) var joins = ""
    private(set) var columns: [String] = []
    private var names: [String: String] = [:]
    private var places: [PropertyKey: (place: Int, attribute: Attribute)] = [:]

    init(in context: VerificationContext) { self.context = context }

    /// The place of a path's value among ``columns``.
    subscript(path: [String], of entity: String) -> (place: Int, attribute: Attribute)? {
        places[PropertyKey(entity, path.joined(separator: "."))]
    }

    /// Adds the path of a mapping's `$source`, unless it is not a path through foreign keys to a stored attribute.
    mutating func add(_ path: [String], of source: String) {
        guard path.count > 1, self[path, of: source] == nil,
            let hops = hops(path.dropLast(), of: source), let last = hops.last,
            let attribute = context.sourceModel.attribute(path[path.count - 1], of: last.target),
            !attribute.isTransient, attribute.type != .composite,
            let column = context.source.column(of: attribute.name, in: last.target)
        else { return }
        let prefixes = hops.indices.map { source + "." + path[...$0].joined(separator: ".") }
        guard names.count + prefixes.filter({ names[$0] == nil }).count <= Self.mostJoins else { return }
        var owner = "o"
        for (hop, prefix) in zip(hops, prefixes) {
            if names[prefix] == nil {
                let name = "p\(names.count)"
                names[prefix] = name
                // A damaged key may lead to a row of another entity, which is not related.
                joins += """

                    LEFT JOIN source.\(hop.table) \(name) ON \(name).Z_PK = \(owner).\(hop.key) \
                    AND \(name).Z_ENT IN (\(hop.numbers))
                    """
            }
            owner = names[prefix] ?? owner
        }
        places[PropertyKey(source, path.joined(separator: "."))] = (columns.count, attribute)
        columns.append("\(owner).\(column.name)")
    }

    private struct Hop {
        var key: String
        var table: String
        var target: String
        var numbers: String
    }

    private func hops(_ path: ArraySlice<String>, of source: String) -> [Hop]? {
        var (entity, hops) = (source, [Hop]())
        for name in path {
            guard let relationship = context.sourceModel.relationship(name, of: entity),
                case .foreignKey(_, let key, _, _)? = context.source.storage(of: name, in: entity),
                let table = context.source.table(of: relationship.destinationEntity)
            else { return nil }
            entity = relationship.destinationEntity
            let numbers = context.source.numbers(ofFamily: entity).sqlList
            hops.append(Hop(key: key, table: table.name, target: entity, numbers: numbers))
        }
        return hops
    }
}
