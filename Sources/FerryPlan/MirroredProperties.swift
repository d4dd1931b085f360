package import FerryBase
internal import FerryExpression
package import FerryMapping
internal import FerryModel

extension MirroringRefusal {
    /// Returns the refusal of a property of a mirrored entity that gets another name or kind, or nil.
    ///
    /// CloudKit stores values under the names of properties, in fields of one type: other devices keep the old ones.
    /// Core Data refuses such a migration, too (error 134110).
    package static func changedProperty(by step: ResolvedStep) -> FerryError? {
        let matching = ModelMatching(source: step.source.model, destination: step.destination.model)
        for mapping in step.entityMappings where mapping.source == mapping.destination {
            if let (property, change) = renaming(by: mapping, matching) ?? changedKind(by: mapping, in: step) {
                return FerryError(
                    .unsupported,
                    "The store is mirrored to CloudKit, where the records of other devices keep the old field: "
                        + "\(mapping.source).\(property) \(change).",
                    remedy: """
                        Add a new property beside the old one instead. Or continue with \(on: .breaksSync): what other \
                        devices write to the old field no longer arrives.
                        """,
                    place: .init(entityMapping: mapping.name, entity: mapping.source, property: property))
            }
        }
        return nil
    }

    private static func renaming(
        by mapping: ResolvedEntityMapping, _ matching: ModelMatching
    ) -> (property: String, change: String)? {
        // The inverse may have the only rule of a relationship.
        let relationships = matching.destination.relationships(of: mapping.destination).filter { !$0.isTransient }
        var carried = mapping.attributes.map { (old: $0.expression?.carriedKey, new: $0.name) }
        carried += mapping.relationships.map { (old: $0.sourceRelationship, new: $0.name) }
        carried += relationships.map {
            (old: matching.sourceRelationship(of: $0.name, in: mapping.destination)?.name, new: $0.name)
        }
        let kept = Set(carried.filter { $0.old == $0.new }.map(\.new))
        for (old, new) in carried {
            if let old, !kept.contains(old) { return (old, "is renamed to \(new)") }
        }
        return nil
    }

    private static func changedKind(
        by mapping: ResolvedEntityMapping, in step: ResolvedStep
    ) -> (property: String, change: String)? {
        let (old, new) = (step.source.model, step.destination.model)
        for attribute in old.attributes(of: mapping.source) where !attribute.isTransient {
            let name = attribute.name
            if new.relationship(name, of: mapping.destination) != nil { return (name, "becomes a relationship") }
            guard let other = new.attribute(name, of: mapping.destination), !other.isTransient else { continue }
            if attribute.type.cloudKitField != other.type.cloudKitField { return (name, "gets another type") }
        }
        for relationship in old.relationships(of: mapping.source) where !relationship.isTransient {
            let name = relationship.name
            if new.attribute(name, of: mapping.destination) != nil { return (name, "becomes an attribute") }
            guard let other = new.relationship(name, of: mapping.destination), !other.isTransient else { continue }
            if relationship.isToMany != other.isToMany {
                return (name, other.isToMany ? "becomes to-many" : "becomes to-one")
            }
        }
        return nil
    }
}

extension Expression {
    /// The property whose value the expression passes on, but for nil.
    fileprivate var carriedKey: String? {
        if case .ifNil(let value, _) = self { return value.carriedKey }
        return sourceKeys
    }
}

extension AttributeType {
    fileprivate enum CloudKitField { case integer, real, text, date, bytes, none }

    /// The type of the field that Core Data gives an attribute in a CloudKit record.
    fileprivate var cloudKitField: CloudKitField {
        switch self {
        case .integer16, .integer32, .integer64, .boolean: .integer
        case .decimal, .double, .float: .real
        case .string, .uuid, .uri: .text
        case .date: .date
        case .binary, .transformable: .bytes
        case .undefined, .objectID, .composite: .none
        }
    }
}
