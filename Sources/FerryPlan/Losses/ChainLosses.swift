internal import FerryBase
internal import FerryExpression
internal import FerryMapping
package import FerryModel

struct ChainLosses {
    let steps: [ResolvedStep]
    /// The name of each step's destination version.
    let versions: [String]
    /// Rows of the store by entity, without subentities.
    let rows: [String: Int64]
    let areEstimated: Bool

    /// The losses, entity by entity, without those of no rows.
    func all() -> [ChainLoss] {
        let lost = LossTrace(steps).losses()
        let whole = droppedProperties(lost) + filtered()
        return (whole + partlyRead(lost) + narrowed() + merged(lost) + losingLinks(lost) + orders())
            .compactMap { loss in
                var loss = loss
                loss.count = count(of: loss)
                return loss.count == .exactly(0) ? nil : loss
            }
    }

    private func count(of loss: ChainLoss) -> ChainLoss.Count {
        if loss.step == 1 || loss.isOfOrder || loss.cause == .removed || loss.cause == .noEntityMapping
            || loss.cause == .removedByMapping || loss.cause == .notRead
        {
            let objects = loss.entities.map { rows[$0] ?? 0 }.reduce(0, +)
            if objects == 0, !areEstimated { return .exactly(0) }
            if loss.property == nil, !loss.isByFilter {
                return areEstimated ? .about(objects) : .exactly(objects)
            }
        }
        return .unknown
    }

    func loss(
        _ entity: String, _ property: String?, of entities: [String], at step: Int, _ cause: ChainLoss.Cause
    ) -> ChainLoss {
        ChainLoss(
            entity: entity, property: property, entities: entities, version: versions[step], step: step + 1,
            cause: cause)
    }

    private func droppedProperties(_ lost: [StoredProperty: Int]) -> [ChainLoss] {
        guard let model = steps.first?.source.model else { return [] }
        var losses: [ChainLoss] = []
        for entity in model.sortedEntityNames {
            if let step = lost[StoredProperty(entity: entity, property: nil)] {
                losses.append(loss(entity, nil, [entity], at: step))
            }
            for name in names(declaredBy: entity, in: model) {
                // One loss stands for the family, unless some subentities keep the property.
                let family = model.family(of: entity)
                    .filter { model.entities[$0]?.isAbstract == false }
                let living = family.filter { lost[StoredProperty(entity: $0, property: nil)] == nil }
                let losing = living.filter { lost[StoredProperty(entity: $0, property: name)] != nil }
                guard let first = losing.first, let step = lost[StoredProperty(entity: first, property: name)] else {
                    continue
                }
                if losing == living {
                    losses.append(loss(entity, name, losing, at: step))
                } else {
                    losses += losing.map {
                        loss($0, name, [$0], at: lost[StoredProperty(entity: $0, property: name)] ?? step)
                    }
                }
            }
        }
        return losses
    }

    private func names(declaredBy entity: String, in model: ManagedObjectModel) -> [String] {
        let parent = model.entities[entity]?.superentity
        return LossTrace.stored(of: entity, in: model).filter { name in
            guard let parent else { return true }
            return model.attribute(name, of: parent) == nil && model.relationship(name, of: parent) == nil
        }
    }

    private func loss(_ entity: String, _ property: String?, _ entities: [String], at step: Int) -> ChainLoss {
        let resolved = steps[step]
        let isInferred = resolved.mappingModels.allSatisfy(\.isInferred)
        var cause = ChainLoss.Cause.removed
        if !isInferred {
            if property == nil {
                let isRemoved = resolved.mappingModels.contains { model in
                    model.entityMappings.contains { $0.source == entity && $0.destination == nil }
                }
                cause = isRemoved ? .removedByMapping : .noEntityMapping
            } else if let property, step > 0 || isKnown(property, of: entities, after: resolved) {
                cause = .notRead
            }
        }
        return loss(entity, property, of: entities, at: step, cause)
    }

    private func isKnown(_ property: String, of entities: [String], after step: ResolvedStep) -> Bool {
        step.entityMappings.contains { mapping in
            entities.contains(mapping.source)
                && (step.destination.model.attribute(property, of: mapping.destination) != nil
                    || step.destination.model.relationship(property, of: mapping.destination) != nil)
        }
    }

    /// Entities whose objects may be left out by every entity mapping that makes one object of each.
    ///
    /// A mapping with elements or with `unique` reads an object for a part of it: beside one that carries the object,
    /// it does not stand in for that one.
    private func filtered() -> [ChainLoss] {
        var losses: [ChainLoss] = []
        for (index, step) in steps.enumerated() {
            let carried = Dictionary(grouping: step.entityMappings, by: \.source)
            for (entity, mappings) in carried.inOrder(by: { codeUnitOrder($0.key, $1.key) }) {
                let judged = mappings.carriers
                guard judged.allSatisfy({ $0.filter != nil || $0.iteration != nil }),
                    !mappings.contains(where: { $0.policy != nil }), !judged.haveComplements
                else { continue }
                var loss = loss(entity, nil, of: [entity], at: index, .filtered(by: judged.map(\.name)))
                loss.objects = .init(except: judged)
                losses.append(loss)
            }
        }
        return losses
    }

    /// Properties that only some of the objects carry on.
    private func partlyRead(_ lost: [StoredProperty: Int]) -> [ChainLoss] {
        let last = steps.lastIndex { !$0.mappingModels.allSatisfy(\.isInferred) } ?? -1
        // Properties of later versions count only with values of the store.
        var held: Set<StoredProperty>?
        var losses: [ChainLoss] = []
        for (index, step) in steps.enumerated() where index <= last {
            let found = PartlyRead(step).losses(at: index + 1, to: versions[index])
            losses += found.filter { loss in
                let property = StoredProperty(entity: loss.entity, property: loss.property)
                return held?.contains(property) ?? (lost[property] == nil)
            }
            guard index < last else { break }
            let (model, flow) = (step.source.model, PropertyFlow(step))
            let before =
                held
                ?? model.sortedEntityNames.reduce(into: []) { all, entity in
                    all.formUnion(LossTrace.stored(of: entity, in: model).map { .init(entity: entity, property: $0) })
                }
            held = before.reduce(into: []) { $0.formUnion(flow.continuations(of: $1)) }
        }
        return losses
    }

    /// Values of merged objects; a property that is lost anyway is not reported again.
    private func merged(_ lost: [StoredProperty: Int]) -> [ChainLoss] {
        steps.enumerated().flatMap { index, step in MergedValues(step).losses(at: index + 1, to: versions[index]) }
            .filter { lost[StoredProperty(entity: $0.entity, property: $0.property)] == nil }
    }

    private func losingLinks(_ lost: [StoredProperty: Int]) -> [ChainLoss] {
        let overruled = overruled(lost) + contested(lost)
        // A relationship that loses all links is not reported for the links beyond the first, too.
        let narrowed = steps.enumerated().flatMap { index, step in
            NarrowedLinks(step).losses(at: index + 1, to: versions[index])
        }
        .filter { loss in !overruled.contains { $0.name == loss.name && $0.step == loss.step } }
        return narrowed + overruled
    }

    /// Relationships whose links are lost because another rule fills the inverse.
    private func overruled(_ lost: [StoredProperty: Int]) -> [ChainLoss] {
        var losses: [ChainLoss] = []
        for (index, step) in steps.enumerated() {
            // A custom rule of a mapping model is deliberate, and a warning reports it.
            for overruled in step.overruled where overruled.rule.isAutomatic && !step.carriesElsewhere(overruled) {
                guard let name = overruled.rule.sourceRelationship,
                    lost[StoredProperty(entity: overruled.source, property: name)] != index
                else { continue }
                let entity =
                    step.source.model.declaringEntity(of: name, in: overruled.source) ?? overruled.source
                if let known = losses.firstIndex(where: {
                    $0.entity == entity && $0.property == name && $0.step == index + 1
                }) {
                    if !losses[known].entities.contains(overruled.source) {
                        losses[known].entities.append(overruled.source)
                    }
                    continue
                }
                losses.append(
                    loss(entity, name, of: [overruled.source], at: index, .overruled(by: overruled.inverse)))
            }
        }
        return losses
    }

    private func contested(_ lost: [StoredProperty: Int]) -> [ChainLoss] {
        steps.enumerated().flatMap { index, step in ContestedLinks(step).losses(at: index + 1, to: versions[index]) }
            .filter { lost[StoredProperty(entity: $0.entity, property: $0.property)] == nil }
    }

    private func orders() -> [ChainLoss] { LostOrders(steps, versions: versions).losses() }
}

/// A stored property, or the objects of an entity, that the migration does not keep.
package struct ChainLoss: Sendable {
    package enum Cause: Sendable, Hashable {
        /// The destination version of the step lacks it.
        case removed
        /// No entity mapping carries the entity's objects.
        case noEntityMapping
        /// An entity mapping says that the objects are removed.
        case removedByMapping
        /// No entity mapping reads the property.
        case notRead
        /// Filters of these entity mappings leave out objects, or iterations create no object for some of them.
        case filtered(by: [String])
        /// Only these entity mappings read the property, and not from every object.
        case readInPart(by: [String])
        /// The new type does not hold every value of the old one.
        case narrowed(to: AttributeType)
        /// Objects with equal values become one, which keeps the first values.
        case merged(Merging)
        /// The new relationship keeps one of several links; `isExact` if only links beyond the first are lost.
        case relatedToOne(isExact: Bool)
        /// Another rule fills the inverse, and thereby the relationship.
        case overruled(by: String)
        /// A later rule fills the inverse, and thereby the relationship of some objects.
        case contested(ContestedLinks.Contest)
        /// The new relationship keeps the links without an order.
        case unordered
        /// The links stay, but row order decides their positions.
        case orderedAnew
        /// The damaged object or link is left out at the caller's request; the value describes the damage.
        case damaged(String)
        /// The parts of persistent history that number the properties of the named entity, which are others now.
        case history(String)
        /// The new table or column has the name of one with rows, which no model explains; the value is that name.
        case inTheWay(String)
    }

    package enum Count: Sendable, Hashable {
        case exactly(Int64)
        case about(Int64)
        case some
        case unknown

        package var number: Int64? {
            switch self {
            case .exactly(let number), .about(let number): number
            case .some, .unknown: nil
            }
        }

        package var isEstimated: Bool { if case .exactly = self { false } else { true } }
    }

    /// The entity that declares the property, if all of its subentities lose it.
    package var entity: String
    /// Nil if the objects themselves are lost.
    package var property: String?
    package var entities: [String]
    /// The destination version of the losing step.
    package var version: String
    /// The place of the losing step in the chain, from 1.
    package var step: Int
    package var cause: Cause
    package var count = Count.unknown
    package var objects = Objects()

    package init(
        entity: String, property: String?, entities: [String], version: String, step: Int, cause: Cause,
        count: Count = .unknown
    ) {
        self.entity = entity
        self.property = property
        self.entities = entities
        self.version = version
        self.step = step
        self.cause = cause
        self.count = count
    }

    package var name: String { property.map { "\(entity).\($0)" } ?? entity }

    package var isByFilter: Bool { if case .filtered = cause { true } else { false } }
    package var isOfOrder: Bool { cause == .unordered || cause == .orderedAnew }

    package var because: String {
        switch cause {
        case .removed: "\(version) does not have it"
        case .noEntityMapping: "no entity mapping to \(version) maps \(entity)"
        case .removedByMapping: "a mapping model to \(version) removes \(entity)"
        case .notRead: "no entity mapping to \(version) reads it"
        case .filtered: "some objects do not meet the filters of the entity mappings to \(version)"
        case .readInPart(let mappings):
            "only \(mappings.joined(separator: " and ")) read\(mappings.count == 1 ? "s" : "") it, and not "
                + "from every object"
        case .narrowed(let type): "\(version) stores it as \(type)"
        case .merged(let merging):
            "objects with equal \(merging.by.joined(separator: ", ")) become one in \(version), which keeps \(merging.kept)"
        case .relatedToOne: "\(version) keeps only one related object"
        case .overruled(let inverse): "\(version) fills it from its inverse \(inverse), which had other objects"
        case .contested(let contest):
            "\(version) fills it from its inverse \(contest.inverse) where "
                + "\(contest.winners.joined(separator: " or ")) relates the object"
        case .unordered: "\(version) does not order it"
        case .orderedAnew: "the entity mappings to \(version) recreate its order"
        case .damaged(let what): "damage: \(what)"
        case .history(let entity):
            "the history numbers the properties of \(entity), which differ in \(version), in an unknown order"
        case .inTheWay(let name): "\(name) is left over from another migration, and is empty in \(version)"
        }
    }

    /// The count in words: `4 values`, `about 7 objects`.
    package var amount: String {
        let one = property == nil || isOfOrder ? "object" : "value"
        switch count {
        case .exactly(let number): return number.counting(one)
        case .about(let number): return "about " + number.counting(one)
        case .some: return "some \(one)s"
        case .unknown: return "an unknown number of \(one)s"
        }
    }

    package var sentence: String {
        "\(isOfOrder ? "The order of " : "")\(name) is lost, \(isOfOrder ? "of " : "")\(amount): \(because)."
    }
}
