internal import FerryMapping
internal import FerryModel

// The links of objects that `unique` merges.
extension LinkLosses {
    /// To-one relationships of merged objects; a to-many relationship gets the links of all of them.
    func merged() -> [ChainLoss] {
        var losses: [ChainLoss] = []
        for mapping in step.entityMappings where !mapping.unique.isEmpty {
            for (name, ends) in links(of: mapping)
            // Both parts of a mapping with `keep` say the same.
            where !losses.contains(where: { $0.entity == mapping.source && $0.property == name }) {
                let merging = ChainLoss.Merging.of(mapping, in: step, isOwn: true, ends: ends)
                losses.append(loss(mapping.source, name, of: [mapping.source], .merged(merging)))
            }
        }
        return losses
    }

    private func links(of mapping: ResolvedEntityMapping) -> [(name: String, ends: ChainLoss.Merging.Ends)] {
        var links: [(name: String, ends: ChainLoss.Merging.Ends)] = []
        func add(_ name: String, _ ends: ChainLoss.Merging.Ends) {
            guard old.relationship(name, of: mapping.source)?.isToMany == false,
                !links.contains(where: { $0.name == name }), !isCarriedElsewhere(name, by: mapping)
            else { return }
            // A link may live on beside the merged objects, too.
            let others = own(name, of: mapping.source).contains {
                $0.isJoin || !$0.reading.mapping.merges(with: mapping)
            }
            links.append((name, others && ends != .unknown ? .inPart : ends))
        }
        for rule in mapping.relationships where !rule.mappings.isEmpty {
            guard let name = rule.sourceRelationship, let target = new.relationship(rule.name, of: mapping.destination),
                !target.isToMany
            else { continue }
            add(name, ends(of: rule, mapping, isExclusive: new.inverse(of: target)?.isToMany == false))
        }
        // A rule of the other side may fill the relationship.
        for (other, rule) in rules where rule.mappings.contains(mapping.name) {
            guard let name = rule.sourceRelationship, let target = new.relationship(rule.name, of: other.destination),
                let inverse = new.inverse(of: target), !inverse.isToMany,
                let back = old.relationship(name, of: other.source)?.inverseName
            else { continue }
            // Each object of a one-to-one relationship has a link of its own, whichever stays.
            let sides = carriers.sides(of: StoredProperty(entity: mapping.source, property: back)).dropFirst()
                .flatMap { carriers.all[$0] ?? [] }.map(\.reading.mapping)
            let areApart =
                !target.isToMany && sides.allSatisfy { keepsAll($0.name) }
                && Set(sides.map(\.source)).count == sides.count
            add(back, areApart ? .apart : other.unique.isEmpty ? .inPart : .unknown)
        }
        return links
    }

    private func ends(
        of rule: ResolvedRelationship, _ mapping: ResolvedEntityMapping, isExclusive: Bool
    ) -> ChainLoss.Merging.Ends {
        if rule.mappings.allSatisfy(keepsAll) { return .apart }
        // Two objects that had each other's link may become one.
        let isKnown = rule.mappings.allSatisfy { $0 == mapping.name || keepsAll($0) }
        if isKnown, !isExclusive { return .merged }
        return rule.mappings.compactMap(step.entityMapping).allSatisfy(\.unique.isEmpty) ? .inPart : .unknown
    }

    /// Whether each source object has an object of the mapping with its key.
    private func keepsAll(_ name: String) -> Bool {
        step.entityMapping(named: name).map { $0.keepsPrimaryKey && $0.filter == nil } ?? false
    }

    /// Whether another entity mapping carries all objects with the relationship, which its inverse may fill.
    private func isCarriedElsewhere(_ relationship: String, by mapping: ResolvedEntityMapping) -> Bool {
        let carriers = step.entityMappings.filter {
            $0.source == mapping.source && $0.unique.isEmpty && $0.readsEveryObject
        }
        let isOwn = carriers.contains { other in
            other.relationships.contains { $0.sourceRelationship == relationship && !$0.mappings.isEmpty }
        }
        guard !isOwn, let link = old.relationship(relationship, of: mapping.source), let inverse = old.inverse(of: link)
        else { return isOwn }
        let names = Set(carriers.map(\.name))
        return rules.contains { other, rule in
            other.unique.isEmpty && rule.sourceRelationship == inverse.name && !names.isDisjoint(with: rule.mappings)
                && old.isKind(other.source, of: link.destinationEntity)
        }
    }
}
