internal import FerryBase
internal import FerryExpression
package import FerryMapping
internal import FerryModel

/// The properties that a step carries on for some of the objects only.
///
/// An entity mapping carries the objects without the property, and the mappings that read it leave objects out by their
/// filters, or make no object of those without elements.
struct PartlyRead {
    private let model: ManagedObjectModel
    private let flow: PropertyFlow
    private let mappings: [String: [ResolvedEntityMapping]]
    /// By position: the properties of the objects themselves that a mapping reads.
    private var read: [Int: OwnProperties] = [:]
    private var throughPaths: [StoredProperty: [ChainLoss.Reading]] = [:]

    private struct OwnProperties {
        /// Read once for each object, or once for each element.
        var direct: Set<String> = []
        /// Read as the elements, and so of objects without elements, too.
        var elements: Set<String> = []
    }

    init(_ step: ResolvedStep) {
        model = step.source.model
        flow = PropertyFlow(step)
        mappings = Dictionary(grouping: step.entityMappings, by: \.source)
        for mapping in step.entityMappings { read[mapping.position] = own(mapping) }
        throughPaths = readThroughPaths()
    }

    func losses(at place: Int, to version: String) -> [ChainLoss] {
        var losses: [ChainLoss] = []
        for (entity, mappings) in mappings.inOrder(by: { codeUnitOrder($0.key, $1.key) })
        where !mappings.contains(where: { $0.policy != nil }) {
            for name in LossTrace.stored(of: entity, in: model) {
                let property = StoredProperty(entity: entity, property: name)
                guard !isWhole(name, of: entity), !flow.isHandledByPolicy(property) else { continue }
                let own = mappings.filter { reads(name, $0) }
                let readers = own.isEmpty ? related(byInverseOf: name, of: entity) ?? [] : own
                // What other objects read along a path, or what the inverse carries, is another way to the objects.
                let others =
                    readers.map { ChainLoss.Reading($0) } + (readers.isEmpty ? throughPaths[property] ?? [] : [])
                guard !others.isEmpty, !isCarriedByInverse(name, of: entity) else { continue }
                var loss = ChainLoss(
                    entity: entity, property: name, entities: [entity], version: version, step: place,
                    cause: .readInPart(by: others.map(\.mapping.name)))
                // Objects that no mapping carries are lost as objects.
                loss.objects = .init(of: mappings.carriers.filter { !readers.contains($0) }, except: [])
                loss.objects.except = others
                loss.objects.loseAllLinks = isInverseWhole(of: name, entity)
                if !loss.objects.loseAllLinks { loss.objects.otherEnds = otherEnds(of: name, entity, readBy: readers) }
                losses.append(loss)
            }
        }
        return losses
    }

    // MARK: Readers

    /// Whether every object that is carried at all has its value read.
    private func isWhole(_ property: String, of entity: String) -> Bool {
        let mappings = mappings[entity] ?? []
        // Objects that all of these leave out are lost as objects.
        if mappings.carriers.allSatisfy({ reads(property, $0) }) { return true }
        let readers = mappings.filter { reads(property, $0) }
        return readers.haveComplements || readers.contains { readsEvery(property, $0) }
    }

    private func reads(_ property: String, _ mapping: ResolvedEntityMapping) -> Bool {
        read[mapping.position].map { $0.direct.contains(property) || $0.elements.contains(property) } ?? false
    }

    private func readsEvery(_ property: String, _ mapping: ResolvedEntityMapping) -> Bool {
        guard mapping.filter.map({ $0.holds(whereThereIs: property) }) ?? true else { return false }
        return mapping.iteration == nil || read[mapping.position]?.elements.contains(property) == true
    }

    /// The mappings of other objects that read properties which no mapping of their own objects reads, with their paths.
    private func readThroughPaths() -> [StoredProperty: [ChainLoss.Reading]] {
        var readings: [StoredProperty: [ChainLoss.Reading]] = [:]
        for mapping in mappings.values.joined().inOrder(by: { $0.position < $1.position }) {
            let values = mapping.attributes.compactMap(\.expression)
            let links = mapping.relationships.filter { !$0.mappings.isEmpty }.map(\.from)
            for expression in values + links {
                expression.forEachPath { base, keys in
                    guard let start = flow.start(of: base, mapping) else { return }
                    var seen: Set<StoredProperty> = []
                    for length in keys.indices {
                        let walked = flow.walk(Array(keys[...length]), from: start.entities)
                        let name = walked.last?.property
                        for property in walked
                        where property.property == name && seen.insert(property).inserted && !isReadDirectly(property) {
                            let reading = ChainLoss.Reading(
                                mapping, path: Array(keys[..<length]), isOfElement: start.isElement)
                            if readings[property]?.contains(reading) != true {
                                readings[property, default: []].append(reading)
                            }
                        }
                    }
                }
            }
        }
        return readings
    }

    private func isReadDirectly(_ property: StoredProperty) -> Bool {
        guard let name = property.property else { return false }
        return mappings[property.entity]?.contains { reads(name, $0) } == true
    }

    /// Whether the inverse of a relationship carries all links.
    ///
    /// Of two sides that carry a part, that with the keys in its own rows is reported, which can be counted; else the first.
    private func isCarriedByInverse(_ property: String, of entity: String) -> Bool {
        guard let relationship = model.relationship(property, of: entity),
            let inverse = model.inverse(of: relationship)
        else { return false }
        let others = model.concreteFamily(of: relationship.destinationEntity).filter { mappings[$0] != nil }
        let own = (mappings[entity] ?? []).filter { reads(property, $0) }
        if isInverseWhole(of: property, entity) {
            guard let related = related(byInverseOf: property, of: entity) else { return true }
            // An object that becomes one of another entity may have no place at the other end.
            return (mappings[entity] ?? []).carriers.allSatisfy { own.contains($0) || related.contains($0) }
        }
        return own.isEmpty
            || others.contains { other in
                !isWhole(inverse.name, of: other) && (mappings[other] ?? []).contains { reads(inverse.name, $0) }
                    && (inverse.isToMany == relationship.isToMany
                        ? codeUnitOrder("\(other).\(inverse.name)", "\(entity).\(property)") : !inverse.isToMany)
            }
    }

    /// The related objects that live on, but not as those to which the rules of the readers relate.
    private func otherEnds(
        of property: String, _ entity: String, readBy readers: [ResolvedEntityMapping]
    ) -> [ChainLoss.Objects] {
        let rules = readers.flatMap(\.relationships).filter {
            $0.sourceRelationship == property && !$0.mappings.isEmpty
        }
        guard !rules.isEmpty, let relationship = model.relationship(property, of: entity) else { return [] }
        return model.concreteFamily(of: relationship.destinationEntity).inOrder(by: codeUnitOrder).compactMap { other in
            let own = mappings[other] ?? []
            let related = own.filter { heir in rules.allSatisfy { $0.mappings.contains(heir.name) } }
            let apart = own.carriers.filter { !related.contains($0) }
            if apart.isEmpty || related.contains(where: \.readsEveryObject) { return nil }
            var objects = ChainLoss.Objects()
            (objects.of, objects.except) = (apart.map { .init($0) }, related.map { .init($0) })
            return objects
        }
    }

    private func isInverseWhole(of property: String, _ entity: String) -> Bool {
        guard let relationship = model.relationship(property, of: entity),
            let inverse = model.inverse(of: relationship)
        else { return false }
        return model.concreteFamily(of: relationship.destinationEntity).filter { mappings[$0] != nil }
            .allSatisfy { isWhole(inverse.name, of: $0) }
    }

    /// The mappings of an entity to whose objects every rule of a relationship's inverse relates; nil without a rule.
    private func related(byInverseOf property: String, of entity: String) -> [ResolvedEntityMapping]? {
        guard let relationship = model.relationship(property, of: entity),
            let inverse = model.inverse(of: relationship)
        else { return nil }
        let rules = model.concreteFamily(of: relationship.destinationEntity).flatMap { mappings[$0] ?? [] }
            .flatMap(\.relationships).filter { $0.sourceRelationship == inverse.name && !$0.mappings.isEmpty }
        guard !rules.isEmpty else { return nil }
        return (mappings[entity] ?? []).filter { heir in rules.allSatisfy { $0.mappings.contains(heir.name) } }
    }

    // MARK: Own properties

    private func own(_ mapping: ResolvedEntityMapping) -> OwnProperties {
        var own = OwnProperties()
        let values = mapping.attributes.compactMap(\.expression)
        for expression in values + mapping.relationships.filter({ !$0.mappings.isEmpty }).map(\.from) {
            own.direct.formUnion(firstProperties(in: expression, of: mapping))
            guard let iteration = mapping.iteration,
                expression.contains(where: { $0 == .variable(iteration.variable) })
            else { continue }
            own.elements.formUnion(firstProperties(in: iteration.elements, of: mapping))
        }
        return own
    }

    /// The properties of the source object itself with which the paths of an expression begin.
    private func firstProperties(in expression: Expression, of mapping: ResolvedEntityMapping) -> Set<String> {
        var found: Set<String> = []
        expression.forEachPath { base, keys in
            guard base == .variable("source") || base == .evaluatedObject, let key = keys.first else { return }
            let isLink = model.relationship(key, of: mapping.source) != nil
            found.formUnion(flow.walk(isLink ? [key] : keys, from: [mapping.source]).compactMap(\.property))
        }
        return found
    }
}

extension ChainLoss {
    /// How an entity mapping reads objects: its source objects, its elements, or those at the end of a path from them.
    package struct Reading: Sendable, Hashable {
        package var mapping: ResolvedEntityMapping
        package var path: [String] = []
        package var isOfElement = false

        init(_ mapping: ResolvedEntityMapping, path: [String] = [], isOfElement: Bool = false) {
            (self.mapping, self.path, self.isOfElement) = (mapping, path, isOfElement)
        }
    }

    /// The source objects that lose a property, by the entity mappings that read them.
    package struct Objects: Sendable, Hashable {
        /// Only objects that one of these reads; without any, all.
        package var of: [Reading] = []
        /// No object that one of these reads.
        package var except: [Reading] = []
        /// Whether no rule of the inverse carries a link of theirs.
        package var loseAllLinks = false
        /// The related objects of the others to which the links are lost, too.
        package var otherEnds: [Objects] = []

        package var areAll: Bool { of.isEmpty && except.isEmpty }

        init(of: [ResolvedEntityMapping] = [], except: [ResolvedEntityMapping] = []) {
            self.of = of.contains(where: \.readsEveryObject) ? [] : of.map { Reading($0) }
            self.except = except.map { Reading($0) }
        }
    }
}

extension [ResolvedEntityMapping] {
    /// Those that make one object of each; without any, all.
    ///
    /// A mapping with elements or with `unique` reads an object for a part of it: beside one that carries the object,
    /// it does not stand in for that one.
    var carriers: [ResolvedEntityMapping] {
        let carriers = filter { $0.iteration == nil && $0.unique.isEmpty }
        return carriers.isEmpty ? self : carriers
    }

    /// Whether one filter is the complement of another.
    var haveComplements: Bool {
        let filters = filter { $0.iteration == nil }.compactMap(\.filter)
        return filters.contains { filter in filters.contains { $0.isComplement(of: filter) } }
    }
}

extension Predicate {
    fileprivate func isComplement(of other: Predicate) -> Bool {
        if self == .not(other) || other == .not(self) { return true }
        guard case .comparison(let first) = self, case .comparison(let second) = other else { return false }
        let pair = [first.comparator, second.comparator]
        return first.left == second.left && first.right == second.right && first.options == second.options
            && (pair == [.equal, .notEqual] || pair == [.notEqual, .equal])
    }

    /// Whether the predicate holds for every object with a value of a property.
    fileprivate func holds(whereThereIs property: String) -> Bool {
        switch self {
        case .constant(let value): value
        case .and(let parts): parts.allSatisfy { $0.holds(whereThereIs: property) }
        case .or(let parts): parts.contains { $0.holds(whereThereIs: property) }
        case .comparison(let comparison):
            comparison.comparator == .notEqual && comparison.right == .constant(.null)
                && (comparison.left.sourceKeys ?? comparison.left.ownProperty) == property
        case .not(.comparison(let comparison)):
            comparison.comparator == .equal && comparison.right == .constant(.null)
                && (comparison.left.sourceKeys ?? comparison.left.ownProperty) == property
        case .not, .quantified: false
        }
    }
}
