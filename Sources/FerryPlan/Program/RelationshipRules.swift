internal import FerryExpression
package import FerryMapping
internal import FerryModel
package import FerryStore

/// Where the pairs of related objects of a step come from, rule by rule.
///
/// A relationship and its inverse are stored once, and the resolved step names each pair of entity mappings on one of the
/// two sides. Copying, statements in place and estimates all begin with this.
package struct RelationshipRules: Sendable {
    let source: StoreLayout
    let destination: StoreLayout
    /// By the name of the relationship that is filled, in the order of the mappings.
    private let byName: [String: [RelationshipContribution]]

    package init(_ step: ResolvedStep, source: StoreLayout, destination: StoreLayout) {
        (self.source, self.destination) = (source, destination)
        let mappings = MappingsByName(step)
        var byName: [String: [RelationshipContribution]] = [:]
        for mapping in step.entityMappings {
            for rule in mapping.relationships {
                byName[rule.name, default: []].append(
                    RelationshipContribution(mapping, rule, of: mappings, in: source))
            }
        }
        self.byName = byName
    }

    /// What fills a relationship under its own name, not that of its inverse.
    func contributions(to relationship: PropertyKey) -> [RelationshipContribution] {
        byName[relationship.property, default: []].filter {
            destination.model.isKind($0.mapping.destination, of: relationship.entity)
        }
    }

    /// All rules by the relationships of the destination, as they are declared; in name order.
    var byRelationship: [(key: PropertyKey, contributions: [RelationshipContribution])] {
        var found: [PropertyKey: [RelationshipContribution]] = [:]
        for (name, contributions) in byName {
            for contribution in contributions {
                guard let entity = destination.model.declaringEntity(of: name, in: contribution.mapping.destination)
                else { continue }
                found[PropertyKey(entity, name), default: []].append(contribution)
            }
        }
        return found.sorted { ($0.key.entity, $0.key.property) < ($1.key.entity, $1.key.property) }
            .map { ($0.key, $0.value) }
    }
}

/// The entity mappings of a step by their names; of two with one name the first.
struct MappingsByName {
    private let all: [ResolvedEntityMapping]
    private let places: [String: Int]

    init(_ step: ResolvedStep) {
        let mappings = step.entityMappings
        all = mappings
        places = Dictionary(
            mappings.indices.map { (mappings[$0].name, $0) }, uniquingKeysWith: { first, _ in first })
    }

    subscript(name: String) -> ResolvedEntityMapping? { places[name].map { all[$0] } }

    /// Whether the objects of every one of some mappings have a property.
    func all(_ names: [String], satisfy condition: (ResolvedEntityMapping) -> Bool) -> Bool {
        names.allSatisfy { name in places[name].map { condition(all[$0]) } ?? false }
    }
}

/// What one rule of an entity mapping says of a relationship.
package struct RelationshipContribution: Sendable, Equatable {
    /// Where a copy finds the foreign key of a row.
    package enum Key: Sendable, Hashable {
        /// It is not written with the row: the rule's pairs follow when all rows are there.
        case afterRows
        /// A column of the source, as it is: every key in it leads to an object that is carried with its key.
        case column(String)
        /// What became of the object at the end of the rule's path.
        case lookedUp
        /// A new key that follows from the place of the source object.
        case counted
    }

    package let mapping: ResolvedEntityMapping
    package let rule: ResolvedRelationship
    /// What the rule passes on; nil where it makes links of its own.
    package let origin: SourceRelationship?
    /// Whether the positions that the source has are passed on.
    package let copied: CopiedOrders
    package internal(set) var key = Key.afterRows

    init(
        _ mapping: ResolvedEntityMapping, _ rule: ResolvedRelationship, of mappings: MappingsByName,
        in source: StoreLayout
    ) {
        (self.mapping, self.rule) = (mapping, rule)
        origin = SourceRelationship(rule, of: mapping, in: source)
        copied = CopiedOrders(of: origin, by: rule, of: mapping, mappings)
    }

    /// Whether the foreign key is written with the row itself.
    package var isInline: Bool { key != .afterRows }
    package var isCounted: Bool { key == .counted }
    /// Whether any position is passed on as it is.
    package var copiesOrder: Bool { copied.related || copied.own }

    /// Whether the other mapping's association alone gives the pairs: every object of this mapping keeps its key and
    /// is related to what the other one made of the very same object.
    package func isOwnAssociation(of other: ResolvedEntityMapping) -> Bool {
        mapping.keepsEveryObject && other.source == mapping.source && !other.keepsPrimaryKey && other.policy == nil
            && rule.from == .variable("source")
    }
}

/// Positions that the source has and a rule passes on.
package struct CopiedOrders: Sendable, Hashable {
    /// Of the related objects among those of the rule's object.
    package private(set) var related = false
    /// Of the rule's object among those of a related one.
    package private(set) var own = false

    /// The positions that can be passed on as they are: the same objects with the same keys, or what policies make of
    /// them.
    init(
        of origin: SourceRelationship?, by rule: ResolvedRelationship, of mapping: ResolvedEntityMapping,
        _ mappings: MappingsByName
    ) {
        guard let origin, mapping.mayKeepPrimaryKeys, rule.isAutomatic,
            mappings.all(rule.mappings, satisfy: \.mayKeepPrimaryKeys)
        else { return }
        switch origin.storage {
        case .foreignKey(_, _, _, let order): own = order != nil
        case .inverseForeignKey(_, _, _, let order): related = order != nil
        case .join(_, _, _, let otherOrder, let ownOrder): (related, own) = (otherOrder != nil, ownOrder != nil)
        case .inverseless: break
        }
    }

    /// Whether every order of a many-to-many is among them.
    func suffice(otherOrder: String?, ownOrder: String?) -> Bool {
        (otherOrder == nil || related) && (ownOrder == nil || own)
    }
}

extension ResolvedEntityMapping {
    /// Whether each source object becomes one with the same key.
    var keepsEveryObject: Bool { keepsPrimaryKey && filter == nil }

    /// Whether each source object becomes one object, or none where the filter leaves it out.
    package var isOneToOne: Bool { iteration == nil && unique.isEmpty && policy == nil }
}

extension ResolvedRelationship {
    /// Whether the related objects are what is made of the very same source object.
    var isOfSameObject: Bool { from == .variable("source") || from == .evaluatedObject }

    /// Whether every object that a relationship of the source can lead to is carried with its key.
    func keepsEveryTarget(
        of relationship: Relationship, _ step: ResolvedStep, _ model: ManagedObjectModel
    ) -> Bool {
        let targets = step.entityMappings.filter { mappings.contains($0.name) }
        return targets.allSatisfy(\.keepsEveryObject)
            && model.concreteFamily(of: relationship.destinationEntity).isSubset(of: targets.map(\.source))
    }
}
