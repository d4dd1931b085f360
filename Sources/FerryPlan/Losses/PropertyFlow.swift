internal import FerryExpression
internal import FerryMapping
internal import FerryModel

/// The destination properties that continue the properties of a step's source.
struct PropertyFlow {
    let model: ManagedObjectModel
    /// The destination properties whose values come from a property, and the entities that objects become.
    private var continuations: [StoredProperty: Set<StoredProperty>] = [:]
    /// Source entities with a migration policy.
    private var policyEntities: Set<String> = []

    /// Without `merging`, a value of an object that may be merged into another one continues only where it tells objects
    /// apart.
    init(_ step: ResolvedStep, merging: Bool = true) {
        model = step.source.model
        for mapping in step.entityMappings {
            add([.init(entity: mapping.source, property: nil)], .init(entity: mapping.destination, property: nil))
            if mapping.policy != nil { policyEntities.insert(mapping.source) }
            let elements = mapping.iteration.map { mentions(in: $0.elements, of: mapping) } ?? []
            let mayVanish = !merging && !mapping.unique.isEmpty
            func pass(_ expression: Expression, to name: String) {
                var read = mentions(in: expression, of: mapping)
                if let iteration = mapping.iteration,
                    expression.contains(where: { $0 == .variable(iteration.variable) })
                {
                    read += elements
                }
                add(read, StoredProperty(entity: mapping.destination, property: name))
            }
            for attribute in mapping.attributes where !mayVanish || mapping.unique.contains(attribute.name) {
                if let expression = attribute.expression { pass(expression, to: attribute.name) }
            }
            for relationship in mapping.relationships where !relationship.mappings.isEmpty {
                pass(relationship.from, to: relationship.name)
            }
        }
    }

    private mutating func add(_ read: [StoredProperty], _ continuation: StoredProperty) {
        for property in read { continuations[property, default: []].insert(continuation) }
    }

    /// The properties that continue a property; a relationship also continues where its inverse does.
    func continuations(of property: StoredProperty) -> Set<StoredProperty> {
        guard let name = property.property,
            let relationship = model.relationship(name, of: property.entity),
            let inverse = model.inverse(of: relationship)
        else { return continuations[property] ?? [] }
        let others = model.family(of: relationship.destinationEntity).filter { !policyEntities.contains($0) }
            .map { StoredProperty(entity: $0, property: inverse.name) }
        return others.reduce(continuations[property] ?? []) { $0.union(continuations[$1] ?? []) }
    }

    /// Whether a policy's code may carry a property over.
    func isHandledByPolicy(_ property: StoredProperty) -> Bool {
        if policyEntities.contains(property.entity) { return true }
        guard let name = property.property,
            let relationship = model.relationship(name, of: property.entity)
        else { return false }
        return model.family(of: relationship.destinationEntity).contains { policyEntities.contains($0) }
    }

    // MARK: Properties in expressions

    /// The source properties that an expression reads, each for every entity that may have it.
    func mentions(in expression: Expression, of mapping: ResolvedEntityMapping) -> [StoredProperty] {
        // Most expressions copy one attribute.
        if let key = expression.sourceKey { return walk([key], from: [mapping.source]) }
        var found: [StoredProperty] = []
        expression.forEachPath { base, keys in
            if let start = start(of: base, mapping) { found += walk(keys, from: start.entities) }
        }
        return found
    }

    /// The entities of the objects at which a path begins.
    func start(
        of base: Expression, _ mapping: ResolvedEntityMapping
    ) -> (entities: [String], isElement: Bool)? {
        switch base {
        case .variable("source"), .evaluatedObject: return ([mapping.source], false)
        case .variable(mapping.iteration?.variable ?? ""):
            return IterationPath.entity(of: mapping, in: model).map { (model.family(of: $0), true) }
        default: return nil
        }
    }

    func walk(_ keys: [String], from entities: [String]) -> [StoredProperty] {
        var found: [StoredProperty] = []
        var entities = entities
        for (index, key) in keys.enumerated() {
            guard let entity = entities.first else { return found }
            if let relationship = model.relationship(key, of: entity) {
                found += entities.map { StoredProperty(entity: $0, property: key) }
                entities = model.family(of: relationship.destinationEntity)
                continue
            }
            if let attribute = model.attribute(key, of: entity), attribute.type != .composite {
                return found + entities.map { StoredProperty(entity: $0, property: key) }
            }
            // A whole composite attribute, or an element of one.
            let rest = keys[index...]
            let leaves = model.leaves(of: entity).map(\.name).filter { leaf in
                leaf == key || leaf.hasPrefix(key + ".")
            }
            let named = rest.joined(separator: ".")
            let meant =
                leaves.contains { $0 == named || $0.hasPrefix(named + ".") }
                ? leaves.filter { $0 == named || $0.hasPrefix(named + ".") } : leaves
            return found + entities.flatMap { entity in meant.map { StoredProperty(entity: entity, property: $0) } }
        }
        return found
    }
}

extension Expression {
    /// Calls `body` with the base and the keys of each key path, and with each lone variable.
    func forEachPath(_ body: (Expression, [String]) -> Void) {
        switch self {
        case .constant: break
        case .evaluatedObject, .variable: body(self, [])
        case .keyPath(let base, let steps):
            let keys = steps.compactMap { if case .key(let key) = $0 { key } else { nil } }
            switch base {
            case .evaluatedObject, .variable: body(base, keys)
            default: base.forEachPath(body)
            }
        default: for part in parts { part.forEachPath(body) }
        }
    }
}

/// A property that the rows of an entity store, or the objects themselves.
package struct StoredProperty: Sendable, Hashable {
    package var entity: String
    /// An attribute, an element of a composite under its full name, or a relationship; nil for the objects.
    package var property: String?

    package var name: String { property.map { "\(entity).\($0)" } ?? entity }
}

/// Finds the properties that a chain of steps loses.
///
/// A property is lost at the first step without continuation; one that a policy handles counts as kept.
struct LossTrace {
    private let flows: [PropertyFlow]

    init(_ steps: [ResolvedStep]) { flows = steps.map { PropertyFlow($0) } }

    /// The lost properties with the index of the losing step; a lost entity is listed without its properties.
    func losses() -> [StoredProperty: Int] {
        guard let model = flows.first?.model else { return [:] }
        var losses: [StoredProperty: Int] = [:]
        for entity in model.sortedEntityNames where model.entities[entity]?.isAbstract == false {
            let objects = StoredProperty(entity: entity, property: nil)
            if let step = end(of: objects) {
                losses[objects] = step
                continue
            }
            for name in Self.stored(of: entity, in: model) {
                let property = StoredProperty(entity: entity, property: name)
                if let step = end(of: property) { losses[property] = step }
            }
        }
        return losses
    }

    /// The stored properties of an entity that no other values determine.
    static func stored(of entity: String, in model: ManagedObjectModel) -> [String] {
        model.leaves(of: entity).filter { !$0.isTransient && !model.isComputedByStore($0, of: entity) }.map(\.name)
            + model.relationships(of: entity).filter { !$0.isTransient }.map(\.name)
    }

    /// The index of the step that loses a property, or nil.
    private func end(of property: StoredProperty) -> Int? {
        var continuations: Set<StoredProperty> = [property]
        for (index, flow) in flows.enumerated() {
            if continuations.contains(where: flow.isHandledByPolicy) { return nil }
            continuations = continuations.reduce(into: []) { $0.formUnion(flow.continuations(of: $1)) }
            if continuations.isEmpty { return index }
        }
        return nil
    }
}
