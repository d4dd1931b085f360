import Ferry
import FerryModel
import FerrySQLite
import Foundation

/// A plain program that knows the files of both stores, their models and the mapping's words, and nothing of Ferry's
/// plan: it looks for every value and link of the source in the destination, and compares what it does not find with
/// the losses that the report tells.
struct BlindOracle {
    /// One side: the tables as Core Data names them.
    struct Side {
        let model: ManagedObjectModel
        let connection: Connection
        let numbers: [String: Int64]

        init(_ path: String, _ model: ManagedObjectModel) throws {
            self.model = model
            connection = try Connection(path: path, mode: .readOnly)
            let rows = try connection.rows("SELECT Z_NAME, Z_ENT FROM Z_PRIMARYKEY")
            numbers = Dictionary(
                rows.map { ($0[0].text ?? "", $0[1].integer ?? 0) }, uniquingKeysWith: { one, _ in one })
        }

        func table(_ entity: String) -> String { "\"Z\(model.root(of: entity).uppercased())\"" }

        /// The keys of exactly an entity's objects.
        func keys(_ entity: String) throws -> Set<Int64> {
            Set(
                try connection.rows(
                    "SELECT Z_PK FROM \(table(entity)) WHERE Z_ENT = ?", [.integer(numbers[entity] ?? -1)]
                )
                .compactMap { $0[0].integer })
        }

        /// The values of an attribute, without empty ones, by the objects' keys.
        func values(_ attribute: String, of entity: String) throws -> [Int64: Value] {
            let rows = try connection.rows(
                "SELECT Z_PK, \"Z\(attribute.uppercased())\" FROM \(table(entity)) WHERE Z_ENT = ?",
                [.integer(numbers[entity] ?? -1)])
            var values: [Int64: Value] = [:]
            for row in rows where row[1] != .null { values[row[0].integer ?? 0] = row[1] }
            return values
        }

        struct Link: Hashable {
            var from: Int64
            var to: Int64
        }

        /// The links of a relationship that an entity declares; nil without an inverse.
        func links(_ relationship: Relationship, of entity: String) throws -> Set<Link>? {
            guard let inverse = model.inverse(of: relationship) else { return nil }
            let (name, other) = (relationship.name.uppercased(), inverse.name.uppercased())
            let sql: String
            if !relationship.isToMany {
                sql = "SELECT Z_PK, \"Z\(name)\" FROM \(table(entity)) WHERE \"Z\(name)\" IS NOT NULL"
            } else if !inverse.isToMany {
                sql =
                    "SELECT \"Z\(other)\", Z_PK FROM \(table(relationship.destinationEntity)) "
                    + "WHERE \"Z\(other)\" IS NOT NULL"
            } else {
                // A column of a join table begins with the number of the entity whose keys it has; a number may follow.
                let ends = [
                    "Z_\(numbers[entity] ?? 0)\(other)", "Z_\(numbers[relationship.destinationEntity] ?? 0)\(name)",
                ]
                let columns = try connection.rows(
                    """
                    SELECT m.name, c.name FROM sqlite_master AS m, pragma_table_info(m.name) AS c
                    WHERE m.type = 'table' AND m.name LIKE 'Z\\_%' ESCAPE '\\' AND c.name LIKE 'Z\\_%' ESCAPE '\\'
                    """)
                let tables = Dictionary(grouping: columns) { $0[0].text ?? "" }.mapValues { rows in
                    ends.map { end in
                        rows.compactMap { $0[1].text }.first {
                            $0.hasPrefix(end) && $0.dropFirst(end.count).allSatisfy(\.isNumber)
                        }
                    }
                }
                guard let (table, found) = tables.first(where: { !$0.value.contains(nil) && Set($0.value).count == 2 }),
                    let one = found[0], let two = found[1]
                else { return nil }
                sql = "SELECT \"\(one)\", \"\(two)\" FROM \"\(table)\""
            }
            return Set(try connection.rows(sql).map { Link(from: $0[0].integer ?? 0, to: $0[1].integer ?? 0) })
        }
    }

    let source: Side
    let destination: Side
    let mapping: MappingWords
    let losses: [Loss]
    /// The number of values, links and objects that were looked for.
    private(set) var looked = 0
    private(set) var exceptions: [String] = []

    init(_ source: Side, _ destination: Side, _ mapping: MappingWords, _ losses: [Loss]) {
        (self.source, self.destination, self.mapping, self.losses) = (source, destination, mapping, losses)
    }

    /// How many of something are lost: those of objects that stay, and all.
    private struct Missing {
        var ofKept = 0
        var all = 0
    }

    mutating func look() throws {
        var kept: [String: Set<Int64>] = [:]
        for entity in source.model.sortedEntityNames {
            let before = try source.keys(entity)
            looked += before.count
            let heir = mapping.heirs[entity]
            let after = try heir.map { try destination.keys($0) } ?? []
            kept[entity] = before.intersection(after)
            var left = before.subtracting(after)
            // Of these another object is made.
            for condition in mapping.further[entity] ?? [] {
                left.subtract(try condition.map { Set(try source.values($0, of: entity).keys) } ?? left)
            }
            let lost = left.count
            compare(entity, nil, [entity], Missing(ofKept: lost, all: lost))
        }
        for entity in source.model.sortedEntityNames {
            for attribute in source.model.entities[entity]?.attributes ?? [] where !attribute.isTransient {
                try look(for: attribute.name, declaredBy: entity, kept)
            }
            for relationship in source.model.entities[entity]?.relationships ?? [] {
                try look(for: relationship, declaredBy: entity, kept)
            }
        }
    }

    private mutating func look(
        for attribute: String, declaredBy declaring: String, _ kept: [String: Set<Int64>]
    ) throws {
        let family = source.model.family(of: declaring)
        var all = Missing()
        for entity in family {
            var missing = Missing()
            defer {
                all.ofKept += missing.ofKept
                all.all += missing.all
            }
            let values = try source.values(attribute, of: entity)
            looked += values.count
            let heirs = mapping.readers(of: attribute, of: entity)
            let after = try heirs.map { heir in
                (heir.word, try destination.values(heir.attribute, of: mapping.heirs[entity] ?? ""))
            }
            // Further objects that are made of these have the values under other keys.
            let others = try mapping.copies(of: attribute, of: entity).map { copy in
                (copy.word, Array(try destination.values(copy.attribute, of: copy.entity).values))
            }
            for (key, value) in values {
                let isFound = after.contains { word, values in word.makes(values[key], of: value) }
                guard !isFound else { continue }
                missing.all += 1
                // A further object may have the value of this one, or an equal value of another one.
                let isElsewhere = others.contains { word, values in values.contains { word.makes($0, of: value) } }
                if !isElsewhere, kept[entity]?.contains(key) == true { missing.ofKept += 1 }
            }
            // The values of objects that are lost as such are not lost twice, unless nothing reads them at all, or another
            // entity mapping makes something else of the objects.
            if !heirs.isEmpty, !mapping.hasFurther(entity) { missing.all = missing.ofKept }
        }
        // Objects without elements, or that a filter leaves out, are not read by these.
        let isPartlyRead =
            family.allSatisfy { mapping.readers(of: attribute, of: $0).isEmpty }
            && family.contains { !mapping.copies(of: attribute, of: $0).isEmpty }
        compare(declaring, attribute, family, all, isPartlyRead: isPartlyRead)
    }

    private mutating func look(
        for relationship: Relationship, declaredBy declaring: String, _ kept: [String: Set<Int64>]
    ) throws {
        guard let links = try source.links(relationship, of: declaring) else { return }
        looked += links.count
        func all(_ entity: String) -> Set<Int64> {
            source.model.family(of: entity).reduce(into: []) { $0.formUnion(kept[$1] ?? []) }
        }
        let (ends, others) = (all(declaring), all(relationship.destinationEntity))
        var after: Set<Side.Link> = []
        var hasHeir = false
        if let heir = mapping.heirs[declaring] ?? mapping.abstractHeir(of: declaring),
            let new = destination.model.relationship(relationship.name, of: heir)
        {
            hasHeir = true
            let owner = destination.model.declaringEntity(of: relationship.name, in: heir) ?? heir
            after = try destination.links(new, of: owner) ?? []
        }
        // One link has two names, and the other one may be the one that stays.
        if !hasHeir, let inverse = source.model.inverse(of: relationship) {
            let entity = relationship.destinationEntity
            if let heir = mapping.heirs[entity] ?? mapping.abstractHeir(of: entity),
                let new = destination.model.relationship(inverse.name, of: heir)
            {
                let owner = destination.model.declaringEntity(of: inverse.name, in: heir) ?? heir
                let back = try destination.links(new, of: owner) ?? []
                after = Set(back.map { .init(from: $0.to, to: $0.from) })
            }
        }
        let gone = links.subtracting(after)
        let missing = Missing(
            ofKept: gone.count { ends.contains($0.from) && others.contains($0.to) }, all: gone.count)
        // One link has two names: either may tell that it is lost.
        let names = [(declaring, relationship.name), (relationship.destinationEntity, relationship.inverseName ?? "")]
        let told = names.map { entity, name in
            count(name, source.model.family(of: source.model.declaringEntity(of: name, in: entity) ?? entity))
        }
        let isRight = told.contains { ($0.total ?? -1) >= missing.ofKept && ($0.total ?? -1) <= missing.all }
        // Only a run knows how many links in other rows arrive; the report says that some may be lost.
        if !isRight, told.contains(where: { $0.total == nil }) { return }
        // The links may be those of further objects now, as far as a mapping makes these.
        let isOfCopies =
            !hasHeir
            && names.contains { entity, name in
                source.model.family(of: entity).contains { mapping.copiesRelate(name, of: $0) }
            }
        if missing.ofKept > 0, !isRight, isOfCopies { return }
        if missing.ofKept > 0 ? !isRight : told.contains(where: { ($0.total ?? 0) > missing.all }) {
            exceptions.append(
                "\(declaring).\(relationship.name): \(missing.ofKept) to \(missing.all) of \(links.count) links are not there, "
                    + "told: \(told)")
        }
    }

    // MARK: Losses

    /// The told number of lost values or objects of some entities; nil if one is not counted.
    private func count(_ property: String?, _ entities: [String]) -> (total: Int?, names: [String]) {
        let told = losses.filter { $0.property == property && entities.contains($0.entity) && !$0.isOrder }
        // The most that can be lost is a number that only the run makes exact.
        let rows = told.map { $0.isAtMost ? nil : $0.rows }
        return (rows.contains(nil) ? nil : Int(rows.compactMap(\.self).reduce(0, +)), told.map(\.text))
    }

    private mutating func compare(
        _ entity: String, _ property: String?, _ entities: [String], _ missing: Missing, isPartlyRead: Bool = false
    ) {
        let told = count(property, entities)
        if told.total == nil, isPartlyRead || property == nil { return }
        guard let total = told.total, total >= missing.ofKept, total <= missing.all else {
            exceptions.append(
                "\(entity)\(property.map { "." + $0 } ?? ""): \(missing.ofKept) to \(missing.all) are not there, told: \(told)"
            )
            return
        }
    }
}
