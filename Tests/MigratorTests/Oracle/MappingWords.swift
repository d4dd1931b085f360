import FerryModel
import Foundation
import RandomModels

/// What a mapping says of one step, read plainly: which entity mapping makes which objects, and of which values and links.
struct MappingWords {
    /// The object that an expression begins with.
    enum Base { case source, element }

    struct Value {
        var attribute: String
        var keeps: ExpressionForm.Keeps
        var base: Base
        var keys: [String]
        /// The text that an attribute gets in place of nil.
        var substitute: String?
    }

    struct Link {
        enum From: Equatable {
            case object(Base)
            case relationship(String)
            /// A choice of members, or anything else that no rule carries.
            case other
        }

        var relationship: String
        var from: [From]
        /// The mapping of the related objects; nil for any.
        var mapping: String?
    }

    struct Mapping {
        var name: String
        var source: String
        var destination: String
        var unique: [String] = []
        var filters = false
        /// Whether it makes an object for each element.
        var iterates = false
        /// The relationship whose objects are the elements.
        var elements: String?
        var values: [Value] = []
        var links: [Link] = []
    }

    private(set) var mappings: [Mapping] = []

    /// Those that make one object of each; without any, all: beside these, parts of an object do not stand in for it.
    func carriers(of entity: String) -> [Mapping] {
        let all = mappings.filter { $0.source == entity }
        let carriers = all.filter { !$0.iterates && $0.unique.isEmpty }
        return carriers.isEmpty ? all : carriers
    }

    /// Whether an object may be there for another reason: another mapping makes objects of the same entity of the same
    /// objects, which have the same marks, or a filter leaves out objects with the keys of others.
    func isAmbiguous(_ mapping: Mapping) -> Bool {
        (mapping.filters && !mapping.unique.isEmpty)
            || mappings.filter { $0.source == mapping.source && $0.destination == mapping.destination }.count > 1
    }

    /// Core Data's rule of an inferred mapping: an identifier goes before an equal name.
    init(inferred source: ManagedObjectModel, _ destination: ManagedObjectModel) {
        let pairs = Self.successors(
            source.sortedEntityNames, destination.entities.values.map { ($0.name, $0.renamingIdentifier) })
        for (new, old) in pairs where source.entities[old]?.isAbstract == false {
            var mapping = Mapping(name: old, source: old, destination: new)
            let attributes = Self.successors(
                source.attributes(of: old).map(\.name),
                destination.attributes(of: new).map { ($0.name, $0.renamingIdentifier) })
            mapping.values = attributes.map { Value(attribute: $0.new, keeps: .value, base: .source, keys: [$0.old]) }
            mapping.links = Self.automaticLinks(source, old, destination, new, without: [])
            mappings.append(mapping)
        }
    }

    init(_ text: String, _ source: ManagedObjectModel, _ destination: ManagedObjectModel) throws {
        let file = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any] ?? [:]
        for words in file["entityMappings"] as? [[String: Any]] ?? [] {
            guard let name = words["name"] as? String, let old = words["source"] as? String,
                let new = words["destination"] as? String
            else { continue }
            var mapping = Mapping(name: name, source: old, destination: new)
            mapping.unique = words["unique"] as? [String] ?? []
            mapping.filters = words["where"] != nil
            if let elements = (words["forEach"] as? [String: String])?["element"] {
                mapping.iterates = true
                let key = elements.hasPrefix("$source.") ? String(elements.dropFirst("$source.".count)) : ""
                mapping.elements = source.relationship(key, of: old) == nil ? nil : key
            }
            let explicit = words["attributes"] as? [String: Any] ?? [:]
            for attribute in destination.attributes(of: new) {
                guard let value = explicit[attribute.name] else {
                    if source.attribute(attribute.name, of: old) != nil {
                        mapping.values.append(
                            Value(attribute: attribute.name, keeps: .value, base: .source, keys: [attribute.name]))
                    }
                    continue
                }
                let expression = value as? String ?? (value as? [String: String])?["value"] ?? ""
                if let value = Self.value(of: expression, as: attribute.name) { mapping.values.append(value) }
            }
            let rules = words["relationships"] as? [String: [String: Any]] ?? [:]
            mapping.links = rules.map { name, rule in
                Link(
                    relationship: name, from: Self.from(rule["from"] as? String ?? ""),
                    mapping: rule["mapping"] as? String)
            }
            mapping.links += Self.automaticLinks(source, old, destination, new, without: Set(rules.keys))
            mappings.append(mapping)
        }
    }

    private static func automaticLinks(
        _ source: ManagedObjectModel, _ old: String, _ destination: ManagedObjectModel, _ new: String,
        without explicit: Set<String>
    ) -> [Link] {
        destination.relationships(of: new).map(\.name)
            .filter { !explicit.contains($0) && source.relationship($0, of: old) != nil }
            .map { Link(relationship: $0, from: [.relationship($0)]) }
    }

    private static func value(of expression: String, as attribute: String) -> Value? {
        for form in ExpressionForm.all {
            guard let path = form.path(in: expression) else { continue }
            let keys = path.split(separator: ".").map(String.init)
            guard keys.count > 1, ["$source", "$element"].contains(keys[0]) else { return nil }
            return Value(
                attribute: attribute, keeps: form.keeps, base: keys[0] == "$source" ? .source : .element,
                keys: Array(keys.dropFirst()),
                substitute: form.keeps == .value && form.text.contains("'none'") ? "none" : nil)
        }
        return nil
    }

    private static func from(_ text: String) -> [Link.From] {
        text.components(separatedBy: " UNION ").map { part in
            if part == "$source" { return .object(.source) }
            if part == "$element" { return .object(.element) }
            let keys = part.split(separator: ".")
            return keys.count == 2 && keys[0] == "$source" ? .relationship(String(keys[1])) : .other
        }
    }

    private static func successors(
        _ old: [String], _ new: [(name: String, identifier: String?)]
    ) -> [(new: String, old: String)] {
        let claimed = Set(new.compactMap(\.identifier).filter(old.contains))
        return new.compactMap { name, identifier in
            if let identifier, old.contains(identifier) { return (name, identifier) }
            return old.contains(name) && !claimed.contains(name) ? (name, name) : nil
        }
    }
}
