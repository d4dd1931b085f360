package import FerryBase
package import FerryExpression
package import FerryModel

/// A mapping model as in its file, before its automatic parts are resolved against two models.
package struct MappingModel: Sendable {
    /// The file's name without extension, for messages and plans.
    package var name: String
    package var path: String
    /// The version's name in the file: `Model1`, `Bundle/Model1`, or a path ending in `….xcdatamodel`.
    package var sourceVersion: String
    package var destinationVersion: String
    /// In processing order.
    package var entityMappings: [EntityMapping]
    /// Given partitions, by the names of entity mappings.
    package var partitions: [[String]]?
    /// SHA-256 of all bytes read for this mapping model, the extended file's included.
    package var fingerprint: [UInt8] = []
    /// Entity name to version hash, in compiled mapping models, which name their models by nothing else; else empty.
    package var sourceHashes: [String: [UInt8]] = [:]
    package var destinationHashes: [String: [UInt8]] = [:]
    /// Harmless faults of the file, such as stale helper fields and junk mappings.
    package var warnings: [FerryWarning]
    /// Paths of the mapping models that this one extends, directly or through another.
    package var extendedPaths: [String] = []
    /// Whether the mapping model follows from the two models, without a file.
    package var isInferred = false

    package init(
        name: String, path: String, sourceVersion: String, destinationVersion: String,
        entityMappings: [EntityMapping], partitions: [[String]]? = nil, warnings: [FerryWarning] = []
    ) {
        self.name = name
        self.path = path
        self.sourceVersion = sourceVersion
        self.destinationVersion = destinationVersion
        self.entityMappings = entityMappings
        self.partitions = partitions
        self.warnings = warnings
    }
}

extension MappingModel {
    /// Whether every entity has the hash that it had when the file was compiled; nil if the file has no hashes.
    package func agrees(withSource source: [String: [UInt8]], destination: [String: [UInt8]]) -> Bool? {
        guard !sourceHashes.isEmpty || !destinationHashes.isEmpty else { return nil }
        return sourceHashes.allSatisfy { source[$0.key] == $0.value }
            && destinationHashes.allSatisfy { destination[$0.key] == $0.value }
    }
}

/// A mapping from objects of one source entity to objects of one destination entity.
package struct EntityMapping: Sendable, Hashable {
    package var name: String
    /// Nil for an Add mapping.
    package var source: String?
    /// Nil for a Remove mapping.
    package var destination: String?
    package var filter: Predicate?
    package var iteration: Iteration?
    /// Destination attributes whose values find an existing object; if empty, each object is created.
    package var unique: [String]
    /// Whether nil in an attribute of ``unique`` equals nil; if not given, the destination's constraints decide.
    package var nilIsEqual: Bool?
    /// Which of the objects that become one by ``unique`` keeps its values and links.
    package var keep = Keep.first
    /// Whether properties without a rule are automatic; otherwise they stay empty.
    package var isAutomatic: Bool
    /// Destination attribute name to its rule; a missing rule follows ``isAutomatic``.
    package var attributes: [String: AttributeRule]
    /// Destination relationship name to its rule; a missing rule follows ``isAutomatic``.
    package var relationships: [String: RelationshipRule]
    /// Destination attribute name to what happens to a value that it cannot take; a missing one fails the run.
    package var onInvalid: [String: OnInvalid] = [:]
    package var policyClassName: String?
    package var userInfo: [String: String]
    /// Texts of expressions by part of the mapping: `where`, `attribute "name"`; archived expressions have none.
    package var texts: [String: WrittenText] = [:]
    /// Parts of the file that Ferry cannot read; refused if this mapping is used, not if it is replaced.
    package var unreadable: [UnreadablePart] = []

    package init(
        name: String, source: String?, destination: String?, filter: Predicate? = nil, iteration: Iteration? = nil,
        unique: [String] = [], isAutomatic: Bool = true, attributes: [String: AttributeRule] = [:],
        relationships: [String: RelationshipRule] = [:], policyClassName: String? = nil,
        userInfo: [String: String] = [:]
    ) {
        self.name = name
        self.source = source
        self.destination = destination
        self.filter = filter
        self.iteration = iteration
        self.unique = unique
        self.isAutomatic = isAutomatic
        self.attributes = attributes
        self.relationships = relationships
        self.policyClassName = policyClassName
        self.userInfo = userInfo
    }

    /// The name that Core Data gives to an inferred mapping between two entities.
    package static func inferredName(
        from old: String, of source: ModelVersion, to new: String, of destination: ModelVersion
    ) -> String {
        let isCopy = old == new && source.hashes[old] != nil && source.hashes[old] == destination.hashes[new]
        return "IEM_\(isCopy ? "Copy" : "Transform")_\(new)"
    }

    /// The name that Xcode gives an entity mapping without one: `SourceToDestination`, or the only entity's.
    package static func derivedName(source: String?, destination: String?) -> String {
        guard let source, let destination else { return source ?? destination ?? "" }
        return "\(source)To\(destination)"
    }

    /// The text of an expression in the file, and its first line.
    package struct WrittenText: Sendable, Hashable {
        package var text: String
        /// Nil for a file that people do not edit as text.
        package var line: Int?
    }

    /// A part of a mapping file that Ferry cannot read, with the reason.
    package struct UnreadablePart: Sendable, Hashable {
        /// The name of the part: `the expression of attribute "name"`.
        package var part: String
        /// The destination property of the part; nil for any other part.
        package var property: String?
        package var reason: String
        /// Whether the file leaves the part open, with a text that begins with `?`.
        package var isOpen: Bool

        package init(part: String, property: String? = nil, reason: String, isOpen: Bool = false) {
            self.part = part
            self.property = property
            self.reason = reason
            self.isOpen = isOpen
        }
    }

    /// What happens to a value that an attribute cannot take.
    package enum OnInvalid: String, Sendable, Hashable, CaseIterable {
        case fail
        /// The attribute stays empty.
        case null
        /// The object is left out, and counted as dropped.
        case skip
    }

    package enum Keep: Sendable, Hashable {
        /// The first in the order of processing.
        case first
        case last
        /// The one with the greatest value; one without a value only if no other has one.
        case newest(by: Expression)
    }

    /// `forEach`: one destination object per element.
    package struct Iteration: Sendable, Hashable {
        /// The name of the variable, without dollar sign.
        package var variable: String
        /// A to-many path from `$source`, or ``Expression/json(_:key:)``.
        package var elements: Expression
        /// Whether invalid JSON drops the object (counted) instead of failing the run.
        package var skipsInvalid: Bool
        /// The name of the variable that has the element's index, without dollar sign.
        package var position: String?

        package init(
            variable: String, elements: Expression, skipsInvalid: Bool = false, position: String? = nil
        ) {
            self.variable = variable
            self.elements = elements
            self.skipsInvalid = skipsInvalid
            self.position = position
        }
    }
}

package enum AttributeRule: Sendable, Hashable {
    /// The source attribute of the same name; without one, the destination's default value.
    case automatic
    /// The destination's default value.
    case empty
    case value(Expression)
}

package enum RelationshipRule: Sendable, Hashable {
    /// The objects that mappings of the related entity made of the source relationship of the same name.
    case automatic
    case empty
    /// The objects that one entity mapping made of the source objects of `from`.
    case destinations(ofMapping: String, from: Expression)
    /// The objects of the destination entity that any entity mapping made of the source objects of `from`.
    case destinationsOfAnyMapping(from: Expression)
}

extension EntityMapping {
    /// Adds the rule of a property; an unreadable rule leaves the property empty and is recorded.
    ///
    /// - Throws: The error of `damaged` for a second, different rule: a merge of two files leaves both, in any order.
    mutating func add<Rule: Equatable>(
        _ kind: String, _ property: String, to rules: WritableKeyPath<EntityMapping, [String: Rule]>,
        orElse empty: Rule,
        damaged: (String) -> FerryError, read: () throws(FerryError) -> Rule
    ) throws(FerryError) {
        var rule = empty
        do {
            rule = try read()
        } catch {
            unreadable.append(
                .init(part: "the expression of \(kind) \"\(property)\"", property: property, reason: error.message))
        }
        guard self[keyPath: rules][property] ?? rule == rule else {
            throw damaged("entity mapping \"\(name)\" maps the \(kind) \"\(property)\" twice, in two ways")
        }
        self[keyPath: rules][property] = rule
    }
}

extension MappingModel {
    /// The mapping models without copies of earlier ones, at whatever path.
    package static func distinct(_ mappingModels: [MappingModel]) -> [MappingModel] {
        var distinct: [MappingModel] = []
        for model in mappingModels where !distinct.contains(where: { model.isCopy(of: $0) }) { distinct.append(model) }
        return distinct
    }

    private func isCopy(of other: MappingModel) -> Bool {
        if !fingerprint.isEmpty, fingerprint == other.fingerprint { return true }
        return path == other.path && !path.isEmpty && !isInferred && !other.isInferred
    }

    /// Whether other mapping models have an entity mapping between the same entities for each one that makes objects.
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

extension EntityMapping {
    /// The contents of an entity mapping whose policy is code, as a mapping file shows them: entities, user info,
    /// filter, and every property with a rule of its own; one item each.
    package var shown: [String] {
        var items = ["\(source ?? "no source entity") to \(destination ?? "no destination entity")"]
        items += userInfo.inOrder { codeUnitOrder($0.key, $1.key) }.map { "user info \($0.key) = \($0.value)" }
        if let filter { items.append("where \(filter)") }
        items += attributes.inOrder { codeUnitOrder($0.key, $1.key) }.compactMap { name, rule in
            if case .value(let expression) = rule { "\(name) = \(expression)" } else { nil }
        }
        items += relationships.inOrder { codeUnitOrder($0.key, $1.key) }.compactMap { name, rule in
            rule.lookedUp.map { "\(name) = \($0)" }
        }
        items += unreadable.map { "\($0.part), which cannot be read: \($0.reason)" }
        return items
    }
}

extension RelationshipRule {
    /// The lookup of a rule that is neither automatic nor empty, in words.
    package var lookedUp: String? {
        switch self {
        case .automatic, .empty: nil
        case .destinations(let mapping, let from): "what \(mapping) created from \(from)"
        case .destinationsOfAnyMapping(let from): "what any entity mapping created from \(from)"
        }
    }
}

extension ManagedObjectModel {
    /// The type of a property for readers of a mapping file: `Integer 16`, `to many User, ordered`.
    package func typeText(of property: String, in entity: String) -> String? {
        if let attribute = attribute(property, of: entity) { return attribute.type.sourceName }
        return relationship(property, of: entity)?.typeText
    }
}

extension Relationship {
    package var typeText: String {
        "to \(isToMany ? "many" : "one") \(destinationEntity)\(isOrdered ? ", ordered" : "")"
    }
}
