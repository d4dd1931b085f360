import FerryModel
import FerrySQLite
import Foundation
import RandomModels

/// Where the values, links and objects of a store are in the store of the next version, by the mapping's words and by the
/// marks of the objects.
final class StepEvidence {
    let old: StoreSide
    let new: StoreSide
    private let words: MappingWords
    /// The objects of an entity by the values of some attributes.
    private var indexes: [[String]: [[Value?]: Set<Int64>]] = [:]

    init(_ old: StoreSide, _ new: StoreSide, _ words: MappingWords) {
        (self.old, self.new, self.words) = (old, new, words)
    }

    struct Object: Hashable {
        var entity: String
        var key: Int64
    }

    struct StoredValue: Hashable {
        var object: Object
        var attribute: String
    }

    struct StoredLink: Hashable {
        var relationship: String
        var from: Object
        var to: Object
        /// The link that leads from an object for a link to its other end: it must live on, too.
        var beside: [StoredLink] = []
    }

    /// A place in the new store; a doubtful one may have an equal value for another reason.
    struct Place<Item: Hashable>: Hashable {
        var item: Item
        var isDoubtful = false
    }

    // MARK: Objects

    /// The objects that a mapping made of an object, and of an element of it.
    private func made(
        by mapping: MappingWords.Mapping, of key: Int64, element: Object? = nil
    ) throws -> Set<Object> {
        if !mapping.unique.isEmpty, let keys = try uniqueKeys(of: mapping, key) {
            let all = try objects(mapping.destination, mapping.unique)
            // An attribute of another type holds the key's value converted.
            let found =
                all[keys.map { $0.map(Self.comparable) }]
                ?? all.first { zip($0.key, keys).allSatisfy(Self.tells) }?.value ?? []
            return Set(found.map { Object(entity: mapping.destination, key: $0) })
        }
        var marks = [try old.values("mark", of: mapping.source)[key]]
        if mapping.elements == nil {
            marks.append(try old.values("mark2", of: mapping.source)[key])
        } else if let element {
            marks.append(try old.values("mark", of: element.entity)[element.key])
        }
        let names = Array(ManagedObjectModel.marks.prefix(marks.count))
        let found = try objects(mapping.destination, names)[marks.map { $0.map(Self.comparable) }] ?? []
        return Set(found.map { Object(entity: mapping.destination, key: $0) })
    }

    private func uniqueKeys(of mapping: MappingWords.Mapping, _ key: Int64) throws -> [Value?]? {
        try mapping.unique.reduce(into: [Value?]?.some([])) { keys, name in
            let value = mapping.values.first { $0.attribute == name }
            guard let value, value.base == .source, value.keys.count == 1, value.keeps == .value else {
                keys = nil
                return
            }
            let own = try old.values(value.keys[0], of: mapping.source)[key]
            keys?.append(own ?? value.substitute.map { .text($0) })
        }
    }

    private func objects(_ entity: String, _ attributes: [String]) throws -> [[Value?]: Set<Int64>] {
        if let known = indexes[[entity] + attributes] { return known }
        let columns = try attributes.map { try new.values($0, of: entity) }
        var index: [[Value?]: Set<Int64>] = [:]
        for key in try new.keys(entity) {
            index[columns.map { $0[key].map(Self.comparable) }, default: []].insert(key)
        }
        indexes[[entity] + attributes] = index
        return index
    }

    func places(of object: Object) throws -> Set<Place<Object>> {
        try words.carriers(of: object.entity).reduce(into: []) { places, mapping in
            let isDoubtful = try mapping.filters && (words.isAmbiguous(mapping) || hasTwin(object.key, of: mapping))
            for place in try candidates(by: mapping, of: object.key) {
                places.insert(Place(item: place.item, isDoubtful: place.isDoubtful || isDoubtful))
            }
        }
    }

    /// The objects that a mapping may have made of an object: by a computed key, any.
    private func candidates(by mapping: MappingWords.Mapping, of key: Int64) throws -> Set<Place<Object>> {
        let made = try made(by: mapping, of: key)
        guard made.isEmpty, !mapping.unique.isEmpty, try uniqueKeys(of: mapping, key) == nil else {
            return Set(made.map { Place(item: $0) })
        }
        return Set(
            try new.keys(mapping.destination).map {
                Place(item: Object(entity: mapping.destination, key: $0), isDoubtful: true)
            })
    }

    /// Whether another mapping makes objects of the same entity of one with the same mark: of a part of the object.
    private func hasTwin(_ key: Int64, of mapping: MappingWords.Mapping) throws -> Bool {
        guard let mark = try old.values("mark", of: mapping.source)[key] else { return false }
        return try words.mappings.contains { other in
            try other.destination == mapping.destination && other.source != mapping.source
                && old.values("mark", of: other.source).values.contains(mark)
        }
    }

    // MARK: Values

    func places(of value: StoredValue) throws -> Set<Place<StoredValue>> {
        let (object, name) = (value.object, value.attribute)
        guard let content = try old.values(name, of: object.entity)[object.key] else { return [] }
        var places: Set<Place<StoredValue>> = []
        for mapping in words.mappings {
            for rule in mapping.values where rule.keeps != .nothing && rule.keys.last == name {
                for one in try readers(of: object, rule, mapping) {
                    let after = try new.values(rule.attribute, of: one.entity)[one.key]
                    let isNew = rule.keeps == .newValue
                    // Of objects that become one, one gives the new value, and nothing tells which.
                    let isShared = isNew && !mapping.unique.isEmpty && !mapping.unique.contains(rule.attribute)
                    guard isNew || after.map({ Self.tells($0, content) }) == true else { continue }
                    places.insert(
                        Place(
                            item: StoredValue(object: one, attribute: rule.attribute),
                            isDoubtful: rule.keeps == .some || (isNew && after == nil) || isShared
                                || words.isAmbiguous(mapping)))
                }
            }
        }
        return places
    }

    /// The objects whose mapping reads an attribute of an object by a rule.
    private func readers(
        of object: Object, _ rule: MappingWords.Value, _ mapping: MappingWords.Mapping
    ) throws -> Set<Object> {
        switch (rule.base, rule.keys.count) {
        case (.source, 1):
            return mapping.source == object.entity ? try made(by: mapping, of: object.key) : []
        case (.source, 2):
            return try sources(of: object, rule.keys[0], mapping).reduce(into: []) {
                $0.formUnion(try made(by: mapping, of: $1))
            }
        case (.element, 1):
            guard let elements = mapping.elements else { return [] }
            return try sources(of: object, elements, mapping).reduce(into: []) {
                $0.formUnion(try made(by: mapping, of: $1, element: object))
            }
        default: return []
        }
    }

    /// The source objects of a mapping that are related to an object.
    private func sources(
        of object: Object, _ relationship: String, _ mapping: MappingWords.Mapping
    ) throws -> [Int64] {
        guard let link = old.model.relationship(relationship, of: mapping.source),
            old.model.isKind(object.entity, of: link.destinationEntity)
        else { return [] }
        let own = try old.keys(mapping.source)
        return (try old.links(relationship, of: mapping.source) ?? []).filter { $0.to == object.key }.map(\.from)
            .filter(own.contains)
    }

    private static func tells(_ new: Value?, _ old: Value?) -> Bool {
        guard let new, let old else { return new == nil && old == nil }
        return tells(new, old)
    }

    /// Whether a value can be told from another one, perhaps of another type.
    private static func tells(_ new: Value, _ old: Value) -> Bool {
        if comparable(new) == comparable(old) { return true }
        switch (old, new) {
        case (.integer(let one), .text(let two)): return two == "\(one)"
        case (.real(let one), .text(let two)): return Double(two) == one
        case (.text(let one), .integer(let two)): return shortened(one) == "\(two)"
        case (.text(let one), .real(let two)): return [shortened(one), shortened(one) + ".0"].contains("\(two)")
        default: return false
        }
    }

    /// A decimal number without zeros at its end.
    private static func shortened(_ text: String) -> String {
        guard text.contains(".") else { return text }
        var digits = text
        while digits.hasSuffix("0") { digits.removeLast() }
        return digits.hasSuffix(".") ? String(digits.dropLast()) : digits
    }

    /// Numbers of two storage classes are equal.
    private static func comparable(_ value: Value) -> Value {
        guard case .real(let real) = value, let integer = Int64(exactly: real) else { return value }
        return .integer(integer)
    }

    // MARK: Links

    func places(of link: StoredLink) throws -> Set<Place<StoredLink>> {
        var places = try placesOfOneSide(link)
        // A link has two names.
        if let relationship = old.model.relationship(link.relationship, of: link.from.entity),
            let inverse = relationship.inverseName
        {
            places.formUnion(
                try placesOfOneSide(StoredLink(relationship: inverse, from: link.to, to: link.from)))
        }
        guard let beside = link.beside.first else { return places }
        let others = try self.places(of: beside)
        return places.reduce(into: []) { all, place in
            for other in others {
                var both = place
                both.item.beside = [other.item]
                both.isDoubtful = both.isDoubtful || other.isDoubtful
                all.insert(both)
            }
        }
    }

    private func placesOfOneSide(_ link: StoredLink) throws -> Set<Place<StoredLink>> {
        var places: Set<Place<StoredLink>> = []
        for mapping in words.mappings where mapping.source == link.from.entity {
            let owners = try candidates(by: mapping, of: link.from.key)
            for rule in mapping.links where rule.from.contains(.relationship(link.relationship)) {
                for owner in owners {
                    for end in try self.places(ofEnd: link.to, rule.mapping)
                    where try isLinked(rule.relationship, owner.item, end.item) {
                        places.insert(
                            Place(
                                item: StoredLink(relationship: rule.relationship, from: owner.item, to: end.item),
                                isDoubtful: owner.isDoubtful || end.isDoubtful || isOverruled(rule, mapping, link)
                                    || words.isAmbiguous(mapping)))
                    }
                }
            }
            guard mapping.elements == link.relationship else { continue }
            // An object for the link is related to both ends.
            for join in try made(by: mapping, of: link.from.key, element: link.to) {
                for rule in mapping.links where rule.from == [.object(.element)] {
                    for end in try ends(of: link.to, rule.mapping) where try isLinked(rule.relationship, join, end) {
                        guard let other = try relation(of: join, of: mapping, to: link.from) else { continue }
                        places.insert(
                            Place(
                                item: StoredLink(
                                    relationship: rule.relationship, from: join, to: end, beside: [other])))
                    }
                }
            }
        }
        return places
    }

    /// Whether a rule of the inverse relates other objects, so that a link may be there by chance.
    private func isOverruled(
        _ rule: MappingWords.Link, _ mapping: MappingWords.Mapping, _ link: StoredLink
    ) -> Bool {
        guard let target = new.model.relationship(rule.relationship, of: mapping.destination) else { return false }
        let back = old.model.relationship(link.relationship, of: link.from.entity)?.inverseName
        return words.mappings.contains { other in
            new.model.isKind(other.destination, of: target.destinationEntity)
                && other.links.contains {
                    $0.relationship == target.inverseName && $0.from != [.relationship(back ?? "")]
                }
        }
    }

    private func places(ofEnd object: Object, _ name: String?) throws -> Set<Place<Object>> {
        try words.mappings.filter { $0.source == object.entity && (name == nil || $0.name == name) }
            .reduce(into: []) { $0.formUnion(try candidates(by: $1, of: object.key)) }
    }

    private func ends(of object: Object, _ name: String?) throws -> Set<Object> {
        Set(try places(ofEnd: object, name).filter { !$0.isDoubtful }.map(\.item))
    }

    /// The link of the object of an element with one made of the source object.
    private func relation(
        of join: Object, of mapping: MappingWords.Mapping, to source: Object
    ) throws -> StoredLink? {
        let owners = try ends(of: source, nil)
        for rule in mapping.links where rule.from == [.object(.source)] {
            for owner in owners where try isLinked(rule.relationship, join, owner) {
                return StoredLink(relationship: rule.relationship, from: join, to: owner)
            }
        }
        for other in words.mappings where other.source == source.entity {
            for rule in other.links where rule.from == [.object(.source)] && rule.mapping == mapping.name {
                for owner in try made(by: other, of: source.key) where try isLinked(rule.relationship, owner, join) {
                    return StoredLink(relationship: rule.relationship, from: owner, to: join)
                }
            }
        }
        return nil
    }

    private func isLinked(_ relationship: String, _ one: Object, _ other: Object) throws -> Bool {
        guard let target = new.model.relationship(relationship, of: one.entity),
            new.model.isKind(other.entity, of: target.destinationEntity)
        else { return false }
        return try new.links(relationship, of: one.entity)?.contains(.init(from: one.key, to: other.key)) == true
    }
}
