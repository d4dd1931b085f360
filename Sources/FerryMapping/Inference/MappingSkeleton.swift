internal import FerryBase
package import FerryModel

/// A mapping model for its author to complete: inferred rules are filled in, and what has no counterpart is open.
///
/// A removal is never inferred: an entity that nothing continues may have another name now.
package struct MappingSkeleton: Sendable {
    /// A place that the author must fill in.
    package struct Place: Sendable, Hashable {
        package var entityMapping: String
        /// The destination entity of the entity mapping; the source entity if the destination is open.
        package var entity: String
        /// The destination property; nil for the source or the destination entity.
        package var property: String?
        package var isRelationship = false
        /// The question, with candidates; the file has it after a question mark.
        package var text: String
    }

    /// Without open properties and automatic rules; an open entity is the text of its place, after a question mark.
    package private(set) var mappingModel: MappingModel
    package private(set) var open: [Place] = []
    /// Changes that need more than an expression, each with a reason.
    package let notes: [InferredMapping.Change]

    private let matching: ModelMatching
    private let changes: [InferredMapping.Change]
    private var destination: ManagedObjectModel { matching.destination }

    package init(source: ModelVersion, destination: ModelVersion) {
        let difference = ModelDifference(from: source.model, to: destination.model)
        matching = difference.matching
        let inferred = InferredEntityMappings(source: source, destination: destination, matching: matching)
        changes = InferenceRules(difference).verdicts()
        notes = changes.filter { $0.property == nil && !$0.isInferable }
        mappingModel = MappingModel(
            name: "skeleton", path: "", sourceVersion: source.name, destinationVersion: destination.name,
            entityMappings: [])
        let all = inferred.all()
        let lost = all.filter { !hasObjects($0.destination) }.compactMap(\.source)
        let new = all.filter { $0.source == nil }.compactMap(\.destination)
        for mapping in all {
            switch (mapping.source, mapping.destination) {
            case (let entity?, let end) where !hasObjects(end): addLost(entity, became: end, among: new)
            case (nil, let entity?): addNew(entity, among: lost)
            default: add(mapping)
            }
        }
        for place in open where place.isRelationship { emptyInverse(of: place) }
    }

    /// Leaves the links to the rule that the author writes: that of the inverse, which goes on by itself, could be later.
    private mutating func emptyInverse(of place: Place) {
        guard let link = place.property.flatMap({ destination.relationship($0, of: place.entity) }),
            let inverse = destination.inverse(of: link)
        else { return }
        for index in mappingModel.entityMappings.indices {
            let mapping = mappingModel.entityMappings[index]
            let isOpen = open.contains { $0.entityMapping == mapping.name && $0.property == inverse.name }
            guard let end = mapping.destination, destination.isKind(end, of: link.destinationEntity), !isOpen,
                matching.sourceRelationship(of: inverse.name, in: end) != nil
            else { continue }
            mappingModel.entityMappings[index].relationships[inverse.name] = .empty
        }
    }

    private func hasObjects(_ entity: String?) -> Bool {
        entity.flatMap { destination.entities[$0] }.map { !$0.isAbstract } ?? false
    }

    // MARK: Entities

    /// Adds an entity whose objects have no entity any more, or an abstract one.
    private mutating func addLost(_ entity: String, became abstract: String?, among new: [String]) {
        let subentities = abstract.map { destination.family(of: $0).filter(hasObjects) } ?? []
        let near = subentities.isEmpty ? Self.candidates(for: entity, among: new) : subentities
        let text = "the entity that objects of \(entity) become\(Self.question(near)), or null to lose them"
        let name = destination.entities[entity] == nil ? entity : "Old\(entity)"
        mappingModel.entityMappings.append(EntityMapping(name: name, source: entity, destination: "? \(text)"))
        open.append(Place(entityMapping: name, entity: entity, text: text))
    }

    /// Adds a new entity, with the attributes that its objects must have.
    private mutating func addNew(_ entity: String, among lost: [String]) {
        let near = Self.candidates(for: entity, among: lost)
        let text =
            "the entity that objects of \(entity) are created from\(Self.question(near)); remove this entity mapping if "
            + "there is none"
        mappingModel.entityMappings.append(EntityMapping(name: entity, source: "? \(text)", destination: entity))
        open.append(Place(entityMapping: entity, entity: entity, text: text))
        for attribute in destination.attributes(of: entity)
        where !attribute.isOptional && !attribute.isTransient && attribute.defaultValue == nil
            && !destination.isComputedByStore(attribute, of: entity)
        {
            open.append(
                Place(
                    entityMapping: entity, entity: entity, property: attribute.name,
                    text: "\(attribute.type.sourceName): it is mandatory and has no default value"))
        }
    }

    private static func candidates(for name: String, among names: [String]) -> [String] {
        let near = NearNames.near(to: name, among: names)
        let others = names.filter { other in
            let (one, two) = (name.lowercased(), other.lowercased())
            return !near.contains(other)
                && (one.contains(two) || two.contains(one) || !NearNames.near(to: other, among: [name]).isEmpty)
        }
        return near + others
    }

    private static func question(_ names: [String]) -> String {
        names.isEmpty ? "" : " (\(names.prefix(3).joined(separator: " or "))?)"
    }

    // MARK: Properties

    private mutating func add(_ inferred: EntityMapping) {
        guard let end = inferred.destination else { return }
        var mapping = inferred
        mapping.name = EntityMapping.derivedName(source: mapping.source, destination: end)
        let lineage = destination.lineageNames(of: end)
        for change in changes where lineage.contains(change.entity) {
            guard let property = change.property, let text = question(about: change, property) else { continue }
            let isRelationship = destination.relationship(property, of: end) != nil
            guard isRelationship || destination.attribute(property, of: end) != nil else { continue }
            (mapping.attributes[property], mapping.relationships[property]) = (nil, nil)
            open.append(
                Place(
                    entityMapping: mapping.name, entity: end, property: property, isRelationship: isRelationship,
                    text: text))
        }
        mappingModel.entityMappings.append(mapping)
    }

    /// The text of a property that needs a value, or that may be a removed one under another name.
    ///
    /// A condition that only rows can meet is a hint.
    private func question(about change: InferredMapping.Change, _ property: String) -> String? {
        let added: [ModelDifference.Kind] = [
            .attributeAdded, .attributeMadePersistent, .relationshipAdded, .relationshipMadePersistent,
        ]
        let isAdded = added.contains(change.kind)
        let removed = changes.filter {
            $0.entity == change.entity
                && $0.kind == (change.kind == .attributeAdded ? .attributeRemoved : .relationshipRemoved)
        }
        let near =
            [.attributeAdded, .relationshipAdded].contains(change.kind)
            ? Self.candidates(for: property, among: removed.compactMap(\.property)) : []
        let type = destination.typeText(of: property, in: change.entity) ?? ""
        if !near.isEmpty { return "\(type)\(Self.question(near.map { "$source.\($0)" })), or null" }
        guard !change.isInferable || isAdded else { return nil }
        return change.reason.map { "\(type): \($0)" }
    }
}
