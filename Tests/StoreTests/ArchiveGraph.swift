import FerryModel

/// The object graph of a keyed archive, for a comparison with another one from the root on.
///
/// The order of objects and of dictionary entries does not count, nor whether a collection or a text is mutable; an
/// empty collection is equal to none, and numbers are compared by value.
struct ArchiveGraph {
    private let objects: [PropertyTree]
    let root: PropertyTree

    init(_ archive: [UInt8]) throws {
        let top = try PropertyTree(binary: archive).dictionary ?? [:]
        objects = top["$objects"]?.array ?? []
        root = top["$top"]?.dictionary?["root"] ?? .null
    }

    /// Returns the places where the two graphs differ, each with its path.
    func differences(from other: ArchiveGraph) -> [String] {
        var comparison = Comparison(left: self, right: other)
        comparison.compare(root, other.root, path: "")
        return comparison.differences
    }

    fileprivate enum Node: Equatable {
        case nothing
        case text(String)
        case number(Double)
        case bytes([UInt8])
        case list([PropertyTree])
        case set([PropertyTree])
        case map([String: PropertyTree])
        case object(String, [String: PropertyTree])
    }

    fileprivate func node(_ tree: PropertyTree) -> Node {
        switch tree {
        case .uid(let position): return position == 0 ? .nothing : node(objects[position])
        case .null: return .nothing
        case .bool(let flag): return .number(flag ? 1 : 0)
        case .integer(let number): return .number(Double(number))
        case .real(let number), .date(let number): return .number(number)
        case .string(let text): return .text(text)
        case .data(let bytes): return .bytes(bytes)
        case .array(let elements), .set(let elements): return .list(elements)
        case .dictionary(let values): return object(values)
        }
    }

    private func object(_ values: [String: PropertyTree]) -> Node {
        guard case .uid(let position)? = values["$class"] else { return .nothing }
        let name = objects[position].dictionary?["$classname"]?.string ?? ""
        let elements = values["NS.objects"]?.array ?? []
        switch name {
        case "NSMutableString", "NSString": return .text(values["NS.string"]?.string ?? "")
        case "NSArray", "NSMutableArray": return elements.isEmpty ? .nothing : .list(elements)
        case "NSSet", "NSMutableSet": return elements.isEmpty ? .nothing : .set(elements)
        case "NSDictionary", "NSMutableDictionary":
            let keys = (values["NS.keys"]?.array ?? []).map(text)
            return keys.isEmpty ? .nothing : .map(Dictionary(uniqueKeysWithValues: zip(keys, elements)))
        case "NSDecimalNumberPlaceholder":
            // A number has several forms; zero is the only one that occurs.
            var parts = values.filter { $0.key != "$class" }
            if parts["NS.length"] == .integer(0) { parts["NS.exponent"] = nil }
            return .object(name, parts)
        case "_NSPropertyDescriptionProxy":
            // Represents an inherited property, which newer archives copy.
            guard case .object(let own, var copied)? = values["NSUnderlyingProperty"].map(node) else { return .nothing }
            copied["NSEntity"] = values["NSEntityDescription"]
            return .object(own, copied)
        default:
            return .object(name, values.filter { $0.key != "$class" })
        }
    }

    private func text(_ tree: PropertyTree) -> String { if case .text(let text) = node(tree) { text } else { "?" } }

    /// Returns the text that identifies an element of a set.
    fileprivate func label(_ tree: PropertyTree) -> String {
        switch node(tree) {
        case .text(let text): text
        case .object(let name, let values): name + (values["NSEntityName"].map(text) ?? "")
        default: ""
        }
    }
}

private struct Comparison {
    let left: ArchiveGraph
    let right: ArchiveGraph
    var differences: [String] = []
    private var seen: Set<[PropertyTree]> = []

    init(left: ArchiveGraph, right: ArchiveGraph) {
        self.left = left
        self.right = right
    }

    mutating func compare(_ one: PropertyTree, _ other: PropertyTree, path: String) {
        // The objects of two references are compared once, so that cycles end.
        if case .uid = one, case .uid = other, !seen.insert([one, other]).inserted { return }
        switch (left.node(one), right.node(other)) {
        case (.list(let ones), .list(let others)): compare(ones, others, path)
        case (.set(let ones), .set(let others)):
            compare(
                ones.sorted { left.label($0) < left.label($1) }, others.sorted { right.label($0) < right.label($1) },
                path)
        case (.map(let ones), .map(let others)): compare(ones, others, path)
        case (.object("NSKnownKeysDictionary1", let ones), .object("NSKnownKeysDictionary1", let others)):
            compare(left.knownKeys(ones), right.knownKeys(others), path)
        case (.object(let name, let ones), .object(let otherName, let others)):
            if name != otherName { differences.append("\(path): \(name), \(otherName)") }
            compare(ones, others, path)
        case (let one, let other):
            if one != other {
                differences.append("\(path.suffix(90)): \("\(one)".prefix(60)), \("\(other)".prefix(60))")
            }
        }
    }

    private mutating func compare(_ ones: [PropertyTree], _ others: [PropertyTree], _ path: String) {
        if ones.count != others.count { return differences.append("\(path): \(ones.count), \(others.count)") }
        for (index, pair) in zip(ones, others).enumerated() { compare(pair.0, pair.1, path: "\(path)[\(index)]") }
    }

    private mutating func compare(_ ones: [String: PropertyTree], _ others: [String: PropertyTree], _ path: String) {
        for key in Set(ones.keys).union(others.keys).sorted() {
            compare(ones[key] ?? .null, others[key] ?? .null, path: "\(path).\(key)")
        }
    }
}

extension ArchiveGraph {
    fileprivate func knownKeys(_ values: [String: PropertyTree]) -> [String: PropertyTree] {
        guard case .object(_, let mapping)? = values["searchMapping"].map(node),
            case .list(let keys)? = mapping["keys"].map(node), case .list(let entries)? = values["values"].map(node)
        else { return [:] }
        return Dictionary(uniqueKeysWithValues: zip(keys.map(label), entries))
    }
}
