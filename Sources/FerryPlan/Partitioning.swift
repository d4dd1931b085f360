internal import FerryBase
internal import FerryMapping
internal import FerryModel

/// Splits the entity mappings of a step into partitions and orders them.
///
/// A mapping depends on another one when it needs what that one made and cannot know it from kept keys: the objects
/// that it related to, the objects that it finds by `unique`, and the keys that come before its own.
struct Partitioning {
    private let step: ResolvedStep
    /// Position of a mapping to the positions it depends on.
    private let dependencies: [Int: [Int: Need]]

    /// Why a mapping depends on another one.
    private struct Need {
        var reason: String
        /// Whether it is only related to what the other one made, which a cycle may leave for later.
        var isRelationship = false
    }

    init(_ step: ResolvedStep) {
        self.step = step
        dependencies = Partitioning.dependencies(of: step)
    }

    /// The partitions in the order in which they run, each in the order in which its mappings run.
    ///
    /// - Throws: ``FerryError`` `.badMapping` when a given split needs something from a later partition.
    func partitions() throws(FerryError) -> [[ResolvedEntityMapping]] {
        var result: [[Int]] = []
        for (index, mappingModel) in step.mappingModels.enumerated() {
            let members = step.entityMappings.filter { $0.mappingModel == index }.map(\.position)
            if let given = mappingModel.partitions {
                result += try split(members, by: given, in: mappingModel)
            } else if step.mappingModels.count > 1 {
                result.append(members)
            } else {
                result += components(of: members)
            }
        }
        result.removeAll(where: \.isEmpty)
        try checkOrder(of: result)
        return result.map { ordered($0).map { step.entityMappings[$0] } }
    }

    // MARK: Dependencies

    private static func dependencies(of step: ResolvedStep) -> [Int: [Int: Need]] {
        let ranked = step.entityMappings.map { (mapping: $0, rank: keyRank(of: $0, in: step.entityMappings)) }
        var result: [Int: [Int: Need]] = [:]
        for (mapping, rank) in ranked {
            for (other, otherRank) in ranked where other.position != mapping.position {
                let need = need(of: mapping, for: other, isFirst: otherRank < rank, in: step.destination.model)
                if let need { result[mapping.position, default: [:]][other.position] = need }
            }
        }
        return result
    }

    /// Why a mapping depends on another one, which may give its new keys first; of several reasons the weightiest.
    private static func need(
        of mapping: ResolvedEntityMapping, for other: ResolvedEntityMapping, isFirst: Bool,
        in model: ManagedObjectModel
    ) -> Need? {
        if isFirst, !mapping.keepsPrimaryKey, !other.keepsPrimaryKey,
            model.root(of: other.destination) == model.root(of: mapping.destination)
        {
            return Need(reason: "its new objects get keys after those of \(other.name)")
        }
        if !mapping.unique.isEmpty, other.destination == mapping.destination {
            if other.unique.isEmpty { return Need(reason: "it looks for objects that \(other.name) carries over") }
            if other.position < mapping.position {
                return Need(reason: "both find or create \(mapping.destination)")
            }
        }
        // A policy may ask for everything that was made before it, and make objects of any entity.
        if isFirst, mapping.policy != nil || other.policy != nil {
            return Need(reason: "a migration policy runs after what comes before it")
        }
        guard !other.keepsPrimaryKey || other.filter != nil,
            let relationship = mapping.relationships.last(where: { $0.mappings.contains(other.name) })
        else { return nil }
        return Need(reason: "relationship \(relationship.name) takes what \(other.name) made", isRelationship: true)
    }

    /// The order in which mappings give new keys: by position, but finding after all that can be found.
    private static func keyRank(
        of mapping: ResolvedEntityMapping, in mappings: [ResolvedEntityMapping]
    ) -> (Int, Int, Int) {
        guard !mapping.unique.isEmpty else { return (mapping.position, 0, mapping.position) }
        let carrying = mappings.filter { $0.unique.isEmpty && $0.destination == mapping.destination }.map(\.position)
        return (max(mapping.position, carrying.max() ?? 0), 1, mapping.position)
    }

    /// Mappings that are connected by dependencies, in either direction; in the order of their first positions.
    private func components(of members: [Int]) -> [[Int]] {
        var group = Dictionary(uniqueKeysWithValues: members.map { ($0, $0) })
        for (position, needed) in dependencies {
            for other in needed.keys {
                guard let from = group[position], let to = group[other], from != to else { continue }
                for member in members where group[member] == max(from, to) { group[member] = min(from, to) }
            }
        }
        let groups = Dictionary(grouping: members) { group[$0] ?? $0 }
        return groups.keys.sorted().compactMap { groups[$0] }
    }

    // MARK: Order

    /// The members so that each comes after what it depends on, otherwise by position.
    ///
    /// Relationships are assigned after all rows of a partition, so a cycle with them is no obstacle: it is cut at the
    /// mapping of the lowest position that needs nothing else.
    private func ordered(_ members: [Int]) -> [Int] {
        var result: [Int] = []
        var waiting = members.sorted()
        while !waiting.isEmpty {
            let isFree = { (member: Int, relationships: Bool) in
                (dependencies[member] ?? [:]).allSatisfy { other, need in
                    !waiting.contains(other) || (need.isRelationship && !relationships)
                }
            }
            let next = waiting.first { isFree($0, true) } ?? waiting.first { isFree($0, false) } ?? waiting[0]
            result.append(next)
            waiting.removeAll { $0 == next }
        }
        return result
    }

    private func checkOrder(of partitions: [[Int]]) throws(FerryError) {
        var done = Set<Int>()
        for members in partitions {
            done.formUnion(members)
            for member in members {
                for (other, need) in (dependencies[member] ?? [:]).sorted(by: { $0.key < $1.key })
                where !done.contains(other) {
                    let mapping = step.entityMappings[member]
                    let needed = step.entityMappings[other]
                    throw FerryError(
                        .badMapping,
                        "Entity mapping \(mapping.name) runs in an earlier partition than \(needed.name), but needs it: \(need.reason).",
                        remedy: "Put \(needed.name) into the same partition or an earlier one.")
                }
            }
        }
    }

    // MARK: A given split

    private func split(
        _ members: [Int], by given: [[String]], in mappingModel: MappingModel
    ) throws(FerryError) -> [[Int]] {
        var left = members
        var result: [[Int]] = []
        for names in given {
            var partition: [Int] = []
            for name in names {
                guard let position = left.first(where: { step.entityMappings[$0].name == name }) else {
                    // Mappings that make nothing (Add, Remove) are no part of the run.
                    if mappingModel.entityMappings.contains(where: { $0.name == name }),
                        !members.contains(where: { step.entityMappings[$0].name == name })
                    {
                        continue
                    }
                    throw FerryError(
                        .badMapping,
                        "The partitions of mapping model \(mappingModel.name) name \(name), which is no entity mapping of it or stands there twice.",
                        remedy: "Name each entity mapping once.")
                }
                partition.append(position)
                left.removeAll { $0 == position }
            }
            result.append(partition)
        }
        // What a given split leaves out runs after it.
        return result + components(of: left)
    }
}
