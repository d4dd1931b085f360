extension MappingModel {
    /// The mapping models without those whose content is that of an earlier one, wherever the copy lies.
    package static func distinct(_ mappingModels: [MappingModel]) -> [MappingModel] {
        var distinct: [MappingModel] = []
        for model in mappingModels where !distinct.contains(where: { model.isCopy(of: $0) }) { distinct.append(model) }
        return distinct
    }

    private func isCopy(of other: MappingModel) -> Bool {
        if !fingerprint.isEmpty, fingerprint == other.fingerprint { return true }
        return path == other.path && !path.isEmpty && !isInferred && !other.isInferred
    }

    /// Whether each of its entity mappings that makes objects has one between the same entities in another.
    package func isCovered(by others: [MappingModel]) -> Bool {
        entityMappings.allSatisfy { mapping in
            guard mapping.source != nil, mapping.destination != nil else { return true }
            return others.contains { other in
                other.entityMappings.contains {
                    $0.source == mapping.source && $0.destination == mapping.destination
                }
            }
        }
    }
}
