internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel

/// What becomes of every stored property of the store, over all steps of a chain.
///
/// The ledger fails closed: a property is carried where a rule proves that its value can be told from the new one
/// (``StepCarriers``), or transformed where a listed function computes a new value of it. All else is lost, whatever
/// reads it. A loss of a later step is told under the name that the property has in the store.
struct Ledger {
    let carriers: [StepCarriers]
    /// The name of each step's destination version.
    let versions: [String]

    init(_ steps: [ResolvedStep], versions: [String]) {
        carriers = steps.map { StepCarriers($0) }
        self.versions = versions
    }

    private init(carriers: [StepCarriers], versions: [String]) {
        (self.carriers, self.versions) = (carriers, versions)
    }

    var model: ManagedObjectModel { carriers[0].model }

    // MARK: Lost as a whole

    /// The properties that no step carries on, with the index of the losing step; a lost entity stands for its properties.
    ///
    /// `trustsPolicies`: what a policy's code may carry counts as carried, to compare routes.
    func whole(trustsPolicies: Bool = false) -> [StoredProperty: Int] {
        guard !carriers.isEmpty else { return [:] }
        var losses: [StoredProperty: Int] = [:]
        for entity in model.concreteEntities {
            let objects = StoredProperty(entity: entity, property: nil)
            if let step = end(of: objects, trustsPolicies) {
                losses[objects] = step
                continue
            }
            for name in model.storedProperties(of: entity) {
                let property = StoredProperty(entity: entity, property: name)
                if let step = end(of: property, trustsPolicies) { losses[property] = step }
            }
        }
        return losses
    }

    private func end(of property: StoredProperty, _ trustsPolicies: Bool) -> Int? {
        let way = carriers.way(of: property)
        guard way.last?.isEmpty == true else { return nil }
        let isCode = zip(way, carriers).contains { now, step in now.contains { step.policy(of: $0) != nil } }
        return trustsPolicies && isCode ? nil : way.count - 2
    }

    // MARK: All lines

    /// The lines that lose something, entity by entity, with the most rows that each can concern.
    ///
    /// `rows` are those of the store by entity, without subentities.
    func losses(of rows: [String: Int64], areEstimated: Bool) -> [ChainLoss] {
        guard !carriers.isEmpty else { return [] }
        let whole = whole()
        return
            (lines(whole) + parts(whole) + lostOrders())
            .compactMap { $0.counted(by: rows, areEstimated: areEstimated) }
    }

    private func lines(_ lost: [StoredProperty: Int]) -> [ChainLoss] {
        var losses: [ChainLoss] = []
        for entity in model.sortedEntityNames {
            if let step = lost[StoredProperty(entity: entity, property: nil)] {
                losses.append(line(entity, nil, [entity], at: step))
            }
            for name in names(declaredBy: entity) {
                // One line stands for the family, unless some subentities keep the property, or lose it in another step.
                let family = model.family(of: entity).filter { model.entities[$0]?.isAbstract == false }
                let living = family.filter { lost[StoredProperty(entity: $0, property: nil)] == nil }
                let steps = living.map { lost[StoredProperty(entity: $0, property: name)] }
                guard let step = steps.lazy.compactMap(\.self).first else { continue }
                if steps.allSatisfy({ $0 == step }) {
                    losses.append(line(entity, name, living, at: step))
                } else {
                    losses += zip(living, steps).compactMap { member, step in
                        step.map { line(member, name, [member], at: $0) }
                    }
                }
            }
        }
        return losses
    }

    private func names(declaredBy entity: String) -> [String] {
        let parent = model.entities[entity]?.superentity
        return model.storedProperties(of: entity).filter { name in
            guard let parent else { return true }
            return model.attribute(name, of: parent) == nil && model.relationship(name, of: parent) == nil
        }
    }

    private func line(_ entity: String, _ name: String?, _ entities: [String], at index: Int) -> ChainLoss {
        let step = carriers[index].step
        var cause = ChainLoss.Cause.removed
        // The properties that the store's ones have become by then.
        let now = properties(of: entities.map { StoredProperty(entity: $0, property: name) }, at: index)
        if let policy = name == nil ? nil : now.lazy.compactMap(carriers[index].policy).first {
            cause = .leftToPolicy(policy)
        } else if !step.mappingModels.allSatisfy(\.isInferred) {
            if let name {
                let readers = step.readers(of: name, Set(now.map(\.entity)))
                let isKnown = now.contains { property in
                    step.entityMappings.contains { mapping in
                        mapping.source == property.entity
                            && step.destination.model.hasProperty(name, of: mapping.destination)
                    }
                }
                if index > 0 || isKnown || !readers.isEmpty { cause = .notCarried(readBy: readers) }
            } else {
                let names = Set(now.map(\.entity))
                let isRemoved = step.mappingModels.contains { model in
                    model.entityMappings.contains { mapping in
                        mapping.destination == nil && mapping.source.map(names.contains) == true
                    }
                }
                cause = isRemoved ? .removedByMapping : .noEntityMapping
            }
        }
        return ChainLoss(
            entity: entity, property: name, entities: entities, version: versions[index], step: index + 1, cause: cause)
    }

    private func properties(of properties: [StoredProperty], at index: Int) -> Set<StoredProperty> {
        carriers[..<index].reduce(Set(properties)) { $1.continuations(of: $0) }
    }

    // MARK: Lost in part

    /// What each step keeps a part of, under the store's names, without what is lost as a whole.
    private func parts(_ whole: [StoredProperty: Int]) -> [ChainLoss] {
        var losses: [ChainLoss] = []
        var now: [StoredProperty: Living] = [:]
        let isInferred = carriers.allSatisfy { $0.step.mappingModels.allSatisfy(\.isInferred) }
        for (index, carriers) in carriers.enumerated() {
            let found = StepLosses(carriers: carriers, place: index + 1, version: versions[index]).all()
            if index == 0 {
                losses += found.filter { loss in
                    loss.entities.contains { whole[StoredProperty(entity: $0, property: loss.property)] == nil }
                }
            } else if !found.isEmpty || !isInferred {
                if now.isEmpty { now = held(whole, at: index) }
                losses += named(found, now, at: index)
            }
            guard !now.isEmpty else { continue }
            now = now.mapValues { $0.after(carriers) }
        }
        return losses
    }

    /// What a property of the store is in the version at hand.
    private struct Living {
        /// The properties that carry it.
        var all: Set<StoredProperty>
        /// Those that alone have every value of an attribute, or every object.
        var copies: Set<StoredProperty>

        func after(_ step: StepCarriers) -> Living {
            Living(all: step.continuations(of: all), copies: copies(after: step))
        }

        func copies(after step: StepCarriers) -> Set<StoredProperty> {
            copies.reduce(into: []) { $0.formUnion(step.wholeCopies(of: $1)) }
        }
    }

    /// The properties of the store that live on as a whole, with what they are before a step.
    private func held(_ whole: [StoredProperty: Int], at index: Int) -> [StoredProperty: Living] {
        var held: [StoredProperty: Living] = [:]
        for entity in model.concreteEntities where whole[StoredProperty(entity: entity, property: nil)] == nil {
            for name in [nil] + model.storedProperties(of: entity).map(Optional.some) {
                let property = StoredProperty(entity: entity, property: name)
                if whole[property] != nil { continue }
                held[property] = carriers[..<index].reduce(Living(all: [property], copies: [property])) { $0.after($1) }
            }
        }
        return held
    }

    /// The losses of a later step under the store's names; a property that also lives on elsewhere is not lost.
    private func named(
        _ losses: [ChainLoss], _ known: [StoredProperty: Living], at index: Int
    ) -> [ChainLoss] {
        var causes: [StoredProperty: ChainLoss.Cause] = [:]
        for loss in losses {
            for entity in loss.entities {
                let property = StoredProperty(entity: entity, property: loss.property)
                causes[property] = causes[property] ?? loss.cause
            }
        }
        var named: [ChainLoss] = []
        // Of a link's two names that of the side with several links comes first.
        let properties = known.inOrder { one, other in
            let isMany = (
                model.relationship(one.key)?.isToMany == true, model.relationship(other.key)?.isToMany == true
            )
            return isMany.0 == isMany.1 ? codeUnitOrder(one.key.name, other.key.name) : isMany.0
        }
        for (property, now) in properties {
            // What ends here keeps nothing; beside a copy of all values, one of some keeps nothing more.
            let (all, copies) = (now.all, now.copies)
            let living = (copies.isEmpty ? all : copies).filter { !carriers[index].continuations(of: $0).isEmpty }
            // Objects whose loss is told by itself: nothing else stands for the same objects of the store.
            let ends = carriers[0].sides(of: property).compactMap { known[$0.objects]?.all }
            let told = ends.filter { one in ends.allSatisfy { $0.isDisjoint(with: one) || $0.count == 1 } }
            let found = living.inOrder { codeUnitOrder($0.name, $1.name) }.map { one in
                let sides = carriers[index].sides(of: one)
                return sides.lazy.compactMap { causes[$0] }.first
                    ?? sides.lazy.map(\.objects).filter { !told.contains([$0]) }.compactMap { causes[$0] }.first
            }
            var cause = copies.isEmpty || !found.contains(nil) ? found.lazy.compactMap(\.self).first : nil
            // Of several copies one ends here, and no other one has every value.
            if cause == nil, all.contains(where: { carriers[index].continuations(of: $0).isEmpty }),
                now.copies(after: carriers[index]).isEmpty
            {
                cause = .carriedInPart(by: [])
            }
            guard let cause, !isTold(property, in: named) else { continue }
            let declaring =
                property.property.flatMap { model.declaringEntity(of: $0, in: property.entity) } ?? property.entity
            if let known = named.firstIndex(where: {
                $0.property == property.property && $0.entity == declaring && $0.cause == cause
            }) {
                named[known].entities.append(property.entity)
                continue
            }
            named.append(
                ChainLoss(
                    entity: declaring, property: property.property, entities: [property.entity],
                    version: versions[index], step: index + 1, cause: cause))
        }
        return named
    }

    /// Whether the links of a relationship are told under the name of its inverse.
    private func isTold(_ property: StoredProperty, in losses: [ChainLoss]) -> Bool {
        carriers[0].sides(of: property).filter { $0.property != property.property }.contains { side in
            losses.contains { $0.property == side.property && $0.entities.contains(side.entity) }
        }
    }

    /// The losses of one pass by itself, under the names of its own source version, each with the properties of the store
    /// that have become what it loses; uncounted.
    func losses(ofPass number: Int) -> [(loss: ChainLoss, properties: Set<StoredProperty>)] {
        let index = number - 1
        let origins = held([:], at: index)
        let later = Ledger(carriers: Array(carriers[index...]), versions: Array(versions[index...]))
        return later.losses(of: [:], areEstimated: true).filter { $0.step == 1 }.map { loss in
            var loss = loss
            let sides = later.names(of: loss)
            let properties = Set(
                origins.filter { origin in
                    origin.value.all.contains { !sides.isDisjoint(with: carriers[index].sides(of: $0)) }
                }.keys)
            // A later pass has as many values, links or objects as the store, but for those lost before.
            let keepNumber = properties.allSatisfy { property in
                zip(carriers.way(of: property), carriers[..<index]).allSatisfy { $0.allSatisfy($1.keepsNumber) }
            }
            if !keepNumber { loss.pass = 0 }
            // Only the first pass counts the values that `onInvalid` leaves empty.
            if case .narrowed = loss.cause, later.carriers[0].mayLeaveEmpty(sides) { loss.pass = 0 }
            return (loss, properties)
        }
    }

    /// All lines but those of orders, without counts.
    func uncounted() -> [ChainLoss] { losses(of: [:], areEstimated: true).filter { !$0.isOfOrder } }

    /// What a line of the first step loses, with the inverses of relationships.
    func names(of loss: ChainLoss) -> Set<StoredProperty> {
        let own = Set(loss.entities.map { StoredProperty(entity: $0, property: loss.property) })
        return own.union(own.flatMap(carriers[0].sides))
    }

    // MARK: What is computed anew

    /// The properties of the store whose values a listed function computes anew in some step, by their names.
    func transformed() -> [StoredProperty] {
        guard carriers.contains(where: \.transforms) else { return [] }
        let whole = whole()
        var found: [StoredProperty] = []
        for entity in model.concreteEntities where whole[StoredProperty(entity: entity, property: nil)] == nil {
            for name in model.storedProperties(of: entity) {
                let property = StoredProperty(entity: entity, property: name)
                guard whole[property] == nil else { continue }
                let isTransformed = zip(carriers.way(of: property), carriers).contains { now, step in
                    let carried = now.filter { step.all[$0] != nil }
                    return !carried.isEmpty && carried.allSatisfy(step.isTransformed)
                }
                if isTransformed { found.append(property) }
            }
        }
        return found
    }
}

extension [ChainLoss] {
    /// Lets the store's rows count the losses of later steps that the first pass over them makes.
    mutating func countWithFirstPass(_ passes: [ChainLoss]) {
        for index in indices where self[index].step > 1 {
            let loss = self[index]
            let counted = passes.first { $0.step == 1 && $0.name == loss.name && $0.isOfOrder == loss.isOfOrder }
            guard var counted else { continue }
            (counted.version, counted.step, counted.count) = (loss.version, loss.step, loss.count)
            self[index] = counted
        }
    }
}

extension ChainLoss {
    /// The loss with the most rows that it can concern; nil if there are none.
    func counted(by rows: [String: Int64], areEstimated: Bool) -> ChainLoss? {
        var loss = self
        let objects = entities.map { rows[$0] ?? 0 }.reduce(0, +)
        if objects == 0, !areEstimated { return nil }
        loss.count = .atMost(objects)
        if property == nil, isWhole { loss.count = areEstimated ? .about(objects) : .exactly(objects) }
        return loss
    }
}

extension ManagedObjectModel {
    fileprivate func hasProperty(_ name: String, of entity: String) -> Bool {
        attribute(name, of: entity) != nil || relationship(name, of: entity) != nil
    }
}

extension ResolvedStep {
    /// The entity mappings with an expression, a condition or elements that name a property of their own objects, or of
    /// objects at the end of a path.
    fileprivate func readers(of property: String, _ entities: Set<String>) -> [String] {
        let key = property.split(separator: ".").first.map(String.init) ?? property
        return entityMappings.filter { mapping in
            let expressions =
                mapping.attributes.compactMap(\.expression) + mapping.relationships.map(\.from)
                + (mapping.iteration.map { [$0.elements] } ?? []) + (mapping.filter?.parts ?? [])
            return expressions.contains { $0.names(key, alone: entities.contains(mapping.source)) }
        }.map(\.name)
    }
}
