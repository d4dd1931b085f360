import Ferry
import FerryModel
import FerrySQLite
import Foundation

/// A plain program that knows the files of the stores, their models and the mappings' words, and nothing of Ferry's plan:
/// it looks for every object, value and link of the source in the destination, step by step, and compares what it does not
/// find with the losses that plan and report tell.
struct BlindOracle {
    /// The losses of one document.
    struct Told {
        let document: String
        let losses: [Loss]
    }

    private let steps: [StepEvidence]
    private let told: [Told]
    private var source: StoreSide { steps[0].old }
    private var model: ManagedObjectModel { source.model }
    /// The number of values, links and objects that were looked for.
    private(set) var looked = 0
    private(set) var exceptions: [String] = []
    private var objects: [StepEvidence.Object: Found] = [:]

    init(_ steps: [StepEvidence], _ told: [Told]) { (self.steps, self.told) = (steps, told) }

    var losses: [Loss] { told.last?.losses ?? [] }

    /// How many of something are lost: those surely lost of objects that stay, and all that can be.
    private struct Missing {
        var least = 0
        var most = 0
    }

    mutating func look() throws {
        for entity in model.sortedEntityNames {
            var missing = Missing()
            for key in try source.keys(entity) {
                looked += 1
                let found = try find(of: .init(entity: entity, key: key))
                if found != .yes { missing.most += 1 }
                if found == .no { missing.least += 1 }
            }
            compare([(nil, [entity])], missing)
        }
        for entity in model.sortedEntityNames {
            for attribute in model.entities[entity]?.attributes ?? [] where !attribute.isTransient {
                try look(for: attribute.name, declaredBy: entity)
            }
            for relationship in model.entities[entity]?.relationships ?? [] {
                try look(for: relationship, declaredBy: entity)
            }
        }
        for document in told {
            for loss in document.losses where !hasProperty(loss) {
                exceptions.append("\(document.document): the store has no \(loss.name)")
            }
        }
    }

    private func hasProperty(_ loss: Loss) -> Bool {
        guard let name = loss.property else { return model.entities[loss.entity] != nil }
        return model.attribute(name, of: loss.entity) != nil || model.relationship(name, of: loss.entity) != nil
    }

    // MARK: Search

    /// Whether something is in the destination: surely, perhaps, or not.
    private enum Found { case yes, perhaps, no }

    private func find<Item: Hashable>(
        _ item: Item, _ places: (StepEvidence, Item) throws -> Set<StepEvidence.Place<Item>>
    ) throws -> Found {
        var now: Set<StepEvidence.Place<Item>> = [.init(item: item)]
        for step in steps {
            now = try now.reduce(into: []) { next, place in
                for var found in try places(step, place.item) {
                    found.isDoubtful = found.isDoubtful || place.isDoubtful
                    next.insert(found)
                }
            }
        }
        return now.isEmpty ? .no : now.allSatisfy(\.isDoubtful) ? .perhaps : .yes
    }

    private mutating func find(of object: StepEvidence.Object) throws -> Found {
        if let known = objects[object] { return known }
        let found = try find(object) { try $0.places(of: $1) }
        objects[object] = found
        return found
    }

    private mutating func isLiving(_ object: StepEvidence.Object) throws -> Bool { try find(of: object) == .yes }

    private mutating func look(for attribute: String, declaredBy declaring: String) throws {
        let family = model.family(of: declaring)
        var missing = Missing()
        for entity in family {
            for key in try source.values(attribute, of: entity).keys {
                looked += 1
                let object = StepEvidence.Object(entity: entity, key: key)
                let found = try find(StepEvidence.StoredValue(object: object, attribute: attribute)) {
                    try $0.places(of: $1)
                }
                if found == .yes { continue }
                missing.most += 1
                if found == .no, try isLiving(object) { missing.least += 1 }
            }
        }
        compare([(attribute, family)], missing)
    }

    private mutating func look(for relationship: Relationship, declaredBy declaring: String) throws {
        guard let links = try source.links(relationship.name, of: declaring) else { return }
        let other = relationship.destinationEntity
        let inverse = relationship.inverseName ?? ""
        let (owners, ends) = (model.family(of: declaring), model.family(of: other))
        var missing = Missing()
        for link in links {
            looked += 1
            guard let from = try source.entity(link.from, in: owners), let to = try source.entity(link.to, in: ends)
            else { continue }
            let stored = StepEvidence.StoredLink(
                relationship: relationship.name, from: .init(entity: from, key: link.from),
                to: .init(entity: to, key: link.to))
            let found = try find(stored) { try $0.places(of: $1) }
            if found == .yes { continue }
            missing.most += 1
            if found == .no, try isLiving(stored.from), try isLiving(stored.to) { missing.least += 1 }
        }
        // One link has two names: either may tell that it is lost.
        compare(
            [
                (relationship.name, owners),
                (inverse, model.family(of: model.declaringEntity(of: inverse, in: other) ?? other)),
            ], missing)
    }

    // MARK: Losses

    /// The numbers that a document tells of lost values, links or objects: the least and the most.
    private func numbers(_ name: (property: String?, entities: [String]), in told: Told) -> (least: Int, most: Int) {
        let losses = told.losses.filter {
            $0.property == name.property && name.entities.contains($0.entity) && !$0.isOrder
        }
        func rows(_ losses: [Loss]) -> Int { Int(losses.compactMap(\.rows).reduce(0, +)) }
        // A value that one step changes a later one may leave out: both tell it.
        let exact = Dictionary(grouping: losses.filter { !$0.isAtMost }, by: \.step).values.map(rows)
        return (exact.max() ?? 0, rows(losses))
    }

    /// Compares what is missing with what is told under one of the names.
    private mutating func compare(_ names: [(property: String?, entities: [String])], _ missing: Missing) {
        for document in told {
            let numbers = names.map { self.numbers($0, in: document) }
            // Each name of a link may tell a part, for a reason of its own, but no more than all.
            let sum = numbers.map(\.most).reduce(0, +)
            if sum >= missing.least, numbers.allSatisfy({ $0.least <= missing.most }) { continue }
            let title = names[0].entities[0] + (names[0].property.map { "." + $0 } ?? "")
            let texts = document.losses.filter { loss in
                names.contains { $0.property == loss.property && $0.entities.contains(loss.entity) }
            }
            exceptions.append(
                "\(document.document): \(title): \(missing.least) to \(missing.most) are not there, "
                    + "told: \(numbers) \(texts.map(\.text))")
        }
    }
}
