internal import FerryMapping
internal import FerrySQLite
internal import FerryStore

/// The numbers of links before a step in place and after it, of relationships whose links it moves or leaves out.
///
/// Every object keeps its key in place, so that numbers are enough; the old links are gone when the new ones are there.
struct LinksInPlace {
    /// `isBetweenObjects`: only links between objects that live on count.
    private var counted: [(links: SourceLinks, before: Int64, isBetweenObjects: Bool)] = []

    /// Counts the links of the old version, which the connection has as `source`.
    ///
    /// `mayDangle`: keys may lead to no object, or to one of no known entity.
    init(_ context: VerificationContext, writing tables: Set<String>, mayDangle: Bool) throws {
        for links in try context.sourceLinks.get()
        where !links.isComputed && links.told != nil && !links.ends.isEmpty {
            let isMoved = links.targets.isEmpty || links.targets.contains { tables.contains($0.links.table) }
            guard isMoved, links.targets.count < 2, !links.isMixed, Self.areCarried(links, in: context) else {
                continue
            }
            // The search for damage may have passed over a table from which links move.
            let stay = links.targets.allSatisfy { $0.links.table == links.form.links.table }
            let isBetweenObjects = mayDangle || !stay || !links.isWhole(in: context)
            let before =
                try isBetweenObjects
                ? Self.countBetweenObjects(links, links.form, isSource: true, in: context)
                : links.form.links.count(in: "source", context.connection)
            counted.append((links, before, isBetweenObjects))
        }
    }

    /// Whether the objects at both ends live on as one object each, or not at all.
    private static func areCarried(_ links: SourceLinks, in context: VerificationContext) -> Bool {
        var seen: Set<String> = []
        return context.step.entityMappings.filter { links.ends.contains($0.source) }.allSatisfy {
            $0.carriesEveryObject && $0.keepsPrimaryKey && seen.insert($0.source).inserted
        }
    }

    private static func countBetweenObjects(
        _ links: SourceLinks, _ form: SourceLinks.Form, isSource: Bool, in context: VerificationContext
    ) throws -> Int64 {
        /// The table and the numbers of the objects that live on.
        func objects(_ entities: [String]) throws -> (table: String, numbers: String)? {
            let mappings = context.step.entityMappings.filter { entities.contains($0.source) }
            guard let first = mappings.first else { return nil }
            let table =
                try isSource ? context.sourceTable(of: first.source) : context.destinationTable(of: first.destination)
            let numbers = try mappings.map {
                try isSource ? context.sourceNumber(of: $0.source) : context.destinationNumber(of: $0.destination)
            }
            return (table.name, numbers.sorted().sqlList)
        }
        guard let owners = try objects(links.owners), let members = try objects(links.members) else { return 0 }
        let (schema, stored) = (isSource ? "source" : "destination", form.links)
        let (x, y) = (stored.areInRowsOfA ? "l" : "x", stored.areInRowsOfB ? "l" : "y")
        var tables = "\(schema).\(stored.table) AS l"
        if x == "x" { tables += " CROSS JOIN \(schema).\(owners.table) AS x ON x.Z_PK = l.\(stored.a)" }
        if y == "y" { tables += " CROSS JOIN \(schema).\(members.table) AS y ON y.Z_PK = l.\(stored.b)" }
        let isAgreed = form.agreement(of: x, with: y).map { " AND \($0)" } ?? ""
        return try context.connection.integer(
            "SELECT count(*) FROM \(tables) WHERE \(x).Z_ENT IN (\(owners.numbers)) AND \(y).Z_ENT IN (\(members.numbers))"
                + isAgreed) ?? 0
    }

    /// Reports links that the new version, which the connection has as `destination`, lacks.
    func check(in context: VerificationContext) throws {
        for counted in counted where counted.before > 0 {
            let links = counted.links
            var after: Int64 = 0
            if let target = links.targets.first {
                after =
                    try counted.isBetweenObjects
                    ? Self.countBetweenObjects(links, target, isSource: false, in: context)
                    : target.links.count(in: "destination", context.connection)
            }
            context.report(
                LinksCheck.self, entity: links.key.entity, property: links.key.property,
                count: counted.before - after - (links.told ?? 0),
                example: "\(links.form.links.table) \(links.key.property)")
        }
    }
}
