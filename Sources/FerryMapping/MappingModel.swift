package import FerryBase
package import FerryExpression
package import FerryModel

/// A mapping model as its file says it, before its automatic parts are resolved against two models.
package struct MappingModel: Sendable {
    /// The file's name without extension, for messages and plans.
    package var name: String
    package var path: String
    /// How the file names its model versions: `Model1`, `Bundle/Model1`, or a path ending in `….xcdatamodel`.
    package var sourceVersion: String
    package var destinationVersion: String
    /// Live entity mappings in processing order.
    package var entityMappings: [EntityMapping]
    /// A given split by entity mapping names, or nil.
    package var partitions: [[String]]?
    /// SHA-256 of all bytes read for this mapping model, the extended file's included.
    package var fingerprint: [UInt8] = []
    /// Entity name to version hash, where the file names its models by nothing else (compiled mapping models); else empty.
    package var sourceHashes: [String: [UInt8]] = [:]
    package var destinationHashes: [String: [UInt8]] = [:]
    /// What was odd in the file but harmless (stale helper fields, junk mappings).
    package var warnings: [FerryWarning]
    /// Paths of the mapping models that this one extends, directly or through another.
    package var extendedPaths: [String] = []
    /// Whether it follows from the two models, and comes from no file.
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
    /// Whether every entity of the file has in its version the hash that it had when the file was compiled; nil when
    /// the file holds no hashes.
    package func agrees(withSource source: [String: [UInt8]], destination: [String: [UInt8]]) -> Bool? {
        guard !sourceHashes.isEmpty || !destinationHashes.isEmpty else { return nil }
        return sourceHashes.allSatisfy { source[$0.key] == $0.value }
            && destinationHashes.allSatisfy { destination[$0.key] == $0.value }
    }
}

/// How objects of one source entity become objects of one destination entity.
package struct EntityMapping: Sendable, Hashable {
    package var name: String
    /// Nil for an Add mapping.
    package var source: String?
    /// Nil for a Remove mapping.
    package var destination: String?
    package var filter: Predicate?
    package var iteration: Iteration?
    /// Destination attributes by whose values an object is found before one is created; empty: always create.
    package var unique: [String]
    /// Whether a property that is not named is automatic (true) or stays empty.
    package var isAutomatic: Bool
    /// Destination attribute name to its rule; what is missing follows ``isAutomatic``.
    package var attributes: [String: AttributeRule]
    /// Destination relationship name to its rule; what is missing follows ``isAutomatic``.
    package var relationships: [String: RelationshipRule]
    package var policyClassName: String?
    package var userInfo: [String: String]
    /// The texts of its expressions, by the part of the mapping: `where`, `attribute "name"`; none of archived ones.
    package var texts: [String: WrittenText] = [:]
    /// Parts of the file that Ferry cannot read; refused when this mapping is used, not when it is replaced.
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

    /// The name that Core Data gives the mapping that it infers from an entity of one version to one of another.
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

    /// An expression as the file has it, and the line on which it begins.
    package struct WrittenText: Sendable, Hashable {
        package var text: String
        /// Nil where the file's lines mean nothing to its reader.
        package var line: Int?
    }

    /// A part of a mapping file that Ferry cannot read, and why.
    package struct UnreadablePart: Sendable, Hashable {
        /// What it is: `the expression of attribute "name"`.
        package var part: String
        /// The destination property that it is for; nil for any other part.
        package var property: String?
        package var reason: String
        /// Whether it was left to be written, in a file that begins with `?` there.
        package var isOpen: Bool

        package init(part: String, property: String? = nil, reason: String, isOpen: Bool = false) {
            self.part = part
            self.property = property
            self.reason = reason
            self.isOpen = isOpen
        }
    }

    /// `forEach`: one destination object per element.
    package struct Iteration: Sendable, Hashable {
        /// The name bound to each element, without dollar sign.
        package var variable: String
        /// A to-many path from `$source`, or ``Expression/json(_:key:)``.
        package var elements: Expression
        /// Whether invalid JSON drops the object (counted) instead of failing the run.
        package var skipsInvalid: Bool

        package init(variable: String, elements: Expression, skipsInvalid: Bool = false) {
            self.variable = variable
            self.elements = elements
            self.skipsInvalid = skipsInvalid
        }
    }
}

package enum AttributeRule: Sendable, Hashable {
    /// The source attribute of the same name; without one, the destination's default.
    case automatic
    /// The destination's default.
    case empty
    case value(Expression)
}

package enum RelationshipRule: Sendable, Hashable {
    /// What the mappings of the related entity made of the source relationship of the same name.
    case automatic
    /// Left empty.
    case empty
    /// What one entity mapping made of the source objects that `from` yields.
    case destinations(ofMapping: String, from: Expression)
    /// What any entity mapping made of the source objects that `from` yields, restricted to the destination entity.
    case destinationsOfAnyMapping(from: Expression)
}

extension EntityMapping {
    /// Adds the rule that a file has for a property; one that cannot be read leaves the property empty, and is told.
    ///
    /// - Throws: What `damaged` makes of a second rule that says something else. The order in such files means nothing
    ///   (a merge of two people's changes leaves them), so that neither goes before.
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

extension EntityMapping {
    /// What a mapping file shows of an entity mapping whose policy is code: entities, user info, filter, and every
    /// property with a rule of its own; one item each.
    package var shown: [String] {
        var items = ["\(source ?? "no source entity") to \(destination ?? "no destination entity")"]
        items += userInfo.sorted { codeUnitOrder($0.key, $1.key) }.map { "user info \($0.key) = \($0.value)" }
        if let filter { items.append("where \(filter)") }
        items += attributes.sorted { codeUnitOrder($0.key, $1.key) }.compactMap { name, rule in
            if case .value(let expression) = rule { "\(name) = \(expression)" } else { nil }
        }
        items += relationships.sorted { codeUnitOrder($0.key, $1.key) }.compactMap { name, rule in
            rule.lookedUp.map { "\(name) = \($0)" }
        }
        items += unreadable.map { "\($0.part), which cannot be read: \($0.reason)" }
        return items
    }
}

extension RelationshipRule {
    /// The rule with other expressions in the places of some (``Expression/replacing(_:)``).
    func replacing(_ replacement: (Expression) -> Expression?) -> RelationshipRule {
        switch self {
        case .automatic, .empty: self
        case .destinations(let mapping, let from):
            .destinations(ofMapping: mapping, from: from.replacing(replacement))
        case .destinationsOfAnyMapping(let from): .destinationsOfAnyMapping(from: from.replacing(replacement))
        }
    }

    /// What a rule that is neither automatic nor empty looks up, in words.
    package var lookedUp: String? {
        switch self {
        case .automatic, .empty: nil
        case .destinations(let mapping, let from): "what \(mapping) made of \(from)"
        case .destinationsOfAnyMapping(let from): "what any entity mapping made of \(from)"
        }
    }
}

extension ManagedObjectModel {
    /// The type of a property as a reader of a mapping file needs it: `Integer 16`, `to many User, ordered`.
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
