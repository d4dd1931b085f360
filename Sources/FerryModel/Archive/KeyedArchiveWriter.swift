/// Writes an archive as `NSKeyedArchiver` does; the same calls give the same bytes.
///
/// Objects that refer to each other in a circle are reserved first and filled when what they refer to is known.
struct KeyedArchiveWriter {
    private var objects: [PropertyTree] = [.string("$null")]
    private var texts: [String: Int] = [:]
    private var classes: [[String]: Int] = [:]

    /// The object that stands for none.
    static let null = PropertyTree.uid(0)

    /// The archive whose root is `root`.
    func encoded(root: PropertyTree) -> [UInt8] {
        PropertyTree.dictionary([
            "$version": .integer(100_000), "$archiver": .string("NSKeyedArchiver"), "$top": .dictionary(["root": root]),
            "$objects": .array(objects),
        ]).binary
    }

    // MARK: Objects

    mutating func reserve() -> PropertyTree {
        objects.append(.null)
        return .uid(objects.count - 1)
    }

    /// - Precondition: The object was reserved and is not filled yet.
    mutating func fill(_ reserved: PropertyTree, _ lineage: [String], _ values: [String: PropertyTree]) {
        guard case .uid(let position) = reserved, objects[position] == .null else {
            preconditionFailure("An object is reserved once and filled once.")
        }
        var values = values
        values["$class"] = classReference(lineage)
        objects[position] = .dictionary(values)
    }

    /// An object of a class, which comes first in `lineage`, before its superclasses.
    mutating func object(_ lineage: [String], _ values: [String: PropertyTree]) -> PropertyTree {
        let object = reserve()
        fill(object, lineage, values)
        return object
    }

    private mutating func classReference(_ lineage: [String]) -> PropertyTree {
        if let known = classes[lineage] { return .uid(known) }
        objects.append(
            .dictionary([
                "$classname": .string(lineage.first ?? "NSObject"), "$classes": .array(lineage.map { .string($0) }),
            ]))
        classes[lineage] = objects.count - 1
        return .uid(objects.count - 1)
    }

    // MARK: Plain objects

    /// A text, or no object for nil.
    mutating func text(_ text: String?) -> PropertyTree {
        guard let text else { return Self.null }
        if let known = texts[text] { return .uid(known) }
        texts[text] = objects.count
        return plain(.string(text))
    }

    mutating func plain(_ value: PropertyTree) -> PropertyTree {
        objects.append(value)
        return .uid(objects.count - 1)
    }

    // MARK: Collections

    mutating func array(_ elements: [PropertyTree]) -> PropertyTree {
        object(["NSArray", "NSObject"], ["NS.objects": .array(elements)])
    }

    mutating func set(_ elements: [PropertyTree]) -> PropertyTree {
        object(["NSSet", "NSObject"], ["NS.objects": .array(elements)])
    }

    /// A dictionary with its keys in code unit order.
    mutating func dictionary(_ entries: [String: PropertyTree]) -> PropertyTree {
        let sorted = entries.sorted { codeUnitOrder($0.key, $1.key) }
        let keys = sorted.map { text($0.key) }
        return object(
            ["NSDictionary", "NSObject"], ["NS.keys": .array(keys), "NS.objects": .array(sorted.map(\.value))])
    }

    // MARK: What was kept

    /// Writes a part of another archive; `known` gives the object of an entity by its name, or of a property by that
    /// and its own name.
    mutating func kept(
        _ value: ArchivedValue, known: (_ entity: String, _ property: String?) -> PropertyTree
    ) -> PropertyTree {
        switch value {
        case .null, .list, .inline: return Self.null
        case .plain(.string(let string)): return text(string)
        case .plain(let value): return plain(value)
        case .entity(let name): return known(name, nil)
        case .property(let name, let entity): return known(entity, name)
        case .object(let lineage, let values):
            let object = reserve()
            var written: [String: PropertyTree] = [:]
            for (key, value) in values.sorted(by: { codeUnitOrder($0.key, $1.key) }) {
                written[key] = inner(value, known: known)
            }
            fill(object, lineage, written)
            return object
        }
    }

    /// A value within an object.
    mutating func inner(
        _ value: ArchivedValue, known: (_ entity: String, _ property: String?) -> PropertyTree
    ) -> PropertyTree {
        switch value {
        case .inline(let plain): return plain
        case .list(let elements):
            var references: [PropertyTree] = []
            for element in elements { references.append(kept(element, known: known)) }
            return .array(references)
        default: return kept(value, known: known)
        }
    }
}
