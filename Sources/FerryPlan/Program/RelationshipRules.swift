internal import FerryBase
internal import FerryExpression
package import FerryMapping
package import FerryModel
package import FerryStore

/// The rules that give the pairs of related objects of a step.
///
/// A relationship and its inverse are stored once; the resolved step names each pair of mappings on one side.
package struct RelationshipRules: Sendable {
    let step: ResolvedStep
    let source: StoreLayout
    let destination: StoreLayout
    /// The rules by the declared relationship of the destination that they fill, in mapping order.
    ///
    /// A rule is under its own name, not under that of the inverse.
    let byKey: [PropertyKey: [RelationshipContribution]]

    package init(_ step: ResolvedStep, source: StoreLayout, destination: StoreLayout) {
        (self.step, self.source, self.destination) = (step, source, destination)
        var byKey: [PropertyKey: [RelationshipContribution]] = [:]
        for mapping in step.entityMappings {
            for rule in mapping.relationships {
                guard let key = destination.model.key(of: rule.name, in: mapping.destination) else { continue }
                byKey[key, default: []].append(RelationshipContribution(mapping, rule, of: step, in: source))
            }
        }
        self.byKey = byKey
    }

    /// All rules, in the order of the names of entities and relationships.
    var byRelationship: [(key: PropertyKey, value: [RelationshipContribution])] {
        byKey.inOrder { ($0.key.entity, $0.key.property) < ($1.key.entity, $1.key.property) }
    }
}

/// One rule of an entity mapping for a relationship.
package struct RelationshipContribution: Sendable, Equatable {
    /// The source of a row's foreign key in a copy.
    package enum Key: Sendable, Hashable {
        /// The key is not written with the row: the rule's links follow after all rows.
        case afterRows
        /// A source column, unchanged: every key in it leads to an object that keeps its key.
        case column(String)
        /// The new key of the object at the end of the rule's path is looked up.
        case lookedUp
        /// A new key that is counted from the place of the source object.
        case counted
    }

    package let mapping: ResolvedEntityMapping
    package let rule: ResolvedRelationship
    /// The source relationship that the rule passes on; nil if the rule makes links of its own.
    package let origin: SourceRelationship?
    package let copied: CopiedOrders
    package internal(set) var key = Key.afterRows

    init(
        _ mapping: ResolvedEntityMapping, _ rule: ResolvedRelationship, of step: ResolvedStep, in source: StoreLayout
    ) {
        (self.mapping, self.rule) = (mapping, rule)
        origin = SourceRelationship(rule, of: mapping, in: source)
        copied = CopiedOrders(of: origin, by: rule, of: mapping, step)
    }

    /// Whether the foreign key is written with the row itself.
    package var isInline: Bool { key != .afterRows }
    package var isCounted: Bool { key == .counted }
    package var copiesOrder: Bool { copied.related || copied.own }

    /// Whether the other mapping's association alone gives the pairs: every object of this mapping keeps its key and is
    /// related to the other mapping's object of the same source.
    package func isOwnAssociation(of other: ResolvedEntityMapping) -> Bool {
        mapping.keepsEveryObject && other.source == mapping.source && !other.keepsPrimaryKey && other.policy == nil
            && rule.from == .variable("source")
    }
}

/// The positions of the source that a rule passes on.
package struct CopiedOrders: Sendable, Hashable {
    /// Positions of related objects among those of the rule's object.
    package private(set) var related = false
    /// Positions of the rule's object among those of a related object.
    package private(set) var own = false

    /// Positions are passed on between objects that keep their keys, or that policies make.
    init(
        of origin: SourceRelationship?, by rule: ResolvedRelationship, of mapping: ResolvedEntityMapping,
        _ step: ResolvedStep
    ) {
        guard let origin, Self.arePassedOn(by: rule, of: mapping, step) else { return }
        switch origin.storage {
        case .foreignKey(_, _, _, let order): own = order != nil
        case .inverseForeignKey(_, _, _, let order): related = order != nil
        case .join(_, _, _, let otherOrder, let ownOrder): (related, own) = (otherOrder != nil, ownOrder != nil)
        case .inverseless: break
        }
    }

    /// Whether a rule passes on the positions that its source relationship has on either side.
    static func arePassedOn(
        by rule: ResolvedRelationship, of mapping: ResolvedEntityMapping, _ step: ResolvedStep
    ) -> Bool {
        mapping.mayKeepPrimaryKeys && rule.isAutomatic
            && rule.mappings.allSatisfy { step.entityMapping(named: $0)?.mayKeepPrimaryKeys == true }
    }

    /// Whether the rule passes on every order column of a many-to-many.
    func suffice(otherOrder: String?, ownOrder: String?) -> Bool {
        (otherOrder == nil || related) && (ownOrder == nil || own)
    }
}

extension ResolvedEntityMapping {
    /// Whether each source object becomes one with the same key.
    var keepsEveryObject: Bool { keepsPrimaryKey && filter == nil }

    /// Whether each source object becomes one object, or none if the filter leaves it out.
    package var isOneToOne: Bool { iteration == nil && unique.isEmpty && policy == nil }
}

extension ResolvedRelationship {
    /// Whether the related objects are made of the same source object.
    var isOfSameObject: Bool { from == .variable("source") || from == .evaluatedObject }

    /// Whether every object that a source relationship can lead to is carried over with its key.
    func keepsEveryTarget(
        of relationship: Relationship, _ step: ResolvedStep, _ model: ManagedObjectModel
    ) -> Bool {
        let targets = mappings.compactMap { step.entityMapping(named: $0) }
        return targets.allSatisfy(\.keepsEveryObject)
            && model.concreteFamily(of: relationship.destinationEntity).isSubset(of: targets.map(\.source))
    }
}

/// The source relationship whose links a rule passes on.
package struct SourceRelationship: Sendable, Hashable {
    package let name: String
    package let relationship: Relationship
    /// As seen from the source objects.
    package let storage: RelationshipStorage

    /// Nil if the rule does not take a stored relationship of the source object itself.
    package init?(_ rule: ResolvedRelationship, of mapping: ResolvedEntityMapping, in source: StoreLayout) {
        guard let name = rule.sourceRelationship,
            let relationship = source.model.relationship(name, of: mapping.source),
            let storage = source.storage(of: name, in: mapping.source)
        else { return nil }
        (self.name, self.relationship, self.storage) = (name, relationship, storage)
    }

    /// A storage as seen from the related object; in a one-to-one, where both sides hold a key, its own key.
    func otherSide(
        of storage: RelationshipStorage, _ related: ResolvedEntityMapping, in source: StoreLayout
    ) -> RelationshipStorage {
        switch storage {
        case .join(let table, let own, let other, let otherOrder, let ownOrder):
            return .join(table: table, own: other, other: own, otherOrder: ownOrder, ownOrder: otherOrder)
        case .inverseForeignKey(let table, let column, let entityColumn, let orderColumn):
            return .foreignKey(table: table, column: column, entityColumn: entityColumn, orderColumn: orderColumn)
        case .inverseless(let table, let column):
            return .foreignKey(table: table, column: column, entityColumn: nil, orderColumn: nil)
        case .foreignKey(let table, let column, let entityColumn, let orderColumn):
            if let inverse = source.model.inverse(of: relationship),
                let mirrored = source.storage(of: inverse.name, in: related.source), case .foreignKey = mirrored
            {
                return mirrored
            }
            return .inverseForeignKey(
                table: table, column: column, entityColumn: entityColumn, orderColumn: orderColumn)
        }
    }
}

extension ManagedObjectModel {
    package func concreteFamily(of entity: String) -> Set<String> {
        Set(family(of: entity).filter { entities[$0]?.isAbstract != true })
    }
}
