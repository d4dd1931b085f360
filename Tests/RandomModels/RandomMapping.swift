internal import FerryBase
internal import FerryGenerate
internal import FerryMapping
package import FerryModel

/// The text of a mapping file (JSON) from one version of a random model to the next.
///
/// It carries each entity to its successor, and adds computed values, conditions, found or created objects, and objects
/// for each element of a relationship; the seed alone decides.
package struct RandomMapping {
    var random: SeededRandom
    let matching: ModelMatching
    private let versions: (source: ModelVersion, destination: ModelVersion)
    private let kind: Kind

    package enum Kind: Sendable {
        case any
        /// Every object becomes one object with the same key.
        case keepsRows
        /// So do the objects of most entities.
        case keepsMostRows
        /// Also merges, splits, changes of type and kind, and expressions of the whole language.
        case wide
    }

    package init(seed: UInt64, from source: ModelVersion, to destination: ModelVersion, kind: Kind = .any) {
        self.kind = kind
        random = SeededRandom(seed: seed, "mapping".stream, 0)
        matching = ModelMatching(source: source.model, destination: destination.model)
        versions = (source, destination)
    }

    /// One entity mapping.
    struct Member {
        var name: String
        var source: String
        var destination: String
        var condition: String?
        var element: (name: String, path: String)?
        /// The variable for the element's position.
        var position: String?
        var unique: String?
        var keep: String?
        /// A value that is not an expression is JSON (`null`, `{ … }`).
        var attributes: [(name: String, expression: String)] = []
        var relationships: [(name: String, mapping: String?, from: String)] = []
    }

    /// Writes a mapping file that can be planned and returns its text; nil when not even the plain mapping can be.
    ///
    /// Planning with each part of the mapping would take most of a test's time: a part is taken if the mapping resolves
    /// with it. Only where the whole cannot be planned is each part planned, and left out again.
    package func write(to path: String, plans: () throws -> Bool) throws -> String? {
        func accepts(_ text: String, _ check: () throws -> Bool) throws -> Bool {
            try FileLayer().replace(path, with: Array(text.utf8))
            do { return try check() } catch is FerryError { return false }
        }
        var (whole, parts) = (self, self)
        guard let text = try whole.text(accepts: { try accepts($0) { try resolves(path) } }) else { return nil }
        if try accepts(text, plans) { return text }
        guard let planned = try parts.text(accepts: { try accepts($0, plans) }) else { return nil }
        try FileLayer().replace(path, with: Array(planned.utf8))
        return planned
    }

    private func resolves(_ path: String) throws(FerryError) -> Bool {
        let mapping = try MappingFile.load(path: path)
        return MappingResolution.resolve(
            source: versions.source, destination: versions.destination, mappingModels: [mapping]
        ).problems.isEmpty
    }

    private mutating func text(accepts: (String) throws -> Bool) rethrows -> String? {
        guard var members = carried() else { return nil }
        if try !accepts(text(of: members)) {
            guard kind == .wide else { return nil }
            members = withoutConversions(members)
            guard try accepts(text(of: members)) else { return nil }
        }
        func attempt(_ changed: [Member]) throws {
            if try accepts(text(of: changed)) { members = changed }
        }
        for index in members.indices {
            var changed = members
            changed[index].attributes += computed(members[index])
            if changed[index].attributes.count > members[index].attributes.count { try attempt(changed) }
            if kind == .keepsMostRows, random.below(4) > 0 { continue }
            if kind != .keepsRows, let condition = condition(members[index]) {
                changed = members
                changed[index].condition = condition
                try attempt(changed)
            }
        }
        for number in 0..<(kind == .keepsRows ? 0 : 2) {
            guard let extra = extra(number, members) else { continue }
            try attempt(members + [extra])
            guard members.contains(where: { $0.name == extra.name }), extra.element == nil else { continue }
            for index in members.indices where members[index].source == extra.source && index < members.count - 1 {
                let own = matching.destination.relationships(of: members[index].destination)
                // A relationship that the source has on either side would be mapped twice, and one of both would win.
                let link = own.first { link in
                    link.destinationEntity == extra.destination && isNew(link, of: members[index].destination)
                        && !members[index].relationships.contains { $0.name == link.name }
                }
                guard let link else { continue }
                var changed = members
                changed[index].relationships.append((link.name, extra.name, "$source"))
                try attempt(changed)
            }
        }
        for number in 0..<(kind == .wide ? 14 : 0) {
            if let changed = widened(members, number) { try attempt(changed) }
        }
        return text(of: members)
    }

    // MARK: Members

    private func isNew(_ link: Relationship, of entity: String) -> Bool {
        guard matching.sourceRelationship(of: link.name, in: entity) == nil else { return false }
        guard let inverse = link.inverseName else { return true }
        return matching.sourceRelationship(of: inverse, in: link.destinationEntity) == nil
    }

    /// Returns a member for each entity of both versions; nil where a mandatory value would have no source.
    private mutating func carried() -> [Member]? {
        var members: [Member] = []
        for entity in matching.destination.sortedEntityNames {
            guard let source = matching.sourceEntities[entity],
                matching.source.entities[source]?.isAbstract == false,
                matching.destination.entities[entity]?.isAbstract == false
            else { continue }
            var member = Member(name: "\(source)To\(entity)", source: source, destination: entity)
            for attribute in matching.destination.attributes(of: entity) {
                guard let old = matching.sourceAttribute(of: attribute.name, in: entity) else { continue }
                let path = "$source.\(old.name)"
                if old.type != attribute.type, kind == .wide {
                    member.attributes.append((attribute.name, converted(path, old.type, attribute.type)))
                    continue
                }
                if old.isOptional, !attribute.isOptional {
                    guard attribute.type == .string else { return nil }
                    member.attributes.append((attribute.name, "ifnil:then:(\(path), 'none')"))
                } else if old.name != attribute.name {
                    member.attributes.append((attribute.name, path))
                }
            }
            members.append(member)
        }
        return members + (kind == .wide ? merging(members) : [])
    }

    /// Returns values for some attributes that the mapping carries unchanged, or leaves at their defaults.
    private mutating func computed(_ member: Member) -> [(name: String, expression: String)] {
        var values: [(String, String)] = []
        for attribute in matching.destination.attributes(of: member.destination) {
            guard !ManagedObjectModel.marks.contains(attribute.name),
                !member.attributes.contains(where: { $0.name == attribute.name }), random.below(3) == 0
            else { continue }
            let old = matching.sourceAttribute(of: attribute.name, in: member.destination)
            let path = "$source.\(old?.name ?? "")"
            switch (attribute.type, old?.type) {
            case (.string, .string?):
                let forms = [
                    "uppercase:(\(path))", "TERNARY(\(path) = nil, 'none', \(path))", "ifnil:then:(\(path), 'none')",
                ]
                values.append((attribute.name, forms[Int(random.below(Int64(forms.count)))]))
            case (.double, .double?): values.append((attribute.name, "\(path) * 2.5"))
            case (.integer32, .integer16?), (.integer64, .integer32?), (.integer64, .integer16?):
                values.append((attribute.name, "\(path) + 1"))
            case (.string, nil) where attribute.isOptional:
                guard let text = text(of: member.source) else { continue }
                values.append((attribute.name, "$source.\(text)"))
            case (.integer32, nil) where attribute.isOptional, (.integer64, nil) where attribute.isOptional:
                guard let text = text(of: member.source) else { continue }
                values.append((attribute.name, "$source.\(text).length"))
            default: continue
            }
        }
        return values
    }

    private mutating func condition(_ member: Member) -> String? {
        guard random.below(4) == 0 else { return nil }
        return text(of: member.source).map { "\($0) != nil" }
    }

    /// Returns objects made of other objects' texts: found or created, or one for each element of a relationship.
    private mutating func extra(_ number: Int, _ members: [Member]) -> Member? {
        guard let one = pick(members), let entity = pick(members)?.destination,
            let value = text(of: one.source),
            let attribute = matching.destination.attributes(of: entity).first(where: {
                $0.type == .string && $0.isOptional && !ManagedObjectModel.marks.contains($0.name)
            })
        else { return nil }
        var extra = Member(name: "Extra\(number)", source: one.source, destination: entity)
        extra.attributes = [(attribute.name, "$source.\(value)")]
        let related = matching.source.relationships(of: one.source).first(where: \.isToMany)
        if let related, random.below(2) == 0 {
            extra.element = ("element", "$source.\(related.name)")
            extra.mark(in: matching)
        } else {
            extra.condition = "\(value) != nil"
            if random.below(3) > 0 { extra.unique = attribute.name }
        }
        return extra
    }

    /// Returns a text attribute of a source entity.
    mutating func text(of entity: String) -> String? {
        pick(
            matching.source.attributes(of: entity).filter {
                $0.type == .string && $0.isOptional && !ManagedObjectModel.marks.contains($0.name)
            })?.name
    }

    mutating func pick<Element>(_ elements: [Element]) -> Element? {
        elements.isEmpty ? nil : elements[Int(random.below(Int64(elements.count)))]
    }

    // MARK: Text

    private func text(of members: [Member]) -> String {
        let listed = members.map { member in
            var parts = [
                "\"name\": \"\(member.name)\"", "\"source\": \"\(member.source)\"",
                "\"destination\": \"\(member.destination)\"",
            ]
            if let element = member.element {
                let position = member.position.map { ", \"position\": \"\($0)\"" } ?? ""
                parts.append("\"forEach\": { \"\(element.name)\": \"\(element.path)\"\(position) }")
            }
            if let condition = member.condition { parts.append("\"where\": \"\(condition)\"") }
            if let unique = member.unique { parts.append("\"unique\": [\"\(unique)\"]") }
            if let keep = member.keep { parts.append("\"keep\": \"\(keep)\"") }
            if !member.attributes.isEmpty {
                let values = member.attributes.map { name, value in
                    "\"\(name)\": " + (value == "null" || value.hasPrefix("{ ") ? value : "\"\(value)\"")
                }
                parts.append("\"attributes\": { \(values.joined(separator: ", ")) }")
            }
            if !member.relationships.isEmpty {
                let links = member.relationships.map {
                    "\"\($0.name)\": { \"mapping\": \($0.mapping.map { "\"\($0)\"" } ?? "null"), \"from\": \"\($0.from)\" }"
                }
                parts.append("\"relationships\": { \(links.joined(separator: ", ")) }")
            }
            return "    { \(parts.joined(separator: ", ")) }"
        }
        return """
            { "source": "\(versions.source.name)", "destination": "\(versions.destination.name)", "entityMappings": [
            \(listed.joined(separator: ",\n")) ] }

            """
    }
}
