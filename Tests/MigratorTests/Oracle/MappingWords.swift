import FerryModel
import FerrySQLite
import Foundation

/// What a mapping says, read plainly: the successor of each entity, and the expression of each attribute.
struct MappingWords {
    /// The value of an attribute as a function of one attribute of the source.
    enum Word: Equatable {
        case same, uppercase, orNone, twoAndAHalf, plusOne, length

        /// Whether a value of the destination is what the words make of one of the source.
        func makes(_ new: Value?, of old: Value) -> Bool {
            guard let new, new != .null else { return false }
            switch self {
            case .same, .orNone: return Self.number(new).map { $0 == Self.number(old) } ?? (new == old)
            case .uppercase: return new.text?.uppercased() == old.text?.uppercased()
            case .twoAndAHalf: return Self.number(new) == Self.number(old).map { $0 * 2.5 }
            case .plusOne: return new.integer == old.integer.map { $0 &+ 1 }
            case .length: return new.integer == old.text.map { Int64($0.utf16.count) }
            }
        }

        private static func number(_ value: Value) -> Double? {
            switch value {
            case .integer(let number): Double(number)
            case .real(let number): number
            default: nil
            }
        }

        /// The words of an expression, and the attribute that it reads.
        static func read(_ expression: String) -> (Word, attribute: String)? {
            let forms: [(Word, before: String, after: String)] = [
                (.orNone, "ifnil:then:($source.", ", 'none')"), (.uppercase, "uppercase:($source.", ")"),
                (.twoAndAHalf, "$source.", " * 2.5"), (.plusOne, "$source.", " + 1"), (.length, "$source.", ".length"),
                (.same, "$source.", ""),
            ]
            for (word, before, after) in forms where expression.hasPrefix(before) && expression.hasSuffix(after) {
                return (word, String(expression.dropFirst(before.count).dropLast(after.count)))
            }
            let parts = expression.components(separatedBy: " = nil, 'none', ")
            guard expression.hasPrefix("TERNARY($source."), parts.count == 2 else { return nil }
            return (.orNone, String(parts[0].dropFirst("TERNARY($source.".count)))
        }
    }

    /// By source entity: the entity whose objects have the same keys.
    private(set) var heirs: [String: String] = [:]
    /// By source entity: the other entity mappings that read its objects.
    private var others: [String: [(destination: String, attributes: [String: String])]] = [:]
    /// By source entity: the attributes without which further entity mappings, which make one object of each, leave an
    /// object out; nil if they leave out none.
    private(set) var further: [String: [String?]] = [:]
    private let source: ManagedObjectModel
    private let destination: ManagedObjectModel
    /// By source entity: explicit expressions; nil for an inferred mapping, which follows renaming identifiers.
    private var expressions: [String: [String: String]]?

    /// Core Data's rule of an inferred mapping: an identifier goes before an equal name.
    init(inferred source: ManagedObjectModel, _ destination: ManagedObjectModel) {
        (self.source, self.destination) = (source, destination)
        for (new, old) in Self.successors(
            source.sortedEntityNames, destination.entities.values.map { ($0.name, $0.renamingIdentifier) })
        {
            heirs[old] = new
        }
    }

    /// A mapping file: the first entity mapping of a source entity, without elements and without `unique`, carries it.
    init(_ text: String, _ source: ManagedObjectModel, _ destination: ManagedObjectModel) throws {
        (self.source, self.destination) = (source, destination)
        let file = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any] ?? [:]
        var expressions: [String: [String: String]] = [:]
        for mapping in file["entityMappings"] as? [[String: Any]] ?? [] {
            guard let old = mapping["source"] as? String, let new = mapping["destination"] as? String,
                let attributes = (mapping["attributes"] ?? [String: String]()) as? [String: String]
            else { continue }
            guard mapping["forEach"] == nil, mapping["unique"] == nil, heirs[old] == nil else {
                others[old, default: []].append((new, attributes))
                if mapping["forEach"] == nil, mapping["unique"] == nil {
                    let condition = mapping["where"] as? String
                    further[old, default: []].append(condition.map { String($0.dropLast(" != nil".count)) })
                }
                continue
            }
            heirs[old] = new
            expressions[old] = attributes
        }
        self.expressions = expressions
    }

    /// The successor of an entity without objects of its own, by those of its subentities.
    func abstractHeir(of entity: String) -> String? {
        for child in source.family(of: entity) {
            guard let heir = heirs[child] else { continue }
            return heir
        }
        return nil
    }

    /// The destination attributes that an attribute's values become.
    func readers(of attribute: String, of entity: String) -> [(attribute: String, word: Word)] {
        guard let heir = heirs[entity] else { return [] }
        guard let expressions = expressions?[entity] else {
            let new = destination.attributes(of: heir).filter { !$0.isTransient }
            let pairs = Self.successors(
                source.attributes(of: entity).map(\.name), new.map { ($0.name, $0.renamingIdentifier) })
            return pairs.filter { $0.old == attribute }.map { ($0.new, .same) }
        }
        return readers(of: attribute, by: expressions, in: heir)
    }

    /// The attributes of further objects, made of an entity's objects, that an attribute's values become.
    func copies(of attribute: String, of entity: String) -> [(entity: String, attribute: String, word: Word)] {
        (others[entity] ?? []).flatMap { other in
            readers(of: attribute, by: other.attributes, in: other.destination).map {
                (other.destination, $0.attribute, $0.word)
            }
        }
    }

    func hasFurther(_ entity: String) -> Bool { others[entity]?.isEmpty == false }

    /// Whether further objects, made of an entity's objects, have a relationship of this name, which relates those.
    func copiesRelate(_ relationship: String, of entity: String) -> Bool {
        (others[entity] ?? []).contains { destination.relationship(relationship, of: $0.destination) != nil }
    }

    /// The attributes that an entity mapping fills from one of the source, by its words or by an equal name.
    private func readers(
        of attribute: String, by expressions: [String: String], in entity: String
    ) -> [(attribute: String, word: Word)] {
        destination.attributes(of: entity).filter { !$0.isTransient }.compactMap { new in
            guard let expression = expressions[new.name] else { return new.name == attribute ? (new.name, .same) : nil }
            guard let (word, read) = Word.read(expression), read == attribute else { return nil }
            return (new.name, word)
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
