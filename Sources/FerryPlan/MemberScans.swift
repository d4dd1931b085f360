internal import FerryBase
internal import FerryExpression
package import FerryMapping
internal import FerryModel

/// A part of an entity mapping that compares each of its source objects with each object of other entities.
///
/// An equality between a value of the other objects and one of the source object makes an index possible, and is no
/// such part (``MemberEquality``).
package struct MemberScan: Sendable, Hashable {
    package var entityMapping: String
    /// The attribute or relationship, `where` or `forEach`.
    package var part: String
    /// The entity whose objects the part is computed for, then the entities of which every object is read for each of
    /// them; a third one for each pair of objects.
    package var entities: [String]

    /// The number of comparisons, at most; nil if the rows of an entity are unknown.
    package func comparisons(_ rows: [String: Int64]) -> Int64? {
        var product: Int64 = 1
        for entity in entities {
            guard let count = rows[entity] else { return nil }
            let (next, overflow) = product.multipliedReportingOverflow(by: count)
            product = overflow ? .max : next
        }
        return product
    }
}

extension ResolvedStep {
    /// The parts of entity mappings that compare objects of one entity with each object of another one.
    package var scans: [MemberScan] {
        entityMappings.flatMap { mapping in
            mapping.computations(in: self).flatMap { part, computation in
                computation.scans(for: mapping.source).map {
                    MemberScan(entityMapping: mapping.name, part: part, entities: $0)
                }
            }.distinct
        }
    }
}

extension ResolvedEntityMapping {
    /// The mapping's computations, by attribute or relationship, `where` or `forEach`; with `ofObjects`, also those that
    /// find the objects of a `forEach` or a relationship.
    func computations(in step: ResolvedStep, ofObjects: Bool = true) -> [(part: String, computation: Computation)] {
        let translation = ExpressionTranslation(scope: expressionScope(in: step.source.model))
        var found: [(part: String, computation: Computation)] = []
        func add(_ part: String, _ body: () throws -> Computation) {
            // The mapping model's check reports an expression that cannot be translated, with its place.
            do { found.append((part, try body())) } catch {}
        }
        if let filter { add("where") { try translation.condition(filter) } }
        if case .json(let text, _)? = iteration?.elements {
            add("forEach") { try translation.value(text).computation }
        } else if ofObjects, let elements = iteration?.elements, !elements.isPath {
            add("forEach") { try translation.objects(elements).keys }
        }
        // A plain copy of an attribute, as most rules are, is neither deep nor a search: translating it takes most of a
        // long chain's plan.
        for rule in attributes {
            guard let expression = rule.expression, expression.sourceKey == nil,
                let attribute = step.destination.model.attribute(rule.name, of: destination)
            else { continue }
            add(rule.name) { try translation.value(expression, for: attribute) }
        }
        for rule in relationships where ofObjects && !rule.from.isPath {
            add(rule.name) { try translation.objects(rule.from).keys }
        }
        return found
    }
}

extension Computation {
    /// The entities of each scan: the driver, whose objects the value is computed for, then those that are scanned.
    fileprivate func scans(for driver: String) -> [[String]] {
        guard case .collection(let collection) = self else { return parts.flatMap { $0.scans(for: driver) } }
        let inside = collection.filters + [collection.value].compactMap { $0 }
        guard case .entity(let entity) = collection.start else {
            var scans = inside.flatMap { $0.scans(for: driver) }
            for part in collection.united {
                scans += Computation.collection(part).scans(for: driver)
                // The outer condition goes through all members of the union.
                if collection.isCorrelated, case .entity(let entity) = part.start, !part.isCorrelated {
                    scans.append([driver, entity])
                }
            }
            return scans
        }
        // The same members for all objects are found once.
        guard collection.isCorrelated else { return inside.flatMap { $0.scans(for: entity) } }
        guard collection.equalities.isEmpty else { return inside.flatMap { $0.scans(for: driver) } }
        let scans = inside.flatMap { $0.scans(for: entity) }
        return scans.isEmpty ? [[driver, entity]] : scans.map { [driver] + $0 }
    }
}
