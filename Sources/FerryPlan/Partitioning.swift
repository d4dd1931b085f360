internal import FerryBase
internal import FerryMapping
internal import FerryModel

/// Splits the entity mappings of a step into partitions and orders them.
///
/// A mapping depends on another one whose objects it needs and cannot derive from kept keys: related objects, objects
/// found by `unique`, and new keys that come before its own.
struct Partitioning {
    private let step: ResolvedStep
    /// Position of a mapping to the positions of the mappings that it depends on.
    private let dependencies: [Int: [Int: Need]]

    private struct Need {
        var reason: String
        /// Whether the mapping only relates the other one's objects, which a cycle may postpone.
        var isRelationship = false
    }

    init(_ step: ResolvedStep) {
        self.step = step
        dependencies = Partitioning.dependencies(of: step)
    }

    /// Returns the partitions and the positions of their mappings in run order.
    ///
    /// - Throws: ``FerryError`` `.badMapping` if a given partition needs objects of a later one.
    func partitions() throws(FerryError) -> [[Int]] {
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
        return result.map(ordered)
    }

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

    /// The strongest reason why a mapping depends on another one; `isFirst` if the other one gives new keys first.
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
        // A policy may read all objects that exist before it, and create objects of any entity.
        if isFirst, mapping.policy != nil || other.policy != nil {
            return Need(reason: "a migration policy runs after what comes before it")
        }
        guard !other.keepsPrimaryKey || other.filter != nil,
            let relationship = mapping.relationships.last(where: { $0.mappings.contains(other.name) })
        else { return nil }
        return Need(reason: "relationship \(relationship.name) takes what \(other.name) created", isRelationship: true)
    }

    /// The order of giving new keys: by position, but `unique` after all mappings whose new objects it can find.
    private static func keyRank(
        of mapping: ResolvedEntityMapping, in mappings: [ResolvedEntityMapping]
    ) -> (Int, Int, Int) {
        guard !mapping.unique.isEmpty else { return (mapping.position, 0, mapping.position) }
        let makers = mappings.filter {
            $0.unique.isEmpty && $0.destination == mapping.destination && (!$0.keepsPrimaryKey || $0.policy != nil)
        }
        return (max(mapping.position, makers.map(\.position).max() ?? 0), 1, mapping.position)
    }

    /// Groups mappings that dependencies connect, in the order of their first positions.
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

    /// Sorts the members so that each follows its dependencies, otherwise by position.
    ///
    /// Relationships follow the rows of a partition, so a cycle is cut at the lowest position without other needs.
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
                for (other, need) in (dependencies[member] ?? [:]).inOrder(by: { $0.key < $1.key })
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

    // MARK: Given partitions

    private func split(
        _ members: [Int], by given: [[String]], in mappingModel: MappingModel
    ) throws(FerryError) -> [[Int]] {
        var left = members
        var result: [[Int]] = []
        for names in given {
            var partition: [Int] = []
            for name in names {
                guard let position = left.first(where: { step.entityMappings[$0].name == name }) else {
                    // Mappings that create nothing (Add, Remove) do not run.
                    if mappingModel.entityMappings.contains(where: { $0.name == name }),
                        !members.contains(where: { step.entityMappings[$0].name == name })
                    {
                        continue
                    }
                    throw FerryError(
                        .badMapping,
                        "The partitions of mapping model \(mappingModel.name) name \(name), which is not an entity mapping of it, or is named twice.",
                        remedy: "Name each entity mapping once.")
                }
                partition.append(position)
                left.removeAll { $0 == position }
            }
            result.append(partition)
        }
        // Mappings in no given partition run last.
        return result + components(of: left)
    }
}
