internal import FerryBase
internal import FerryExpression
internal import FerryModel

extension StepResolver {
    /// The relationships that a mapping sets, in name order.
    mutating func relationships(of mapping: LiveMapping) -> [ResolvedRelationship] {
        let all = destination.model.relationships(of: mapping.destination)
        reportUnknownProperties(
            "relationship", mapping.mapping.relationships.mapValues { $0 != .automatic },
            known: Set(all.map(\.name)), mapping)
        var resolved: [ResolvedRelationship] = []
        for relationship in all {
            let rule = mapping.mapping.relationships[relationship.name]
            guard !relationship.isTransient else { continue }
            do throws(FerryError) {
                if let value = try value(of: relationship, rule: rule, in: mapping) { resolved.append(value) }
            } catch {
                reportExpression(error, "relationship \"\(relationship.name)\"", relationship.name, in: mapping)
            }
        }
        return resolved
    }

    private mutating func value(
        of relationship: Relationship, rule: RelationshipRule?, in mapping: LiveMapping
    ) throws(FerryError) -> ResolvedRelationship? {
        switch rule ?? (mapping.mapping.isAutomatic ? .automatic : .empty) {
        case .empty: return nil
        case .automatic: return automaticValue(of: relationship, in: mapping)
        case .destinations(let name, let from):
            return try value(of: relationship, mappingNamed: name, from: from, in: mapping)
        case .destinationsOfAnyMapping(let from):
            let entity = try entity(of: from, in: mapping)
            let mappings = carrying(entity, to: relationship)
            return ResolvedRelationship(
                name: relationship.name, mappings: mappings.map(\.name), from: from,
                isAutomatic: mappingModels[mapping.model].isInferred
                    || passesOnLinks(to: relationship, from, mappings.map(\.name), in: mapping))
        }
    }

    /// Whether a rule equals the automatic one, apart from the name, and passes on links with their order.
    private func passesOnLinks(
        to relationship: Relationship, _ from: Expression, _ mappings: [String], in mapping: LiveMapping
    ) -> Bool {
        guard let name = from.sourceKey,
            let sourceRelationship = source.model.relationship(name, of: mapping.source)
        else { return false }
        // Under its own name a relationship may change its cardinality; under another name it is another relationship.
        guard name == relationship.name || haveSameCardinality(sourceRelationship, relationship) else { return false }
        return carrying(sourceRelationship.destinationEntity, to: relationship).map(\.name) == mappings
    }

    /// Whether two relationships, each with its inverse, have the same cardinality.
    private func haveSameCardinality(_ old: Relationship, _ new: Relationship) -> Bool {
        old.isToMany == new.isToMany
            && source.model.inverse(of: old)?.isToMany == destination.model.inverse(of: new)?.isToMany
    }

    /// The objects that all mappings of the related objects made of the source relationship of the same name.
    private mutating func automaticValue(
        of relationship: Relationship, in mapping: LiveMapping
    ) -> ResolvedRelationship? {
        guard let sourceRelationship = source.model.relationship(relationship.name, of: mapping.source),
            !sourceRelationship.isTransient
        else { return nil }
        let mappings = carrying(sourceRelationship.destinationEntity, to: relationship)
        guard !mappings.isEmpty else {
            let warning = FerryWarning(
                .emptyRelationship,
                "\(mapping.destination).\(relationship.name) stays empty: no entity mapping creates "
                    + "\(relationship.destinationEntity) objects from \(sourceRelationship.destinationEntity) objects.",
                about: .init(entity: mapping.destination, property: relationship.name, entityMapping: mapping.name))
            warnings.append(warning)
            emptied.append((warning, mapping.name, relationship))
            return nil
        }
        return ResolvedRelationship(
            name: relationship.name, mappings: mappings.map(\.name),
            from: .keyPath(.variable("source"), [.key(relationship.name)]), isAutomatic: true)
    }

    /// The live mappings that make objects fit for a relationship of source objects of an entity.
    ///
    /// An entity mapping reads objects of exactly its source entity, so mappings of ancestors carry none of them.
    private func carrying(_ entity: String, to relationship: Relationship) -> [LiveMapping] {
        live.filter {
            source.model.isKind($0.source, of: entity)
                && destination.model.isKind($0.destination, of: relationship.destinationEntity)
        }
    }

    private mutating func value(
        of relationship: Relationship, mappingNamed name: String, from: Expression, in mapping: LiveMapping
    ) throws(FerryError) -> ResolvedRelationship? {
        guard let named = mappings(named: name, from: mapping.model) else {
            throw FerryError(
                .badMapping,
                "there is no entity mapping \"\(name)\"" + NearNames.clause(for: name, among: live.map(\.name)),
                remedy: "Name an entity mapping of this step.")
        }
        let entity = try entity(of: from, in: mapping)
        guard !named.isEmpty else {
            warnings.append(
                FerryWarning(
                    .emptyRelationship,
                    "\(mapping.destination).\(relationship.name) stays empty: entity mapping \"\(name)\" creates no objects.",
                    about: .init(
                        entity: mapping.destination, property: relationship.name, entityMapping: mapping.name)))
            return nil
        }
        for target in named {
            guard source.model.isKind(target.source, of: entity) else {
                throw FerryError(
                    .badMapping,
                    "`\(from)` yields \(entity) objects, but entity mapping \"\(name)\" takes \(target.source) objects.",
                    remedy: "Name another entity mapping, or a path to \(target.source) objects.")
            }
            guard destination.model.isKind(target.destination, of: relationship.destinationEntity) else {
                throw FerryError(
                    .badMapping,
                    "entity mapping \"\(name)\" creates \(target.destination) objects, but the relationship leads to "
                        + "\(relationship.destinationEntity).",
                    remedy: "Name an entity mapping that creates \(relationship.destinationEntity) objects.")
            }
        }
        return ResolvedRelationship(
            name: relationship.name, mappings: named.map(\.name), from: from,
            isAutomatic: passesOnLinks(to: relationship, from, named.map(\.name), in: mapping))
    }
}
