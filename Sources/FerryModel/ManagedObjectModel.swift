internal import FerryBase

/// One version of a Core Data model: entities and their declarations.
package struct ManagedObjectModel: Sendable, Hashable {
    /// The `userDefinedModelVersionIdentifier`s; `[""]` if a source file's is empty, `[]` for models made in code.
    package var versionIdentifiers: [String]
    /// Entity name to entity.
    package private(set) var entities: [String: Entity]
    /// Configuration name to the names of its entities.
    package var configurations: [String: [String]]
    /// Composite name to its elements, for attributes of type ``AttributeType/composite``.
    package var composites: [String: [Attribute]]
    /// Parts of an archive that have no form here; empty for a model from a source file.
    package var unheld: [Unheld] = []
    /// The forms of join tables that the model does not decide; in no file and no hash.
    package var knownJoins: [KnownJoin] = []
    /// The schema of new stores of the model, if a store of the model shows it; in no file and no hash.
    package var knownSchema: KnownSchema?
    /// Entity name to the names of the entity and its ancestors, in this order; cached, because most lookups need it.
    private var lineages: [String: [String]]
    /// Entity name to the names of the entity and of all its descendants, by UTF-16 code unit.
    private var families: [String: [String]]
    /// Names of entities with many attributes to the positions of these; a search is as quick in the others.
    private var attributePlaces: [String: [String: Int]]
    private static let manyAttributes = 24

    package init(
        versionIdentifiers: [String], entities: [Entity], configurations: [String: [String]] = [:],
        composites: [String: [Attribute]] = [:]
    ) {
        self.versionIdentifiers = versionIdentifiers
        self.entities = Dictionary(first: entities.map { ($0.name, $0) })
        lineages = Self.lineages(self.entities.mapValues(\.superentity))
        families = lineages.inOrder { codeUnitOrder($0.key, $1.key) }.reduce(into: [:]) { families, entry in
            for ancestor in entry.value { families[ancestor, default: []].append(entry.key) }
        }
        attributePlaces = self.entities.filter { $0.value.attributes.count >= Self.manyAttributes }.mapValues {
            Dictionary(first: zip($0.attributes.map(\.name), $0.attributes.indices))
        }
        self.configurations = configurations
        self.composites = composites
    }

    /// Changes an entity's own properties.
    package mutating func change(_ entity: String, _ body: (inout Entity) -> Void) {
        guard var changed = entities[entity] else { return }
        body(&changed)
        var all = entities
        all[entity] = changed
        let model = ManagedObjectModel(
            versionIdentifiers: versionIdentifiers, entities: Array(all.values), configurations: configurations,
            composites: composites)
        (entities, attributePlaces) = (model.entities, model.attributePlaces)
    }

    /// The same model, which shares memory with an equal part of another one.
    ///
    /// Two versions of a model differ in a few entities, and a bundle may have a hundred versions.
    package func sharing(with other: ManagedObjectModel) -> ManagedObjectModel {
        var model = self
        for (name, entity) in other.entities where entities[name] == entity { model.entities[name] = entity }
        if attributePlaces == other.attributePlaces { model.attributePlaces = other.attributePlaces }
        if lineages == other.lineages { (model.lineages, model.families) = (other.lineages, other.families) }
        return model
    }

    /// Entity names by UTF-16 code unit, the order of the store's digests.
    package var sortedEntityNames: [String] { entities.keys.inOrder(by: codeUnitOrder) }

    // MARK: Inheritance

    /// The most ancestors of an entity: far more than apps have, and few enough for every walk up the ancestors.
    static let lineageLimit = 100

    /// Returns lineages, cut at ``lineageLimit`` and unknown superentities; readers of files refuse cycles.
    private static func lineages(_ superentities: [String: String?]) -> [String: [String]] {
        var lineages: [String: [String]] = [:]
        for name in superentities.keys {
            var lineage: [String] = []
            var next: String? = name
            while let current = next, let parent = superentities[current], lineage.count <= lineageLimit {
                lineage.append(current)
                next = parent
            }
            lineages[name] = lineage
        }
        return lineages
    }

    /// Returns the entity and its ancestors, the entity first.
    package func lineage(of name: String) -> [Entity] { (lineages[name] ?? []).compactMap { entities[$0] } }

    /// Returns the names of the entity and its ancestors, the entity first, without copying entities.
    package func lineageNames(of name: String) -> [String] { lineages[name] ?? [] }

    /// Returns the topmost ancestor, whose table holds the rows.
    package func root(of name: String) -> String { lineages[name]?.last ?? name }

    /// Returns the names of the entity and of all its descendants, by UTF-16 code unit.
    package func family(of name: String) -> [String] { families[name] ?? [] }

    package func subentities(of name: String) -> [String] {
        family(of: name).filter { entities[$0]?.superentity == name }
    }

    /// Whether `name` is `ancestor` or one of its descendants.
    package func isKind(_ name: String, of ancestor: String) -> Bool {
        lineages[name]?.contains(ancestor) ?? false
    }

    // MARK: Properties, own and inherited

    /// Returns all attributes of an entity, inherited ones included, by name.
    package func attributes(of name: String) -> [Attribute] {
        merged(lineage(of: name).map(\.attributes), name: \.name)
    }

    /// Returns all relationships of an entity, inherited ones included, by name.
    package func relationships(of name: String) -> [Relationship] {
        merged(lineage(of: name).map(\.relationships), name: \.name)
    }

    /// Returns an attribute by its name, or an element of a composite by its full name (`composite.element`).
    package func attribute(_ property: String, of entity: String) -> Attribute? {
        for name in lineageNames(of: entity) {
            guard let attributes = entities[name]?.attributes else { continue }
            if let place = place(of: property, in: attributes, of: name) { return attributes[place] }
        }
        return element(property, of: entity)
    }

    /// Copies no attribute but compares names, since most lookups of a plan are this one.
    private func place(of property: String, in attributes: [Attribute], of entity: String) -> Int? {
        if let places = attributePlaces[entity] { return places[property] }
        return attributes.indices.first { attributes[$0].name == property }
    }

    package func relationship(_ property: String, of entity: String) -> Relationship? {
        for name in lineageNames(of: entity) {
            guard let relationships = entities[name]?.relationships else { continue }
            if let place = relationships.indices.first(where: { relationships[$0].name == property }) {
                return relationships[place]
            }
        }
        return nil
    }

    /// Returns the entity, `entity` or an ancestor, that declares a property.
    package func declaringEntity(of property: String, in entity: String) -> String? {
        lineageNames(of: entity).first { name in
            entities[name].map { place(of: property, in: $0.attributes, of: name) != nil } == true
                || entities[name]?.relationships.contains { $0.name == property } == true
        }
    }

    package func inverse(of relationship: Relationship) -> Relationship? {
        relationship.inverseName.flatMap { self.relationship($0, of: relationship.destinationEntity) }
    }

    /// Returns one property for each name, by name; the nearest declaration wins.
    private func merged<Property>(_ levels: [[Property]], name: KeyPath<Property, String>) -> [Property] {
        if levels.count == 1, isInOrder(levels[0], name: name) { return levels[0] }
        // Sorting positions is cheaper than sorting large properties; of equal names the nearest is first.
        var places: [(name: String, level: Int, index: Int)] = []
        places.reserveCapacity(levels.reduce(0) { $0 + $1.count })
        for (level, properties) in levels.enumerated() {
            for index in properties.indices { places.append((properties[index][keyPath: name], level, index)) }
        }
        places.sort { left, right in
            left.name == right.name
                ? (left.level, left.index) < (right.level, right.index) : codeUnitOrder(left.name, right.name)
        }
        var merged: [Property] = []
        merged.reserveCapacity(places.count)
        for (position, place) in places.enumerated() where position == 0 || places[position - 1].name != place.name {
            merged.append(levels[place.level][place.index])
        }
        return merged
    }

    /// Whether the properties are in name order and each name occurs once, as in most model files.
    private func isInOrder<Property>(_ properties: [Property], name: KeyPath<Property, String>) -> Bool {
        zip(properties, properties.dropFirst()).allSatisfy { codeUnitOrder($0[keyPath: name], $1[keyPath: name]) }
    }
}

/// Orders by UTF-16 code unit, as the framework's plain string comparison does.
package func codeUnitOrder(_ left: String, _ right: String) -> Bool {
    var (left, right) = (left, right)
    return left.withUTF8 { left in
        right.withUTF8 { codeUnitOrder(UnsafeRawBufferPointer(left), UnsafeRawBufferPointer($0)) < 0 }
    }
}

/// Compares two UTF-8 texts by their UTF-16 code units: negative, zero or positive.
///
/// UTF-8 sorts by code point. The orders differ only between a character outside the BMP (first byte F0 and up, in
/// UTF-16 a surrogate) and one of U+E000 to U+FFFF (first byte EE or EF).
package func codeUnitOrder(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
    for index in 0..<min(left.count, right.count) where left[index] != right[index] {
        let (first, second) = (left[index], right[index])
        if first >= 0xEE, second >= 0xEE, (first >= 0xF0) != (second >= 0xF0) { return first >= 0xF0 ? -1 : 1 }
        return first < second ? -1 : 1
    }
    return left.count < right.count ? -1 : left.count > right.count ? 1 : 0
}

extension ManagedObjectModel {
    /// Returns all attributes of an entity, inherited ones included, with the stored elements in place of composites.
    ///
    /// An element's name is `composite.element`. An element is optional if it or a composite around it is.
    package func leaves(of entity: String) -> [Attribute] { attributes(of: entity).flatMap(leaves) }

    /// Returns the attribute itself, or the stored elements of a composite, also nested ones, in declared order.
    package func leaves(of attribute: Attribute) -> [Attribute] {
        attribute.type == .composite ? elements(of: attribute).flatMap(leaves) : [attribute]
    }

    /// Returns the stored elements of a composite, under their full names.
    func elements(of composite: Attribute) -> [Attribute] {
        guard !composite.isTransient else { return [] }
        return (composite.compositeName.flatMap { composites[$0] } ?? []).filter { !$0.isTransient }.map { element in
            var element = element
            element.name = "\(composite.name).\(element.name)"
            element.isOptional = element.isOptional || composite.isOptional
            return element
        }
    }

    /// Returns an element of a composite, or a nested composite, by its full name; nil if there is none.
    func element(_ path: String, of entity: String) -> Attribute? {
        let names = path.split(separator: ".", omittingEmptySubsequences: false)
        guard names.count > 1, var attribute = attribute(String(names[0]), of: entity) else { return nil }
        for name in names.dropFirst() {
            guard let element = elements(of: attribute).first(where: { $0.name == "\(attribute.name).\(name)" }) else {
                return nil
            }
            attribute = element
        }
        return attribute
    }
}

extension ManagedObjectModel {
    /// Whether Ferry can compute a derived attribute's value from the rows of a store, instead of copying it.
    ///
    /// No row holds the time of saving (`now()`). Only Core Data computes a function of a text, or a value at the end
    /// of several relationships; Ferry copies such values.
    package func isComputedByStore(_ attribute: Attribute, of entity: String) -> Bool {
        attribute.isDerived && attribute.derivation != .now && !isCarriedAsFound(attribute, of: entity)
    }

    /// Whether an attribute is derived in a documented form for which only Core Data can write triggers.
    package func isCarriedAsFound(_ attribute: Attribute, of entity: String) -> Bool {
        switch attribute.derivation {
        case .function: true
        case .value(let path) where path.count > 2:
            relationship(path[0], of: entity).map { relationship(path[1], of: $0.destinationEntity) != nil } ?? false
        case .value, .count, .sum, .now, nil: false
        }
    }
}

extension ManagedObjectModel {
    /// Returns how a derived attribute, or a property of its path, differs in a newer version; nil if it does not.
    ///
    /// The text follows the word "and".
    package func changeOfDerivation(entity: String, attribute name: String, in other: ManagedObjectModel) -> String? {
        let before = entities[entity]?.attributes.first { $0.name == name }
        guard let before, before.isDerived, let after = other.attribute(name, of: entity) else {
            return "the store has no derived attribute of this name"
        }
        guard before.derivation == after.derivation, before.type == after.type, let path = before.derivation?.path
        else { return "its derivation differs from the store's" }
        guard let old = ends(of: path, from: entity), let new = other.ends(of: path, from: entity), old == new else {
            return "the attribute that it is derived from differs from the store's"
        }
        return nil
    }

    /// Returns a description of each property of a path, in order; nil if a property is missing.
    private func ends(of path: [String], from entity: String) -> [String]? {
        var (entity, path, ends) = (entity, path[...], [String]())
        while let name = path.first, let relationship = relationship(name, of: entity) {
            guard !relationship.isToMany, !relationship.isTransient else { return nil }
            ends.append("\(declaringEntity(of: name, in: entity) ?? "").\(name) to \(relationship.destinationEntity)")
            entity = relationship.destinationEntity
            path = path.dropFirst()
        }
        let name = path.joined(separator: ".")
        guard let attribute = attribute(name, of: entity), !attribute.isTransient else { return nil }
        return ends + ["\(entity).\(name) of type \(attribute.type)"]
    }
}

extension ManagedObjectModel {
    /// Checks the rules that all other code relies on: names are names, parents, destinations and composites exist,
    /// no composite holds itself, and no entity declares a name twice.
    ///
    /// - Throws: `.badModel` with the first problem, in name order.
    func check(path: String) throws(FerryError) {
        if let problem = nameProblem() { throw Self.unusable(path, problem) }
        let ordered = sortedEntityNames.compactMap { entities[$0] }
        for entity in ordered {
            if let parent = entity.superentity, entities[parent] == nil {
                throw Self.unusable(path, "'\(entity.name)' has the unknown parent '\(parent)'")
            }
        }
        for entity in ordered {
            if let problem = problem(of: entity) ?? compositeProblem(of: entity) { throw Self.unusable(path, problem) }
        }
    }

    /// Checks that names are unique and that no lineage is endless or too long; throws `.badModel`.
    static func check(_ entities: [Entity], path: String) throws(FerryError) {
        if let twice = entities.map(\.name).firstRepeated {
            throw unusable(path, "it declares the entity '\(twice)' twice")
        }
        if let problem = lineageProblem(of: entities) { throw unusable(path, problem) }
    }

    /// Returns a cycle of ancestors, or more of them than ``lineageLimit``, as text.
    static func lineageProblem(of entities: [Entity]) -> String? {
        let parents = Dictionary(first: entities.map { ($0.name, $0.superentity) })
        for name in parents.keys.inOrder(by: codeUnitOrder) {
            var (next, count) = (parents[name] ?? nil, 0)
            while let current = next, let parent = parents[current] {
                if current == name { return "the entity '\(name)' is its own ancestor" }
                count += 1
                guard count <= lineageLimit else { return "'\(name)' has more than \(lineageLimit) ancestors" }
                next = parent
            }
        }
        return nil
    }

    static func unusable(_ path: String, _ problem: String) -> FerryError {
        FerryError(
            .badModel, "The model \(path) cannot be used: \(problem).",
            remedy: "Correct it in Xcode, or use an undamaged copy.")
    }

    private func problem(of entity: Entity) -> String? {
        let name = entity.name
        let properties = entity.attributes.map(\.name) + entity.relationships.map(\.name)
        if let twice = properties.firstRepeated { return "'\(name)' declares the property '\(twice)' twice" }
        for relationship in entity.relationships where entities[relationship.destinationEntity] == nil {
            return "the relationship '\(name).\(relationship.name)' refers to the unknown entity "
                + "'\(relationship.destinationEntity)'"
        }
        return nil
    }

    private func compositeProblem(of entity: Entity) -> String? {
        for attribute in entity.attributes {
            guard let composite = attribute.compositeName else { continue }
            let place = "'\(entity.name).\(attribute.name)'"
            if composites[composite] == nil { return "\(place) uses the unknown composite '\(composite)'" }
            var counts: [String: Int] = [:]
            guard leafCount(of: composite, depth: 0, counts: &counts) != nil else {
                return "\(place) is a composite that contains itself, an unknown composite, or too many elements"
            }
        }
        return nil
    }

    /// Returns the number of a composite's columns; nil if the nesting is endless or exceeds the columns of a table.
    private func leafCount(of composite: String, depth: Int, counts: inout [String: Int]) -> Int? {
        if let known = counts[composite] { return known }
        // SQLite's default limit of columns in a table.
        let limit = 2000
        guard depth < 32, let elements = composites[composite] else { return nil }
        var count = 0
        for element in elements {
            var leaves = 1
            if let nested = element.compositeName {
                guard let nestedCount = leafCount(of: nested, depth: depth + 1, counts: &counts) else { return nil }
                leaves = nestedCount
            }
            count += leaves
            guard count <= limit else { return nil }
        }
        counts[composite] = count
        return count
    }
}
