internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel

/// The values, objects and links of a step's source of which the step keeps a part.
struct StepLosses {
    let carriers: StepCarriers
    let place: Int
    let version: String

    var step: ResolvedStep { carriers.step }
    private var model: ManagedObjectModel { carriers.model }

    /// An inferred mapping carries every object and value that it does not convert.
    func all() -> [ChainLoss] {
        let isInferred = step.mappingModels.allSatisfy(\.isInferred)
        let properties = carriers.all.filter { property, found in
            property.property != nil && model.relationship(property) == nil
                && (!isInferred || found.contains { !$0.keepsValues })
        }
        .keys.inOrder { codeUnitOrder($0.name, $1.name) }
        let values = properties.flatMap { property in
            isInferred
                ? [narrowed(property)] : [narrowed(property), carriedInPart(property), merged(property)]
        }
        return (isInferred ? [] : carriers.mappings.keys.sorted().compactMap(filtered)) + values.compactMap { $0 }
            + links(isInferred: isInferred)
    }

    private func loss(_ property: StoredProperty, _ cause: ChainLoss.Cause) -> ChainLoss {
        loss(property.entity, property.property, of: property.entity, cause)
    }

    func loss(_ declaring: String, _ name: String?, of entity: String, _ cause: ChainLoss.Cause) -> ChainLoss {
        ChainLoss(entity: declaring, property: name, entities: [entity], version: version, step: place, cause: cause)
    }

    /// Objects that every entity mapping which makes one object of each may leave out.
    private func filtered(_ entity: String) -> ChainLoss? {
        let mappings = carriers.mappings[entity] ?? []
        let judged = mappings.carriers
        guard judged.allSatisfy({ $0.filter != nil || $0.iteration != nil }), !judged.haveComplements else {
            return nil
        }
        var loss = loss(StoredProperty(entity: entity, property: nil), .filtered(by: judged.map(\.name)))
        loss.objects = .init(except: judged.map { .init($0) })
        return loss
    }

    // MARK: Values

    /// Values that the new type changes, unless another rule keeps them.
    private func narrowed(_ property: StoredProperty) -> ChainLoss? {
        guard let found = carriers.all[property] else { return nil }
        let narrow = found.filter { $0.isOwn && !$0.keepsValues }
        guard let new = (narrow.first { !$0.isPart } ?? narrow.first).flatMap(type) else { return nil }
        // What a function makes of a value that `onInvalid` leaves out, a 0 for one, may tell nothing of it. Preflight
        // counts those of the first step by themselves.
        let leavesOut = place > 1 && narrow.contains { $0.rule?.expression?.mayLeaveOut == true }
        let keep = found.filter {
            $0.isOwn && $0.keepsValues && !$0.isPart && !(leavesOut && $0.isTransformed)
        }
        if keep.cover(property.property ?? "", of: carriers.mappings[property.entity] ?? []) { return nil }
        var loss = loss(property, .narrowed(to: new))
        loss.objects = .init(except: keep.map(\.reading))
        loss.objects.of = narrow.contains(where: \.reading.isOfEveryObject) ? [] : narrow.map(\.reading)
        // The objects that keep a copy in one that is found, made of an element, or reads it from afar are not known, nor which
        // of two types keeps a value.
        if found.contains(where: { $0.keepsValues && !keep.contains($0) }) || Set(narrow.map(type)).count > 1 {
            loss.pass = 0
        }
        return loss
    }

    private func type(of carrier: Carrier) -> AttributeType? {
        step.destination.model.attribute(carrier.destination.property ?? "", of: carrier.destination.entity)?.type
    }

    /// A value that only some of the objects carry on.
    private func carriedInPart(_ property: StoredProperty) -> ChainLoss? {
        let mappings = carriers.mappings[property.entity] ?? []
        guard let name = property.property, let found = carriers.all[property], !found.isEmpty else { return nil }
        let own = found.filter(\.isOwn)
        if own.cover(name, of: mappings) { return nil }
        if let policy = mappings.lazy.compactMap(\.policy).first { return loss(property, .leftToPolicy(policy)) }
        var loss = loss(property, .carriedInPart(by: found.map(\.reading.mapping.name).distinct))
        // Objects that no mapping carries are lost as objects.
        let whole = own.filter(\.reading.conditions.isEmpty).map(\.reading.mapping)
        // Those of the objects themselves that a new type changes are counted by themselves.
        let copies = found.filter { $0.isOwn || $0.keepsValues }
        loss.objects = .init(
            of: mappings.carriers.filter { !whole.contains($0) }, except: copies.map(\.reading).distinct)
        if copies.count < found.count { loss.pass = 0 }
        return loss
    }

    /// Values of which objects that become one keep one.
    private func merged(_ property: StoredProperty) -> ChainLoss? {
        guard let found = carriers.all[property] else { return nil }
        // Different values may become one key where a function computes it.
        func mayVanish(_ carrier: Carrier) -> Bool {
            let unique = carrier.reading.mapping.unique
            let isKey = unique.contains(carrier.destination.property ?? "") && !carrier.isTransformed
            return !unique.isEmpty && !isKey
        }
        let others = found.filter { !mayVanish($0) }
        guard let first = found.first(where: mayVanish), carriers.policy(of: property) == nil,
            !others.filter(\.isOwn).cover(property.property ?? "", of: [first.reading.mapping])
        else { return nil }
        let mapping = first.reading.mapping
        // Values of other objects that an expression reads cannot be compared in the objects' own rows, nor those that
        // another rule carries of some objects.
        let isOwn =
            first.isOwn && others.isEmpty && property.entity == mapping.source
            && found.allSatisfy { $0.reading.mapping.merges(with: mapping) }
        return loss(property, .merged(.init(mapping, in: step, isOwn: isOwn)))
    }
}

extension [Carrier] {
    /// Whether they carry a property of every object that lives on.
    func cover(_ name: String, of mappings: [ResolvedEntityMapping]) -> Bool {
        func isFree(_ carrier: Carrier) -> Bool {
            carrier.reading.conditions.allSatisfy { $0.holds(whereThereIs: name) }
        }
        let free = filter(isFree)
        // Objects that all of these leave out are lost as objects.
        if mappings.carriers.allSatisfy({ mapping in free.contains { $0.reading.mapping == mapping } }) { return true }
        if free.map(\.reading.mapping).haveComplements { return true }
        let isOfEach = free.contains { carrier in
            let mapping = carrier.reading.mapping
            return (mapping.iteration == nil || carrier.isJoin)
                && mapping.filter.map { $0.holds(whereThereIs: name) } ?? true
        }
        if isOfEach { return true }
        // Of one mapping, the value of one condition and that of its complement.
        return mappings.carriers.allSatisfy { mapping in
            let conditions = filter { $0.reading.mapping == mapping }.map(\.reading.conditions)
            return conditions.contains { one in
                one.allSatisfy { $0.holds(whereThereIs: name) }
                    || conditions.contains { one.count == 1 && $0.count == 1 && one[0].isComplement(of: $0[0]) }
            }
        }
    }
}

extension ChainLoss.Reading {
    var isOfEveryObject: Bool { mapping.readsEveryObject && conditions.isEmpty }
}

extension ResolvedEntityMapping {
    /// Whether both are the same mapping, or the two parts of one with `keep`.
    func merges(with other: ResolvedEntityMapping) -> Bool {
        name == other.name || (separatedFrom != nil && separatedFrom == other.separatedFrom)
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

extension ChainLoss.Merging {
    init(_ mapping: ResolvedEntityMapping, in step: ResolvedStep, isOwn: Bool) {
        self.init(mapping: mapping, sources: isOwn ? Self.keys(of: mapping, in: step) : nil, isOwn: isOwn)
    }

    /// The source attributes by whose values the source objects are merged among themselves; nil if rows do not show it.
    private static func keys(of mapping: ResolvedEntityMapping, in step: ResolvedStep) -> [String]? {
        let (old, new) = (step.source.model, step.destination.model)
        let others = step.entityMappings.filter { $0.destination == mapping.destination && $0.name != mapping.name }
        // The two parts of a mapping with `keep` read every object together.
        let isPair = mapping.separatedFrom != nil && others.allSatisfy { $0.merges(with: mapping) }
        guard isPair || (others.isEmpty && mapping.readsEveryObject), !step.hasPolicies else { return nil }
        var keys: [String] = []
        for name in mapping.unique {
            guard let key = mapping.attributes.first(where: { $0.name == name })?.expression?.sourceKeys,
                let before = old.attribute(key, of: mapping.source),
                let after = new.attribute(name, of: mapping.destination), before.type == after.type
            else { return nil }
            keys.append(key)
        }
        return keys
    }
}
