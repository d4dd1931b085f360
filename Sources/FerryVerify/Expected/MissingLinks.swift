internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// The links of one relationship of the source whose ends live on, but that are not in the destination.
///
/// Numbers show that there are none if they follow from the source's links, and from which objects live on.
struct MissingLinks {
    /// Where the heirs of a source entity's objects are.
    private enum Heirs {
        /// In a root table of the destination, under their own keys.
        case kept(sources: Set<Int64>, table: String, numbers: Set<Int64>)
        /// Somewhere, for every object.
        case whole(source: Int64)
        /// In the lookup file, by the position of the entity mapping.
        case associated(source: Int64, table: String)
    }

    /// The heirs of the objects at one end.
    private struct End {
        var all: [Heirs] = []
        /// Those by entity mappings that stand in for an object.
        var carried: [Heirs] = []
    }

    private let links: SourceLinks
    private let context: VerificationContext
    private let owners: End
    private let members: End

    /// Nil if the heirs of new keys are not known: a walker has no lookup file, and quick checks fill none.
    init?(_ links: SourceLinks, withLookups: Bool, in context: VerificationContext) throws {
        (self.links, self.context) = (links, context)
        func end(_ entities: [String]) throws -> End? {
            let mappings = entities.map { entity in context.step.entityMappings(of: entity) }
            // Where links could be matters only if there is a place for them.
            let known = links.targets.isEmpty ? [] : mappings.flatMap { $0 }
            guard let all = try Self.heirs(by: known, withLookups: withLookups, in: context),
                let carried = try Self.heirs(
                    by: mappings.flatMap(\.standIns), isAnyPlace: true, withLookups: withLookups, in: context)
            else { return nil }
            return End(all: all, carried: carried)
        }
        guard let owners = try end(links.owners), let members = try end(links.members) else { return nil }
        (self.owners, self.members) = (owners, members)
    }

    private static func heirs(
        by mappings: [ResolvedEntityMapping], isAnyPlace: Bool = false, withLookups: Bool,
        in context: VerificationContext
    ) throws -> [Heirs]? {
        var kept: [String: (sources: Set<Int64>, numbers: Set<Int64>)] = [:]
        var heirs: [Heirs] = []
        for mapping in mappings {
            let source = try context.sourceNumber(of: mapping.source)
            if mapping.keepsPrimaryKey {
                let table = try context.destinationTable(of: mapping.destination).name
                kept[table, default: ([], [])].sources.insert(source)
                kept[table, default: ([], [])].numbers.insert(try context.destinationNumber(of: mapping.destination))
                continue
            }
            if isAnyPlace, mapping.readsEveryObject, mapping.policy == nil {
                heirs.append(.whole(source: source))
                continue
            }
            guard withLookups, let table = try context.associationTable(of: mapping) else { return nil }
            heirs.append(.associated(source: source, table: table))
        }
        return heirs
            + kept.inOrder { $0.key < $1.key }.map {
                .kept(sources: $0.value.sources, table: $0.key, numbers: $0.value.numbers)
            }
    }

    /// The number of links that the destination must have, of so many in the source; nil if it does not follow from these,
    /// and from which objects live on.
    static func expected(_ links: SourceLinks, of before: Int64, in context: VerificationContext) throws -> Int64? {
        typealias Objects = (entities: [String], heirs: [Heirs], areAll: Bool)
        func objects(_ entities: [String]) throws -> Objects? {
            let standIns = entities.map { context.step.entityMappings(of: $0).standIns }
            let mappings = standIns.flatMap { $0 }
            let areOne = mappings.allSatisfy { $0.iteration == nil && $0.unique.isEmpty && $0.policy == nil }
            guard areOne, standIns.allSatisfy({ $0.count == 1 }),
                let heirs = try heirs(by: mappings, isAnyPlace: true, withLookups: false, in: context)
            else { return nil }
            return (entities, heirs, mappings.allSatisfy(\.carriesEveryObject))
        }
        guard links.targets.count == 1, !links.isMixed, let owners = try objects(links.owners),
            let members = try objects(links.members)
        else { return nil }
        // In the order of the objects, of which few are left out, and not of the links.
        func lost(_ links: StoredLinks, of near: Objects, to far: Objects?) throws -> Int64 {
            if near.areAll { return 0 }
            let (x, y) = names(of: links)
            var tables = "source.\(try context.sourceTable(of: near.entities[0]).name) AS \(x)"
            if x == "x" { tables += " CROSS JOIN source.\(links.table) AS l ON l.\(links.a) = x.Z_PK" }
            let numbers = try near.entities.map { try context.sourceNumber(of: $0) }.sqlList
            var conditions = ["\(x).Z_ENT IN (\(numbers))", "NOT \(live(near.heirs, x))", "l.\(links.b) IS NOT NULL"]
            if let far, !far.areAll {
                let table = try context.sourceTable(of: far.entities[0]).name
                if y == "y" { tables += " CROSS JOIN source.\(table) AS y ON y.Z_PK = l.\(links.b)" }
                conditions.append(live(far.heirs, y))
            }
            return try context.connection.integer(
                "SELECT count(*) FROM \(tables) WHERE \(conditions.joined(separator: " AND "))") ?? 0
        }
        let stored = links.form.links
        return try before - lost(stored, of: owners, to: nil) - lost(stored.reversed, of: members, to: owners)
    }

    /// The aliases of the rows at the two ends of links, `l`: the row of an end holds the links of a foreign key.
    private static func names(of links: StoredLinks) -> (x: String, y: String) {
        (links.areInRowsOfA ? "l" : "x", links.areInRowsOfB ? "l" : "y")
    }

    /// Their number, and the place of the first.
    func found() throws -> (count: Int64, example: String?) {
        if owners.carried.isEmpty || members.carried.isEmpty { return (0, nil) }
        let source = links.form.links
        let (x, y) = Self.names(of: source)
        var tables = "source.\(source.table) AS l"
        if x == "x" { tables += " CROSS JOIN source.\(try table(of: links.owners)) AS x ON x.Z_PK = l.\(source.a)" }
        if y == "y" { tables += " CROSS JOIN source.\(try table(of: links.members)) AS y ON y.Z_PK = l.\(source.b)" }
        var conditions = [
            "l.\(source.a) IS NOT NULL", "l.\(source.b) IS NOT NULL", Self.live(owners.carried, x),
            Self.live(members.carried, y),
        ]
        // Only one side of a damaged one-to-one has the key.
        if let other = links.form.other { conditions.append("\(y).\(other.b) = \(x).Z_PK") }
        let there = links.targets.flatMap { target in
            owners.all.flatMap { owner in members.all.flatMap { member in isThere(target, (owner, x), (member, y)) } }
        }
        if !there.isEmpty { conditions.append("NOT (\(there.joined(separator: " OR ")))") }
        let row = try context.connection.rows(
            "SELECT count(*), min(l.\(source.areInRowsOfB ? source.b : source.a)) FROM \(tables) "
                + "WHERE \(conditions.joined(separator: " AND "))")
        let (count, key) = (row.first?[0].integer ?? 0, row.first?[1].integer)
        return (count, key.map { "\(source.table) \(source.areInRowsOfB ? source.b : source.a) \($0)" })
    }

    private func table(of entities: [String]) throws -> String { try context.sourceTable(of: entities[0]).name }

    private static func live(_ heirs: [Heirs], _ row: String) -> String {
        // Not from the index on `Z_ENT`, which SQLite could prefer to that on the key by which it finds the row.
        let number = "+\(row).Z_ENT"
        let ways = heirs.map { heirs in
            switch heirs {
            case .kept(let sources, let table, let numbers):
                """
                \(number) IN (\(sources.sorted().sqlList)) AND EXISTS (
                    SELECT 1 FROM destination.\(table) AS h WHERE h.Z_PK = \(row).Z_PK AND h.Z_ENT IN (\(numbers.sorted().sqlList)))
                """
            case .whole(let source): "\(number) = \(source)"
            case .associated(let source, let table):
                "\(number) = \(source) AND EXISTS (SELECT 1 FROM \(table) AS h WHERE h.source = \(row).Z_PK)"
            }
        }
        return "(\(ways.joined(separator: " OR ")))"
    }

    /// Conditions of which one holds if the heirs of two objects are linked in the destination.
    private func isThere(
        _ target: LinkForm, _ owner: (heirs: Heirs, row: String), _ member: (heirs: Heirs, row: String)
    ) -> [String] {
        let (own, other) = (heir(owner.heirs, owner.row, "p"), heir(member.heirs, member.row, "q"))
        func condition(_ links: StoredLinks, _ a: String, _ b: String) -> String {
            let tables = [own.table, other.table].compactMap { $0 } + ["destination.\(links.table) AS j"]
            let known = [own.condition, other.condition].joined(separator: " AND ")
            return "EXISTS (SELECT 1 FROM \(tables.joined(separator: ", ")) "
                + "WHERE \(known) AND j.\(links.a) = \(a) AND j.\(links.b) = \(b))"
        }
        var conditions = [condition(target.links, own.key, other.key)]
        if let links = target.other { conditions.append(condition(links.reversed, own.key, other.key)) }
        if target.isReflexive { conditions.append(condition(target.links, other.key, own.key)) }
        return conditions
    }

    private func heir(_ heirs: Heirs, _ row: String, _ name: String) -> (key: String, table: String?, condition: String)
    {
        switch heirs {
        case .kept(let sources, _, _):
            ("\(row).Z_PK", nil, "\(row).Z_ENT IN (\(sources.sorted().sqlList))")
        case .whole: preconditionFailure("the place of a link needs the keys of its ends")
        case .associated(let source, let table):
            ("\(name).key", "\(table) AS \(name)", "\(row).Z_ENT = \(source) AND \(name).source = \(row).Z_PK")
        }
    }
}

extension VerificationContext {
    /// The table with the heirs of a mapping's objects, which full verification can fill; nil if it did not.
    fileprivate func associationTable(of mapping: ResolvedEntityMapping) throws -> String? {
        guard verification.mode == .full,
            try !step.hasPolicies || relationForms.get().associated.contains(mapping.position)
        else { return nil }
        try NewRows.associate(mapping, in: self)
        let table = try associations(of: mapping.position)
        try table.flush()
        return table.name
    }
}
