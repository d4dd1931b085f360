internal import FerryBase
internal import FerryMapping
internal import FerryModel

/// The source relationships of which a step relates one object where there were several.
///
/// A relationship of a mapping is looked at together with its inverse: where either side has room for one object only,
/// links beyond the first have no place.
struct NarrowedLinks {
    /// A relationship of the source, under the entity that declares it.
    private struct Side: Hashable {
        var entity: String
        var name: String
    }

    let step: ResolvedStep
    private var sources: [Side: Set<String>] = [:]
    /// Sides that some rule takes over with all their links.
    private var kept: Set<Side> = []
    /// Sides that are narrowed together with their inverse: what is left depends on which links are chosen.
    private var bothWays: Set<Side> = []

    init(_ step: ResolvedStep) {
        self.step = step
        for mapping in step.entityMappings where mapping.policy == nil {
            for rule in mapping.relationships where !rule.mappings.isEmpty { add(rule, of: mapping) }
        }
    }

    private mutating func add(_ rule: ResolvedRelationship, of mapping: ResolvedEntityMapping) {
        let (old, new) = (step.source.model, step.destination.model)
        guard let name = rule.sourceRelationship, let link = old.relationship(name, of: mapping.source),
            let side = side(link, of: mapping.source),
            let target = new.relationship(rule.name, of: mapping.destination)
        else { return }
        let inverse = old.inverse(of: link)
        let otherSide = inverse.flatMap { self.side($0, of: link.destinationEntity) }
        let targetInverse = new.inverse(of: target)
        var narrowed: [Side: Set<String>] = [:]
        if link.isToMany, !target.isToMany { narrowed[side, default: []].insert(mapping.source) }
        if let targetInverse, !targetInverse.isToMany {
            if let inverse, inverse.isToMany, let otherSide {
                narrowed[otherSide, default: []].formUnion(old.family(of: otherSide.entity))
            } else if inverse == nil, !link.isToMany {
                // Any number of objects could lead to the same one.
                narrowed[side, default: []].insert(mapping.source)
            }
        }
        guard !narrowed.isEmpty else {
            kept.insert(side)
            if let otherSide { kept.insert(otherSide) }
            return
        }
        if narrowed.count > 1 { bothWays.formUnion(narrowed.keys) }
        sources.merge(narrowed) { $0.union($1) }
    }

    private func side(_ link: Relationship, of entity: String) -> Side? {
        step.source.model.declaringEntity(of: link.name, in: entity).map { Side(entity: $0, name: link.name) }
    }

    /// What is lost.
    ///
    /// - Parameters:
    ///   - place: The place of the step in the chain, from 1.
    ///   - version: The version that the step leads to.
    /// - Returns: In the order of names; nothing of links that another rule takes over.
    func losses(at place: Int, to version: String) -> [ChainLoss] {
        let model = step.source.model
        return sources.filter { !kept.contains($0.key) }.map { side, sources in
            ChainLoss(
                entity: side.entity, property: side.name,
                entities: sources.filter { model.entities[$0]?.isAbstract == false }.sorted(by: codeUnitOrder),
                version: version, step: place, cause: .relatedToOne(isExact: !bothWays.contains(side)))
        }
        .filter { !$0.entities.isEmpty }
        .sorted { codeUnitOrder($0.name, $1.name) }
    }
}
