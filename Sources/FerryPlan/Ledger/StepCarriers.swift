internal import FerryExpression
internal import FerryMapping
internal import FerryModel

/// A rule by which a step carries values or links of a source property into a property of its destination.
struct Carrier: Sendable, Hashable {
    /// The objects whose values it carries.
    var reading: ChainLoss.Reading
    var destination: StoredProperty
    var isTransformed = false
    /// Whether the new type holds every value, or a function computes it.
    var keepsValues = true
    /// Whether each link becomes an object that is related to both ends.
    var isJoin = false

    /// The rule of an attribute.
    var rule: ResolvedAttribute? { reading.mapping.attributes.first { $0.name == destination.property } }

    /// The rule of a relationship.
    var related: ResolvedRelationship? {
        reading.mapping.relationships.first { $0.name == destination.property }
    }

    /// Whether the mapping makes parts of objects, or one object of several.
    var isPart: Bool { reading.mapping.iteration != nil || !reading.mapping.unique.isEmpty }

    /// Whether the values are those of the mapping's source objects themselves.
    var isOwn: Bool { reading.path.isEmpty && !reading.isOfElement }
}

/// What carries each stored property of a step's source.
struct StepCarriers {
    let step: ResolvedStep
    let model: ManagedObjectModel
    var mappings: [String: [ResolvedEntityMapping]] { step.mappingsOfSource }
    private(set) var all: [StoredProperty: [Carrier]] = [:]
    /// Whether a function computes any value anew.
    private(set) var transforms = false
    private var policyEntities: [String: String] = [:]

    init(_ step: ResolvedStep) {
        self.step = step
        model = step.source.model
        for mapping in step.entityMappings {
            if let policy = mapping.policy { policyEntities[mapping.source] = policy }
            for attribute in mapping.attributes {
                if let expression = attribute.expression { add(expression, to: attribute.name, of: mapping) }
            }
            for rule in mapping.relationships where !rule.mappings.isEmpty { add(rule, of: mapping) }
        }
    }

    private mutating func add(_ expression: Expression, to name: String, of mapping: ResolvedEntityMapping) {
        // Most expressions copy one attribute.
        if let key = expression.sourceKey {
            return add(CarriedPath(base: .variable("source"), keys: [key]), to: name, of: mapping)
        }
        for path in expression.carriedPaths() { add(path, to: name, of: mapping) }
    }

    private mutating func add(_ path: CarriedPath, to name: String, of mapping: ResolvedEntityMapping) {
        guard let start = start(of: path.base, mapping), let end = end(of: path.keys, from: start.entities) else {
            return
        }
        var reading = ChainLoss.Reading(mapping, path: end.path, isOfElement: start.isElement)
        reading.conditions = path.conditions
        let type = step.destination.model.attribute(name, of: mapping.destination)?.type
        var carrier = Carrier(
            reading: reading, destination: StoredProperty(entity: mapping.destination, property: name),
            isTransformed: path.isTransformed || end.isTransformed)
        if carrier.isTransformed { transforms = true }
        for property in end.properties {
            if !carrier.isTransformed, let type, let name = property.property,
                let old = model.attribute(name, of: property.entity)?.type
            {
                carrier.keepsValues = old.keepsEveryValue(as: type)
            }
            all[property, default: []].append(carrier)
        }
    }

    private mutating func add(_ rule: ResolvedRelationship, of mapping: ResolvedEntityMapping) {
        let destination = StoredProperty(entity: mapping.destination, property: rule.name)
        if let name = rule.sourceRelationship {
            if model.relationship(name, of: mapping.source) != nil {
                all[StoredProperty(entity: mapping.source, property: name), default: []].append(
                    Carrier(reading: .init(mapping), destination: destination))
            }
            return
        }
        for path in rule.from.carriedPaths(ofObjects: true) {
            var reading = ChainLoss.Reading(mapping)
            reading.conditions = path.conditions
            if path.keys.count == 1, path.base == .variable("source") || path.base == .evaluatedObject,
                model.relationship(path.keys[0], of: mapping.source) != nil
            {
                all[StoredProperty(entity: mapping.source, property: path.keys[0]), default: []].append(
                    Carrier(reading: reading, destination: destination))
            } else if path.keys.isEmpty, let iteration = mapping.iteration, path.base == .variable(iteration.variable),
                let (name, owner) = joined(by: mapping)
            {
                // The new object stands for the link: it is related to the objects at both ends.
                let end = StoredProperty(entity: mapping.destination, property: rule.name, otherEnd: owner)
                all[StoredProperty(entity: mapping.source, property: name), default: []].append(
                    Carrier(reading: reading, destination: end, isJoin: true))
            }
        }
    }

    /// The relationship whose links become objects of an iterating mapping that are related to the source object, too, and
    /// their relationship to it, if they have one.
    private func joined(by mapping: ResolvedEntityMapping) -> (name: String, owner: String?)? {
        guard let path = mapping.iteration.flatMap({ IterationPath.relationships(of: $0.elements) }), path.count == 1,
            mapping.unique.isEmpty
        else { return nil }
        if let own = mapping.relationships.first(where: { !$0.mappings.isEmpty && $0.isOfSameObject }) {
            return (path[0], own.name)
        }
        for other in mappings[mapping.source] ?? [] where other.iteration == nil {
            if let rule = other.relationships.first(where: { $0.mappings.contains(mapping.name) && $0.isOfSameObject })
            {
                let new = step.destination.model
                return (path[0], new.relationship(rule.name, of: other.destination).flatMap(new.inverse)?.name)
            }
        }
        return nil
    }

    // MARK: Continuations

    /// The properties that continue a property; a relationship also continues where its inverse does.
    ///
    /// Of objects, the entities of what stands in for them: parts do so only without anything else.
    func continuations(of property: StoredProperty) -> Set<StoredProperty> {
        guard property.property != nil else {
            let mappings = mappings[property.entity] ?? []
            return Set(mappings.carriers.map { StoredProperty(entity: $0.destination, property: nil) })
        }
        let found = model.ends(of: property).reduce(into: Set<StoredProperty>()) { found, side in
            for carrier in all[side] ?? [] { found.insert(carrier.destination) }
        }
        guard let other = property.other else { return found }
        // An object that stands for a link does so only with both ends.
        let new = step.destination.model
        let others = continuations(of: other).flatMap { new.ends(of: $0) }
        return Set(
            found.flatMap { new.ends(of: $0) }.flatMap { end in
                others.filter { $0.entity == end.entity && $0 != end }.map {
                    StoredProperty(entity: end.entity, property: end.property, otherEnd: $0.property)
                }
            })
    }

    func continuations(of properties: Set<StoredProperty>) -> Set<StoredProperty> {
        properties.reduce(into: []) { $0.formUnion(continuations(of: $1)) }
    }

    /// The properties that continue a declared one, as ``ModelDistances`` asks: nil where a policy may carry it on.
    func continuations(of name: String, declaredBy owner: String) -> [(entity: String, property: String)?] {
        var found: [(entity: String, property: String)?] = []
        for member in model.family(of: owner) {
            for leaf in model.storedProperties(of: member) where leaf == name || leaf.hasPrefix(name + ".") {
                let property = StoredProperty(entity: member, property: leaf)
                if policy(of: property) != nil { found.append(nil) }
                for next in continuations(of: property) {
                    if let name = next.property { found.append((next.entity, name)) }
                }
            }
        }
        return found
    }

    /// The properties that alone have every value or link of a property, or the entities with every object.
    func wholeCopies(of property: StoredProperty) -> Set<StoredProperty> {
        guard let name = property.property else {
            return Set(
                (mappings[property.entity] ?? []).filter { $0.readsEveryObject }
                    .map { StoredProperty(entity: $0.destination, property: nil) })
        }
        let link = model.relationship(property)
        let ends = link.map { model.concreteFamily(of: $0.destinationEntity).flatMap { mappings[$0]?.carriers ?? [] } }
        func isWhole(_ found: [Carrier]) -> Bool {
            let related = Set(found.flatMap { $0.related?.mappings ?? [] })
            return found.allSatisfy { $0.keepsValues && !$0.isJoin && $0.reading.mapping.unique.isEmpty }
                && found.cover(name, of: mappings[property.entity] ?? [])
                && (ends ?? []).allSatisfy { related.contains($0.name) }
        }
        return Set(
            Dictionary(grouping: (all[property] ?? []).filter(\.isOwn), by: \.destination).filter { isWhole($1) }.keys)
    }

    /// Whether each object with a property becomes one object with it, in an entity that no other objects enter.
    func keepsNumber(of property: StoredProperty) -> Bool {
        guard let name = property.property else { return keepsNumber(ofObjects: property.entity) }
        if let link = model.relationship(property) {
            return keepsNumber(ofObjects: property.entity)
                && model.concreteFamily(of: link.destinationEntity).allSatisfy(keepsNumber)
        }
        guard let found = all[property], found.count == 1, let copy = found[0].rule?.expression else { return false }
        return copy.sourceKeys == name && keepsNumber(ofObjects: property.entity)
    }

    private func keepsNumber(ofObjects entity: String) -> Bool {
        let carriers = (mappings[entity] ?? []).carriers
        guard carriers.count == 1, carriers[0].isOneToOne else { return false }
        return step.entityMappings.count { $0.destination == carriers[0].destination } == 1
    }

    /// Whether functions compute the values of some objects of which no rule copies them.
    func isTransformed(_ property: StoredProperty) -> Bool {
        let copies = (all[property] ?? []).filter { !$0.isTransformed }
        guard let name = property.property, copies.count < all[property]?.count ?? 0 else { return false }
        return !copies.filter(\.isOwn).cover(name, of: mappings[property.entity] ?? [])
    }

    /// Whether a rule leaves out values that its attribute cannot take.
    func mayLeaveEmpty(_ properties: Set<StoredProperty>) -> Bool {
        properties.flatMap { all[$0] ?? [] }.contains { $0.rule?.expression?.mayLeaveOut == true }
    }

    /// A property, and of a relationship the inverse of every entity at the other end; of a link that has become an object
    /// those of both ends.
    func sides(of property: StoredProperty) -> [StoredProperty] {
        model.ends(of: property) + (property.other.map(model.ends) ?? [])
    }

    /// The mappings to whose objects a rule of a relationship relates.
    func targets(of carrier: Carrier) -> [ResolvedEntityMapping] {
        (carrier.related?.mappings ?? []).compactMap(step.entityMapping)
    }

    /// The class of a policy whose code may carry a property over.
    func policy(of property: StoredProperty) -> String? {
        if let policy = policyEntities[property.entity] { return policy }
        let relationship = model.relationship(property)
        return relationship.flatMap {
            model.family(of: $0.destinationEntity).lazy.compactMap { policyEntities[$0] }.first
        }
    }

    // MARK: Paths

    private func start(
        of base: Expression, _ mapping: ResolvedEntityMapping
    ) -> (entities: [String], isElement: Bool)? {
        switch base {
        case .variable("source"), .evaluatedObject: ([mapping.source], false)
        case .variable(mapping.iteration?.variable ?? ""):
            IterationPath.entity(of: mapping, in: model).map { (model.family(of: $0), true) }
        default: nil
        }
    }

    /// The attributes at the end of a path, for every entity that may have them; a whole composite has its leaves.
    private func end(
        of keys: [String], from start: [String]
    ) -> (properties: [StoredProperty], path: [String], isTransformed: Bool)? {
        var entities = start
        for (index, key) in keys.enumerated() {
            guard let entity = entities.first else { return nil }
            if let relationship = model.relationship(key, of: entity) {
                entities = model.family(of: relationship.destinationEntity)
                continue
            }
            let named = keys[index...].joined(separator: ".")
            let path = Array(keys[..<index])
            if let attribute = model.attribute(key, of: entity), attribute.type != .composite {
                let rest = keys[(index + 1)...]
                guard rest.allSatisfy(Expression.transformingKeys.contains) else { return nil }
                return (entities.map { StoredProperty(entity: $0, property: key) }, path, !rest.isEmpty)
            }
            let leaves = model.leaves(of: entity).map(\.name).filter { $0 == named || $0.hasPrefix(named + ".") }
            return (entities.flatMap { entity in leaves.map { .init(entity: entity, property: $0) } }, path, false)
        }
        return nil
    }
}

extension [StepCarriers] {
    /// The properties that continue one, before each step and after the last; the last set is empty if a step loses it.
    func way(of property: StoredProperty) -> [Set<StoredProperty>] {
        var way: [Set<StoredProperty>] = [[property]]
        for step in self {
            guard let now = way.last, !now.isEmpty else { break }
            way.append(step.continuations(of: now))
        }
        return way
    }
}

/// A property that the rows of an entity store, or the objects themselves.
package struct StoredProperty: Sendable, Hashable {
    package var entity: String
    /// An attribute, an element of a composite under its full name, or a relationship; nil for the objects.
    package var property: String?
    /// Of an object that stands for a link its relationship to the other end.
    var otherEnd: String?

    package var name: String { property.map { "\(entity).\($0)" } ?? entity }

    var other: StoredProperty? { otherEnd.map { StoredProperty(entity: entity, property: $0) } }

    /// The objects that have the property.
    var objects: StoredProperty { StoredProperty(entity: entity, property: nil) }
}

extension ManagedObjectModel {
    /// The stored properties of an entity that no other values determine.
    func storedProperties(of entity: String) -> [String] {
        leaves(of: entity).filter { !$0.isTransient && !isComputedByStore($0, of: entity) }.map(\.name)
            + relationships(of: entity).filter { !$0.isTransient }.map(\.name)
    }

    /// The relationship that a property is, or nil.
    func relationship(_ property: StoredProperty) -> Relationship? {
        property.property.flatMap { relationship($0, of: property.entity) }
    }

    /// A property by itself, and of a relationship the inverse of every entity at the other end.
    func ends(of property: StoredProperty) -> [StoredProperty] {
        let property = StoredProperty(entity: property.entity, property: property.property)
        guard let relationship = relationship(property), let inverse = inverse(of: relationship) else {
            return [property]
        }
        return [property]
            + family(of: relationship.destinationEntity).map { StoredProperty(entity: $0, property: inverse.name) }
    }

    /// The concrete entities, in name order.
    var concreteEntities: [String] { sortedEntityNames.filter { entities[$0]?.isAbstract == false } }
}
