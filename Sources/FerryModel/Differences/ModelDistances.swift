internal import FerryBase

/// The stored properties of models, and which of them another model continues, from names alone.
package struct ModelDistances {
    /// For each model the numbers of its properties.
    private var own: [[Int32]]
    /// For each model, by the number of a name that it continues: the number of its property; −1 for none.
    private var successors: [[Int32]]
    /// For each model, by the number of its property: the number of the name by its renaming identifiers; −1 for none.
    private var aliases: [[Int32]]
    private let models: [ManagedObjectModel]
    private var numbers: [String: Int32]
    /// By the pair of models: for each property of the first, those that continue it by a mapping model; −1 where a
    /// policy may carry it on.
    private var mapped: [[Int]: [Int32: [Int32]]] = [:]

    /// A property of a path's first model, and one that continues it.
    struct Kept {
        var origin: Int32
        /// −1 if a policy may have carried it on.
        var property: Int32
    }

    package init(_ models: [ManagedObjectModel]) {
        self.models = models
        var numbers: [String: Int32] = [:]
        func number(_ name: String) -> Int32 {
            if let known = numbers[name] { return known }
            numbers[name] = Int32(numbers.count)
            return Int32(numbers.count - 1)
        }
        var all: [[(property: Int32, names: [Int32])]] = []
        for model in models {
            var properties: [(property: Int32, names: [Int32])] = []
            for name in model.sortedEntityNames {
                guard let entity = model.entities[name] else { continue }
                let stored =
                    entity.attributes.filter { !$0.isTransient }.map { ($0.name, $0.renamingIdentifier) }
                    + entity.relationships.filter { !$0.isTransient }.map { ($0.name, $0.renamingIdentifier) }
                let owners = [entity.renamingIdentifier, name].compactMap { $0 }
                for (property, identifier) in stored {
                    // A renaming identifier goes before an equal name.
                    let names = owners.flatMap { owner in
                        [identifier, property].compactMap { $0 }.map { number("\(owner).\($0)") }
                    }
                    properties.append((number("\(name).\(property)"), names))
                }
            }
            all.append(properties)
        }
        self.numbers = numbers
        own = all.map { $0.map(\.property) }
        aliases = all.map { properties in
            var aliases = [Int32](repeating: -1, count: numbers.count)
            for (property, names) in properties {
                if let first = names.first, first != property { aliases[Int(property)] = first }
            }
            return aliases
        }
        successors = all.map { properties in
            var successors = [Int32](repeating: -1, count: numbers.count)
            for (property, names) in properties {
                for name in names where successors[Int(name)] < 0 { successors[Int(name)] = property }
            }
            return successors
        }
    }

    package func properties(of model: Int) -> [Int32] { own[model] }

    var count: Int { own.count }
    var hasMappings: Bool { !mapped.isEmpty }
    func hasMapping(from source: Int, to destination: Int) -> Bool { mapped[[source, destination]] != nil }

    /// Lets a mapping model say what continues the properties of a model in another one.
    ///
    /// `continuations` says, by declaring entity and property, which properties continue it, by entities that have them;
    /// nil among them where a policy may carry it on. Without it, all properties may be carried on.
    package mutating func add(
        from source: Int, to destination: Int,
        _ continuations: ((_ owner: String, _ property: String) -> [(entity: String, property: String)?])?
    ) {
        guard let continuations else {
            mapped[[source, destination]] = Dictionary(first: own[source].map { ($0, [-1]) })
            return
        }
        let (old, new) = (models[source], models[destination])
        var found: [Int32: [Int32]] = [:]
        for owner in old.sortedEntityNames {
            guard let entity = old.entities[owner] else { continue }
            for name in entity.attributes.map(\.name) + entity.relationships.map(\.name) {
                guard let number = numbers["\(owner).\(name)"] else { continue }
                let next = continuations(owner, name).compactMap { property in
                    property.map { self.number(of: $0.property, of: $0.entity, in: new) } ?? -1
                }
                found[number] = Set(next).sorted()
            }
        }
        mapped[[source, destination]] = found
    }

    /// The number of a property by the entity that declares it.
    private func number(of property: String, of entity: String, in model: ManagedObjectModel) -> Int32? {
        guard let name = property.split(separator: ".").first.map(String.init),
            let owner = model.declaringEntity(of: name, in: entity)
        else { return nil }
        return numbers["\(owner).\(name)"]
    }

    /// How many properties of a model do not continue any of another one.
    package func missing(from source: Int, to destination: Int) -> Int {
        own[destination].count - Set(continued(own[source], of: source, in: destination)).count
    }

    /// How many properties two models do not have in common.
    func distance(from source: Int, to destination: Int) -> Int {
        let continued = continued(own[source], of: source, in: destination)
        return own[source].count - continued.count + own[destination].count - Set(continued).count
    }

    /// The properties of a model that continue these of another one by inference.
    package func continued(_ properties: [Int32], of source: Int, in model: Int) -> [Int32] {
        properties.compactMap { successor(of: $0, in: source, among: model) }
    }

    /// The same by the mapping model between the two, if there is one; of these, the properties that last.
    func continued(_ properties: [Kept], of source: Int, in model: Int, _ lasting: [Bool]) -> [Kept] {
        var kept: [Kept] = []
        kept.reserveCapacity(properties.count)
        let mapping = mapped.isEmpty ? nil : mapped[[source, model]]
        for property in properties {
            if property.property < 0 {
                kept.append(property)
            } else if let mapping {
                for next in mapping[property.property] ?? [] where next < 0 || lasting[Int(next)] {
                    kept.append(Kept(origin: property.origin, property: next))
                }
            } else if let next = successor(of: property.property, in: source, among: model), lasting[Int(next)] {
                kept.append(Kept(origin: property.origin, property: next))
            }
        }
        return kept
    }

    private func successor(of property: Int32, in source: Int, among model: Int) -> Int32? {
        let alias = aliases[source][Int(property)]
        if alias >= 0, successors[model][Int(alias)] >= 0 { return successors[model][Int(alias)] }
        let successor = successors[model][Int(property)]
        return successor >= 0 ? successor : nil
    }

    /// For each model, by the number of a property: whether a path of models continues it to the last one.
    func lasting(to last: Int) -> [[Bool]] {
        let none = [Bool](repeating: false, count: successors.first?.count ?? 0)
        var lasting = Array(repeating: none, count: own.count)
        for property in own[last] { lasting[last][Int(property)] = true }
        var changed = Set([last])
        while !changed.isEmpty {
            var next: Set<Int> = []
            for model in own.indices where model != last {
                for other in changed where other != model {
                    let open = own[model].filter { !lasting[model][Int($0)] }.map { Kept(origin: $0, property: $0) }
                    for kept in continued(open, of: model, in: other, lasting[other]) {
                        lasting[model][Int(kept.origin)] = true
                        next.insert(model)
                    }
                }
            }
            changed = next
        }
        return lasting
    }
}

extension [ModelDistances.Kept] {
    /// How many properties of the first model continue: those of one origin follow each other.
    var origins: Int {
        var (count, last) = (0, Int32(-1))
        for kept in self where kept.origin != last { (count, last) = (count + 1, kept.origin) }
        return count
    }
}
