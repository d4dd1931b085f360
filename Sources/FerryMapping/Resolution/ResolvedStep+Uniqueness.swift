internal import FerryBase
internal import FerryExpression
internal import FerryModel

extension ResolvedStep {
    /// The uniqueness constraints that the source does not have for all of the objects.
    package var uniquenessChecks: [MappingResolution.UniquenessCheck] {
        let model = destination.model
        return model.sortedEntityNames.flatMap { name in
            let family = entityMappings.filter { model.isKind($0.destination, of: name) }
            let constraints = family.isEmpty ? [] : model.entities[name]?.uniquenessConstraints ?? []
            return constraints.filter { !isKept($0, in: family) }.map { constraint in
                let others = entityMappings.filter { sharesColumns(of: constraint, name, $0.destination) }
                return MappingResolution.UniquenessCheck(
                    entity: name, attributes: constraint.compactMap { model.attribute($0, of: name) },
                    mappings: family + others, sharing: others.map(\.destination).distinct, models: versionFiles)
            }
        }
    }

    /// Whether a constraint's index, over the whole table, covers an entity that only inherits the attributes.
    private func sharesColumns(of constraint: [String], _ name: String, _ other: String) -> Bool {
        let model = destination.model
        return !model.isKind(other, of: name)
            && constraint.allSatisfy { attribute in
                model.declaringEntity(of: attribute, in: name).map {
                    $0 == model.declaringEntity(of: attribute, in: other)
                } ?? false
            }
    }

    /// Whether the source has the constraint for all of these objects, each of which is read once.
    private func isKept(_ constraint: [String], in mappings: [ResolvedEntityMapping]) -> Bool {
        let homes = mappings.map { mapping -> String? in
            guard mapping.iteration == nil, mapping.policy == nil else { return nil }
            // Another type may make equal values of different ones.
            let names = constraint.compactMap { name -> String? in
                guard let old = mapping.attributes.first(where: { $0.name == name })?.expression?.sourceKeys,
                    let type = destination.model.attribute(name, of: mapping.destination)?.type,
                    source.model.attribute(old, of: mapping.source)?.type.isStoredUnchanged(as: type) == true
                else { return nil }
                return old
            }
            guard names.count == constraint.count else { return nil }
            return source.model.lineage(of: mapping.source).first { entity in
                entity.uniquenessConstraints.contains { Set($0) == Set(names) }
            }?.name
        }
        return Set(homes).count == 1 && homes[0] != nil && Set(mappings.map(\.source)).count == mappings.count
    }

    /// The files of both versions; none if one is not from a file of its own.
    private var versionFiles: [String] {
        let versions = [source, destination]
        let known = ["xcdatamodel", "mom", "omo"]
        let areFiles = versions.allSatisfy { version in
            version.parts.count < 2 && known.contains(FileLayer.parts(of: version.path).extension)
        }
        return areFiles ? versions.map(\.path) : []
    }
}
