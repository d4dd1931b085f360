internal import FerryBase
internal import FerryModel

/// Decides which changes a mapping can be inferred over, with a reason against the others.
struct InferenceRules {
    private let difference: ModelDifference
    private let matching: ModelMatching
    /// Destination roots whose table would get objects of several source tables.
    private let merged: [String: [String]]

    init(_ difference: ModelDifference) {
        self.difference = difference
        matching = difference.matching
        merged = Self.mergedHierarchies(difference.matching)
    }

    func verdicts() -> [InferredMapping.Change] {
        let verdicts = difference.changes.map { change in
            let verdict = verdict(on: change)
            return InferredMapping.Change(
                entity: change.entity, property: change.property, kind: change.kind,
                isInferable: verdict.isInferable, reason: verdict.reason)
        }
        return verdicts + lostDestinations(besides: verdicts)
    }

    private struct Verdict {
        var isInferable = true
        var reason: String?

        static let inferable = Verdict()
        static func inferable(when condition: String) -> Verdict { Verdict(reason: condition) }
        static func impossible(_ reason: String) -> Verdict { Verdict(isInferable: false, reason: reason) }
    }

    private func verdict(on change: ModelDifference.Change) -> Verdict {
        switch change.kind {
        case .entityMoved: return hierarchy(of: change.entity)
        case .entityMadeAbstract:
            return .inferable(when: "An abstract entity has no objects: rows of it are refused.")
        case .attributeAdded, .attributeMadePersistent, .attributeMadeMandatory: return mandatoryAttribute(change)
        case .attributeTypeChanged: return types(change)
        case .compositeChanged: return composite(change)
        case .relationshipAdded, .relationshipMadePersistent, .relationshipMadeMandatory:
            return mandatoryRelationship(change)
        case .relationshipMadeToOne:
            return .impossible(
                "A to-many relationship cannot become to-one: only one of several objects could be kept.")
        case .destinationEntityChanged: return destinationEntity(change)
        case .uniquenessConstraintsChanged:
            guard let new = matching.destination.entities[change.entity], addsConstraint(new) else { return .inferable }
            return .inferable(when: "Rows that break the new uniqueness constraint are refused.")
        default: return .inferable
        }
    }

    // MARK: Entities

    /// Objects of different tables may have equal keys, so they cannot share a table.
    private func hierarchy(of entity: String) -> Verdict {
        guard let roots = merged[matching.destination.root(of: entity)] else { return .inferable }
        return .impossible(
            "The hierarchies of \(roots.joined(separator: " and ")) are merged into one, and the keys of their objects collide."
        )
    }

    private static func mergedHierarchies(_ matching: ModelMatching) -> [String: [String]] {
        var sources: [String: Set<String>] = [:]
        for (new, old) in matching.sourceEntities where matching.source.entities[old]?.isAbstract == false {
            sources[matching.destination.root(of: new), default: []].insert(matching.source.root(of: old))
        }
        return sources.filter { $0.value.count > 1 }.mapValues { $0.inOrder(by: codeUnitOrder) }
    }

    private func addsConstraint(_ new: Entity) -> Bool {
        guard let old = matching.sourceEntities[new.name].flatMap({ matching.source.entities[$0] }) else { return true }
        let known = Set(old.uniquenessConstraints.map(Set.init))
        return new.uniquenessConstraints.contains { constraint in
            let before = constraint.map {
                matching.sourceAttribute(of: $0, in: new.name)?.name
                    ?? matching.sourceRelationship(of: $0, in: new.name)?.name ?? ""
            }
            return !known.contains(Set(before))
        }
    }

    // MARK: Attributes

    private func mandatoryAttribute(_ change: ModelDifference.Change) -> Verdict {
        guard let attribute = change.property.flatMap({ matching.destination.attribute($0, of: change.entity) }),
            !attribute.isOptional, !attribute.isTransient, !attribute.isDerived, attribute.defaultValue == nil
        else { return .inferable }
        // Of a new attribute no row has a value.
        return .inferable(
            when: "It is mandatory and has no default value: "
                + (change.kind == .attributeAdded
                    ? "a store with rows of \(change.entity) is refused." : "rows without a value are refused."))
    }

    private func types(_ change: ModelDifference.Change) -> Verdict {
        guard let name = change.property, let new = matching.destination.attribute(name, of: change.entity),
            let old = matching.sourceAttribute(of: name, in: change.entity),
            // A property that is not stored in both versions takes over no value.
            !old.isTransient, !new.isTransient, !matching.destination.isComputedByStore(new, of: change.entity),
            !old.type.converts(to: new.type)
        else { return .inferable }
        return .impossible("Source and destination attribute types are incompatible: \(old.type) and \(new.type).")
    }

    /// Elements are carried over one by one, like attributes.
    private func composite(_ change: ModelDifference.Change) -> Verdict {
        guard let attribute = change.property.flatMap({ matching.destination.attribute($0, of: change.entity) }) else {
            return .inferable
        }
        for leaf in matching.destination.leaves(of: attribute) {
            guard let old = matching.sourceAttribute(of: leaf.name, in: change.entity) else { continue }
            guard old.type != leaf.type, !old.type.converts(to: leaf.type) else { continue }
            return .impossible(
                "Source and destination types of its element \(leaf.name) are incompatible: \(old.type) and \(leaf.type)."
            )
        }
        return .inferable(when: "Its elements are copied one by one.")
    }

    // MARK: Relationships

    private func mandatoryRelationship(_ change: ModelDifference.Change) -> Verdict {
        guard let relationship = change.property.flatMap({ matching.destination.relationship($0, of: change.entity) }),
            !relationship.isOptional, !relationship.isTransient, !relationship.mayBeEmpty
        else { return .inferable }
        return .inferable(
            when: "It is mandatory: rows without a related object are migrated, but the app cannot save them.")
    }

    private func destinationEntity(_ change: ModelDifference.Change) -> Verdict {
        guard let name = change.property, let new = matching.destination.relationship(name, of: change.entity),
            let old = matching.sourceRelationship(of: name, in: change.entity), let lost = lost(old, new)
        else { return .inferable }
        return .impossible(lost)
    }

    /// Relationships to an unchanged destination entity of which a subentity has left the hierarchy.
    private func lostDestinations(besides known: [InferredMapping.Change]) -> [InferredMapping.Change] {
        var found: [InferredMapping.Change] = []
        for name in matching.destination.sortedEntityNames where matching.sourceEntities[name] != nil {
            for new in matching.destination.entities[name]?.relationships ?? [] {
                guard let old = matching.sourceRelationship(of: new.name, in: name), let reason = lost(old, new),
                    !known.contains(where: {
                        $0.entity == name && $0.property == new.name && $0.kind == .destinationEntityChanged
                    })
                else { continue }
                found.append(
                    .init(
                        entity: name, property: new.name, kind: .destinationEntityChanged, isInferable: false,
                        reason: reason))
            }
        }
        return found
    }

    /// The reason why a relationship cannot keep all objects that the destination still has, or nil.
    private func lost(_ old: Relationship, _ new: Relationship) -> String? {
        guard !old.isTransient, !new.isTransient else { return nil }
        for family in matching.source.family(of: old.destinationEntity)
        where matching.source.entities[family]?.isAbstract == false {
            guard let entity = matching.destinationEntities[family],
                !matching.destination.isKind(entity, of: new.destinationEntity)
            else { continue }
            return "It may lead to objects of \(entity), which are not objects of its new destination "
                + "\(new.destinationEntity)."
        }
        return nil
    }
}
