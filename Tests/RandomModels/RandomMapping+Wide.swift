internal import FerryGenerate
internal import FerryModel

extension RandomMapping {
    /// Returns mappings of entities that are gone into others: the objects of two entities become those of one.
    mutating func merging(_ members: [Member]) -> [Member] {
        var merged: [Member] = []
        for entity in matching.source.sortedEntityNames
        where matching.destinationEntities[entity] == nil && matching.source.entities[entity]?.isAbstract == false {
            guard random.below(3) > 0, let target = pick(members)?.destination else { continue }
            merged.append(Member(name: "\(entity)Into\(target)", source: entity, destination: target))
        }
        return merged
    }

    /// Returns an expression that converts a value to another type.
    mutating func converted(_ path: String, _ old: AttributeType, _ new: AttributeType) -> String {
        let forms = ExpressionForm.all.filter { $0.old.contains(old) && $0.new.contains(new) && $0.text != "%" }
        if let form = pick(forms), random.below(2) == 0 { return form.expression(of: path) }
        if old == .binary || new == .binary { return "null" }
        return old == .string || old == .date || new == .date
            ? "{ \"value\": \"\(path)\", \"onInvalid\": \"null\" }" : path
    }

    /// Leaves the attributes with other types empty.
    func withoutConversions(_ members: [Member]) -> [Member] {
        members.map { member in
            var member = member
            for index in member.attributes.indices {
                let name = member.attributes[index].name
                let old = matching.sourceAttribute(of: name, in: member.destination)?.type
                if old != matching.destination.attribute(name, of: member.destination)?.type {
                    member.attributes[index].expression = "null"
                }
            }
            return member
        }
    }

    /// Returns members with one more thing; nil if there is no place for it.
    mutating func widened(_ members: [Member], _ number: Int) -> [Member]? {
        guard !members.isEmpty else { return nil }
        var changed = members
        let index = Int(random.below(Int64(members.count)))
        switch random.below(12) {
        case 0, 1, 2, 3, 4: return computing(&changed, index) ? changed : nil
        case 5:
            guard members[index].unique == nil, members[index].element == nil, let key = key(of: members[index]) else {
                return nil
            }
            changed[index].unique = key
            changed[index].keep = pick(["first", "last", "newest by $source.mark"])
        case 6, 7:
            guard let part = part(number, of: members, index, isElement: false) else { return nil }
            changed.append(part)
        case 8:
            guard let part = part(number, of: members, index, isElement: true) else { return nil }
            changed.append(part)
        case 9:
            guard let part = jsonPart(number, members) else { return nil }
            changed.append(part)
        case 10:
            guard let text = text(of: members[index].source), members[index].condition == nil else { return nil }
            changed[index].condition = pick(["mark ENDSWITH '1'", "NOT (mark ENDSWITH '1')", "\(text) != 'same'"])
        default: return relating(&changed, index) ? changed : nil
        }
        return changed
    }

    // MARK: Values

    private mutating func computing(_ members: inout [Member], _ index: Int) -> Bool {
        let member = members[index]
        let free = matching.destination.attributes(of: member.destination).filter { new in
            !ManagedObjectModel.marks.contains(new.name) && new.isOptional
                && !member.attributes.contains { $0.name == new.name }
        }
        let own = matching.source.attributes(of: member.source).filter { !ManagedObjectModel.marks.contains($0.name) }
        var paths = own.map { ("$source.\($0.name)", $0.type) }
        // Values of related objects, and of collections.
        if let link = pick(matching.source.relationships(of: member.source)),
            let other = pick(matching.source.attributes(of: link.destinationEntity)),
            !ManagedObjectModel.marks.contains(other.name)
        {
            if !link.isToMany {
                paths.append(("$source.\(link.name).\(other.name)", other.type))
            } else if let place = free.first(where: { $0.type == .integer64 || $0.type == .integer32 }) {
                members[index].attributes.append((place.name, "$source.\(link.name).@count"))
                return true
            }
        }
        guard let place = pick(free), let (path, type) = pick(paths) else { return false }
        let forms = ExpressionForm.all.filter { $0.old.contains(type) && $0.new.contains(place.type) }
        guard let form = pick(forms) else { return false }
        members[index].attributes.append((place.name, form.expression(of: path)))
        return true
    }

    /// Returns a text of the destination that is one of the source.
    private mutating func key(of member: Member) -> String? {
        pick(
            matching.destination.attributes(of: member.destination).filter { new in
                new.type == .string && !ManagedObjectModel.marks.contains(new.name)
                    && !member.attributes.contains { $0.name == new.name }
                    && matching.source.attribute(new.name, of: member.source)?.type == .string
            })?.name
    }

    // MARK: Parts

    /// Returns a mapping that makes further objects of a member's: of a new entity, if there is one.
    private mutating func part(_ number: Int, of members: [Member], _ index: Int, isElement: Bool) -> Member? {
        let owner = members[index]
        let new = matching.destination.sortedEntityNames.filter { matching.sourceEntities[$0] == nil }
        guard let entity = pick(new), matching.destination.entities[entity]?.isAbstract == false else { return nil }
        var part = Member(name: "Part\(number)", source: owner.source, destination: entity)
        let links = matching.destination.relationships(of: entity)
        if let link = links.first(where: { matching.destination.isKind(owner.destination, of: $0.destinationEntity) }) {
            part.relationships.append((link.name, owner.name, "$source"))
        }
        if isElement {
            guard let related = pick(matching.source.relationships(of: owner.source).filter(\.isToMany)) else {
                return nil
            }
            part.element = ("element", "$source.\(related.name)")
            let other = links.first { link in
                !part.relationships.contains { $0.name == link.name }
                    && members.contains {
                        $0.source == related.destinationEntity
                            && matching.destination.isKind($0.destination, of: link.destinationEntity)
                    }
            }
            if let other { part.relationships.append((other.name, nil, "$element")) }
            if random.below(2) == 0 { part.position = "index" }
            part.mark(in: matching)
        }
        for place in matching.destination.attributes(of: entity)
        where !ManagedObjectModel.marks.contains(place.name) && random.below(4) > 0 {
            if place.type == .integer64, part.position != nil,
                !part.attributes.contains(where: { $0.expression == "$index" })
            {
                part.attributes.append((place.name, "$index"))
                continue
            }
            let base = isElement && random.below(2) == 0 ? "$element" : "$source"
            let related = matching.source.relationship(String(part.element?.path.dropFirst(8) ?? ""), of: owner.source)
            let from = base == "$source" ? owner.source : related?.destinationEntity ?? owner.source
            let attributes = matching.source.attributes(of: from).filter { !ManagedObjectModel.marks.contains($0.name) }
            let forms = attributes.flatMap { attribute in
                ExpressionForm.all.filter { $0.old.contains(attribute.type) && $0.new.contains(place.type) }
                    .map { (form: $0, attribute: attribute) }
            }
            guard let found = pick(random.below(2) == 0 ? forms.filter { $0.form.text == "%" } : forms) else {
                continue
            }
            part.attributes.append((place.name, found.form.expression(of: "\(base).\(found.attribute.name)")))
        }
        return part
    }

    private mutating func jsonPart(_ number: Int, _ members: [Member]) -> Member? {
        let holders = members.filter { matching.source.attribute("json", of: $0.source) != nil }
        let new = matching.destination.sortedEntityNames.filter { matching.sourceEntities[$0] == nil }
        guard let holder = pick(holders), let entity = pick(new),
            let text = matching.destination.attributes(of: entity).first(where: {
                $0.type == .string && !ManagedObjectModel.marks.contains($0.name)
            })
        else { return nil }
        var part = Member(name: "Json\(number)", source: holder.source, destination: entity)
        part.element = ("element", "JSON($source.json, 'items')")
        part.attributes = [(text.name, "$element.n")]
        if let place = matching.destination.attributes(of: entity).first(where: { $0.type == .integer64 }) {
            part.position = "index"
            part.attributes.append((place.name, "$index"))
        }
        return part
    }

    // MARK: Links

    private mutating func relating(_ members: inout [Member], _ index: Int) -> Bool {
        let member = members[index]
        let places = matching.destination.relationships(of: member.destination).filter { link in
            !member.relationships.contains { $0.name == link.name }
        }
        guard let place = pick(places) else { return false }
        let links = matching.source.relationships(of: member.source).filter { link in
            members.contains { other in
                matching.source.isKind(other.source, of: link.destinationEntity)
                    && matching.destination.isKind(other.destination, of: place.destinationEntity)
            }
        }
        guard let link = pick(links) else { return false }
        let path = "$source.\(link.name)"
        let other = pick(links.filter { $0.destinationEntity == link.destinationEntity && $0.name != link.name })
        switch random.below(3) {
        case 0 where link.isToMany:
            members[index].relationships.append((place.name, nil, "SUBQUERY(\(path), $m, $m.mark ENDSWITH '1')"))
        case 1 where other?.isToMany == true && link.isToMany:
            members[index].relationships.append((place.name, nil, "\(path) UNION $source.\(other?.name ?? "")"))
        default: members[index].relationships.append((place.name, nil, path))
        }
        return true
    }
}

extension RandomMapping.Member {
    /// Says of which element an object is made.
    mutating func mark(in matching: ModelMatching) {
        guard matching.destination.attribute("mark2", of: destination) != nil else { return }
        attributes.append(("mark2", "$element.mark"))
    }
}
