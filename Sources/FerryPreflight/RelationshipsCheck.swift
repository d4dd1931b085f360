internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// The numbers of related objects that the new version allows, which verification of the new store checks too.
struct RelationshipsCheck: PreflightCheck {
    let input: PreflightInput
    var findings = PreflightFindings()

    func ask() {
        for link in mandatoryLinks(input.rowChecks) {
            input.scans.ask(forRowsWithoutAny: [link.column], in: link.place)
        }
    }

    mutating func check() throws {
        let checks = input.rowChecks
        try findEmptyMandatoryRelationships(checks)
        try findWrongCounts(checks)
    }

    /// A to-one relationship that is mandatory in the newer version, and the column of the one that it takes over.
    private typealias Link = (
        mapping: ResolvedEntityMapping, source: Relationship, destination: String, column: String,
        place: TableScans.Place
    )

    private func mandatoryLinks(_ checks: RowChecks) -> [Link] {
        step.resolved.entityMappings.filter(\.readsEveryObject).flatMap { mapping -> [Link] in
            guard let place = checks.rows(of: mapping.source) else { return [] }
            return mapping.relationships.compactMap { value in
                guard let name = value.sourceRelationship,
                    let source = layout.model.relationship(name, of: mapping.source),
                    let destination = step.resolved.destination.model.relationship(value.name, of: mapping.destination),
                    !destination.isOptional, !destination.isTransient,
                    case .foreignKey(_, let column, _, _)? = layout.storage(of: name, in: mapping.source)
                else { return nil }
                return (mapping, source, value.name, column, place)
            }
        }
    }

    /// Warns of mandatory to-one relationships empty in some row: Core Data refuses them at the next save only.
    private mutating func findEmptyMandatoryRelationships(_ checks: RowChecks) throws {
        for (mapping, source, destination, column, place) in mandatoryLinks(checks) {
            let count = try input.scans.rows(withoutAny: [column], in: place)
            guard count > 0 else { continue }
            if !source.isOptional {
                findings.kept.append(
                    .init(kind: .missingValue, entity: mapping.source, property: source.name, rows: count))
            }
            warn(
                .emptyMandatoryRelationship,
                "\(mapping.source).\(source.name) is empty in \(count.counting("row")), but "
                    + (source.isOptional
                        ? "\(mapping.destination).\(destination) is mandatory"
                        : "it is mandatory in the store's own version as well")
                    + ": the app must set it before it saves these objects.",
                about: .init(entity: mapping.source, property: source.name, entityMapping: mapping.name))
        }
    }

    /// Warns about objects that have fewer or more related objects than the new version allows.
    private mutating func findWrongCounts(_ checks: RowChecks) throws {
        for mapping in step.resolved.entityMappings where mapping.readsEveryObject {
            guard let place = checks.rows(of: mapping.source) else { continue }
            for relationship in step.resolved.destination.model.relationships(of: mapping.destination)
            where relationship.isToMany && !relationship.isTransient {
                guard let limits = RelationshipLimits(relationship),
                    let origin = origin(of: relationship, in: mapping, checks),
                    let query = limits.violations(
                        of: origin.storage, by: place.table, where: "a.Z_ENT = \(place.number)")
                else { continue }
                let name = origin.source?.name ?? relationship.name
                let isOld = origin.source.flatMap(RelationshipLimits.init) == limits
                // What stays as it is is not counted.
                guard !isOld || input.checks(place.table) else { continue }
                let count = try connection.integer(query) ?? 0
                guard count > 0 else { continue }
                if isOld {
                    findings.kept.append(.init(kind: .wrongCount, entity: mapping.source, property: name, rows: count))
                }
                let allowing = isOld ? "the store's own version" : "\(mapping.destination).\(relationship.name)"
                warn(
                    .wrongCount,
                    "\(mapping.source).\(name) has too few or too many objects in \(count.counting("row")): "
                        + "\(allowing) allows \(limits.words). The app must correct it before it saves these objects.",
                    about: .init(entity: mapping.source, property: name, entityMapping: mapping.name))
            }
        }
    }

    /// The links of the source that a relationship takes over, by a rule of its own or of its inverse; without the
    /// relationship of the source if that has no inverse.
    private func origin(
        of relationship: Relationship, in mapping: ResolvedEntityMapping, _ checks: RowChecks
    ) -> (source: Relationship?, storage: RelationshipStorage)? {
        let old = layout.model
        func links(_ name: String) -> (source: Relationship?, storage: RelationshipStorage)? {
            guard let source = old.relationship(name, of: mapping.source),
                let storage = layout.storage(of: name, in: mapping.source)
            else { return nil }
            return (source, storage)
        }
        if let name = mapping.relationships.first(where: { $0.name == relationship.name })?.sourceRelationship {
            return links(name)
        }
        for (other, rule) in checks.rulesOfInverse(of: relationship, to: mapping) {
            guard let name = rule.sourceRelationship, let back = old.relationship(name, of: other.source) else {
                continue
            }
            if let inverse = back.inverseName { return links(inverse) }
            guard
                case .foreignKey(let table, let column, let entity, let order)? = layout.storage(
                    of: name, in: other.source)
            else { continue }
            return (nil, .inverseForeignKey(table: table, column: column, entityColumn: entity, orderColumn: order))
        }
        return nil
    }
}
