internal import FerryBase

/// The entities and properties of two models that continue each other, by name and renaming identifier.
///
/// An entity or property without a renaming identifier has its name as identifier. An identifier in the destination
/// goes before an equal name: an entity renamed from `A` leaves a new `A` without a counterpart. An identifier unknown
/// in the source does not separate equal names: it may be a stray one, and must not lose rows.
package struct ModelMatching: Sendable {
    package let source: ManagedObjectModel
    package let destination: ManagedObjectModel
    /// Destination entity name to source entity name.
    package let sourceEntities: [String: String]
    /// Source entity name to destination entity name.
    package let destinationEntities: [String: String]
    /// By destination entity: destination property name, own or inherited, to source property name.
    private let attributes: [String: [String: String]]
    private let relationships: [String: [String: String]]

    package init(source: ManagedObjectModel, destination: ManagedObjectModel) {
        self.source = source
        self.destination = destination
        sourceEntities = Self.pairs(
            source.sortedEntityNames.map { Named($0, source.entities[$0]?.renamingIdentifier) },
            destination.sortedEntityNames.map { Named($0, destination.entities[$0]?.renamingIdentifier) })
        destinationEntities = Dictionary(first: sourceEntities.map { ($0.value, $0.key) })
        var attributes: [String: [String: String]] = [:]
        var relationships: [String: [String: String]] = [:]
        for (new, old) in sourceEntities {
            attributes[new] = Self.pairs(
                source.attributes(of: old).map { Named($0.name, $0.renamingIdentifier, $0.type) },
                destination.attributes(of: new).map { Named($0.name, $0.renamingIdentifier, $0.type) })
            relationships[new] = Self.pairs(
                source.relationships(of: old).map { Named($0.name, $0.renamingIdentifier) },
                destination.relationships(of: new).map { Named($0.name, $0.renamingIdentifier) })
        }
        self.attributes = attributes
        self.relationships = relationships
    }

    /// Returns the source attribute that a destination entity's attribute continues, or nil for a new attribute.
    ///
    /// Elements of composites have their full names (`composite.element`).
    package func sourceAttribute(of name: String, in entity: String) -> Attribute? {
        guard let old = sourceEntities[entity] else { return nil }
        if let attribute = attributes[entity]?[name] { return source.attribute(attribute, of: old) }
        guard let dot = name.lastIndex(of: "."),
            let new = destination.attribute(String(name[..<dot]), of: entity),
            let before = sourceAttribute(of: new.name, in: entity)
        else { return nil }
        let elements = Self.pairs(Self.named(source.elements(of: before)), Self.named(destination.elements(of: new)))
        return elements[String(name[name.index(after: dot)...])].flatMap {
            source.attribute("\(before.name).\($0)", of: old)
        }
    }

    /// Returns the source relationship that a destination entity's relationship continues; nil if it is new.
    package func sourceRelationship(of name: String, in entity: String) -> Relationship? {
        guard let old = sourceEntities[entity], let relationship = relationships[entity]?[name] else { return nil }
        return source.relationship(relationship, of: old)
    }

    /// Returns the destination properties that continue an entity's source properties: source name to destination name.
    func continuedAttributes(in entity: String) -> [String: String] { Self.inverted(attributes[entity]) }

    func continuedRelationships(in entity: String) -> [String: String] { Self.inverted(relationships[entity]) }

    private static func inverted(_ pairs: [String: String]?) -> [String: String] {
        Dictionary(first: (pairs ?? [:]).map { ($0.value, $0.key) })
    }

    // MARK: Matching

    private struct Named {
        let name: String
        /// The renaming identifier, if it differs from the name.
        let ownIdentifier: String?
        /// The type of an attribute; nil for entities and relationships.
        let type: AttributeType?
        var identifier: String { ownIdentifier ?? name }

        init(_ name: String, _ identifier: String?, _ type: AttributeType? = nil) {
            self.name = name
            ownIdentifier = identifier == name ? nil : identifier
            self.type = type
        }
    }

    private static func named(_ elements: [Attribute]) -> [Named] {
        elements.map { element in
            let name = element.name.split(separator: ".").last.map(String.init) ?? element.name
            return Named(name, element.renamingIdentifier, element.type)
        }
    }

    /// Returns destination name to source name, each name at most once.
    private static func pairs(_ source: [Named], _ destination: [Named]) -> [String: String] {
        if (source + destination).allSatisfy({ $0.ownIdentifier == nil }) {
            // Without identifiers, the usual case, names alone decide.
            let names = Set(source.map(\.name))
            return Dictionary(first: destination.compactMap { names.contains($0.name) ? ($0.name, $0.name) : nil })
        }
        // First the matches by identifier, the most exact first; then the matches by name.
        let rules: [(_ old: Named, _ new: Named) -> Bool] = [
            { $1.ownIdentifier != nil && $1.identifier == $0.identifier && $1.name == $0.name },
            { $1.ownIdentifier != nil && $1.identifier == $0.identifier },
            { $1.ownIdentifier != nil && $1.identifier == $0.name },
            { $1.ownIdentifier == nil && $1.name == $0.name },
            { $1.ownIdentifier == nil && $1.name == $0.identifier },
            // An equal name with an unmatched identifier and another type means another attribute.
            { $1.name == $0.name && ($0.type == $1.type || $0.type?.isNumeric == true && $1.type?.isNumeric == true) },
        ]
        var pairs: [String: String] = [:]
        var taken: Set<String> = []
        for rule in rules {
            for new in destination where pairs[new.name] == nil {
                guard let old = source.first(where: { !taken.contains($0.name) && rule($0, new) }) else { continue }
                pairs[new.name] = old.name
                taken.insert(old.name)
            }
        }
        return pairs
    }
}
