internal import FerryBase
internal import FerryExpression
internal import FerryModel

/// Two mapping models of a step that would make each object twice.
extension StepResolver {
    mutating func reportDoubles() {
        for (position, second) in live.enumerated() {
            for first in live[..<position] where first.model != second.model && carriesTheSame(first, second) {
                let (one, other) = (mappingModels[first.model], mappingModels[second.model])
                problems.append(
                    FerryError(
                        .badMapping,
                        "\(one.path): entity mapping \"\(first.mapping.name)\", and \(other.path): entity mapping "
                            + "\"\(second.mapping.name)\", both carry objects of \(first.source) to "
                            + "\(first.destination): each of them would be there twice.",
                        remedy: "Leave one of the two files out; or give both a \"where\" that no object passes in "
                            + "both; or, if two of each are wanted, name the entity mappings in \"partitions\" of "
                            + "their files.",
                        place: .init(entityMapping: second.mapping.name, entity: second.destination)))
            }
        }
    }

    private func carriesTheSame(_ first: LiveMapping, _ second: LiveMapping) -> Bool {
        guard first.source == second.source, first.destination == second.destination,
            // What is found is not made again.
            first.mapping.unique.isEmpty, second.mapping.unique.isEmpty,
            first.mapping.iteration?.elements == second.mapping.iteration?.elements
        else { return false }
        if let one = first.mapping.filter, let other = second.mapping.filter,
            one.excludes(other, where: { isSingle($0, from: first.source) })
        {
            return false
        }
        return !(isInGivenSplit(first) && isInGivenSplit(second))
    }

    private func isSingle(_ path: [String], from entity: String) -> Bool {
        var entity = entity
        for key in path.dropLast() {
            guard let relationship = source.model.relationship(key, of: entity) else {
                // An element of a composite.
                return source.model.attribute(path.joined(separator: "."), of: entity) != nil
            }
            guard !relationship.isToMany else { return false }
            entity = relationship.destinationEntity
        }
        return path.last.map { source.model.relationship($0, of: entity)?.isToMany != true } ?? false
    }

    private func isInGivenSplit(_ mapping: LiveMapping) -> Bool {
        mappingModels[mapping.model].partitions?.joined().contains(mapping.mapping.name) ?? false
    }
}
