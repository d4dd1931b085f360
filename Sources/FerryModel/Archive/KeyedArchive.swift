package import FerryBase

/// An archive written by `NSKeyedArchiver`; each object is read on demand.
///
/// The reader instantiates no class, so a damaged or hostile archive can only cause an error. All reads together have a
/// limit of work (see ``PropertyList``). The path from the root to an object has the limit ``depthLimit``, so recursive
/// code ends even if the objects of the archive form a cycle.
package struct KeyedArchive: Sendable {
    /// The most steps from the root to an object; a value expression needs two steps for each level of nesting.
    package static let depthLimit = 200

    let list: PropertyList
    private let objects: PropertyListValue.References
    private let top: [(key: String, value: Int)]
    /// The number of copies that ``ArchivedObject/kept`` may still make: archives share objects, so a few of each.
    let copyAllowance: PropertyList.Allowance

    /// Opens an archive.
    ///
    /// - Throws: `.badArchive` if the bytes are not a keyed archive.
    package init(_ bytes: [UInt8]) throws(FerryError) {
        let list = try PropertyList(bytes)
        var objects: PropertyListValue.References?
        var top: [(key: String, value: Int)]?
        var archiver: String?
        for (key, reference) in try list.entries(at: list.top) {
            switch key {
            case "$objects":
                if case .array(let references) = try list.value(at: reference) { objects = references }
            case "$top": top = try list.entries(at: reference)
            case "$archiver": archiver = try list.value(at: reference).plain?.string
            default: break
            }
        }
        guard archiver == "NSKeyedArchiver", let objects, let top else {
            throw FerryError(.badArchive, "This property list is not a keyed archive.")
        }
        self.list = list
        self.objects = objects
        self.top = top
        copyAllowance = PropertyList.Allowance(min(objects.count, Int.max / 16) * 8 + 1_000)
    }

    /// The archived object: the object under `root`, or the only object.
    ///
    /// - Throws: `.badArchive` if the archive has no such object, or an empty one.
    package var root: ArchivedObject {
        get throws(FerryError) {
            guard let reference = top.first(where: { $0.key == "root" })?.value ?? (top.count == 1 ? top[0].value : nil)
            else { throw FerryError(.badArchive, "The keyed archive has no root object.") }
            guard let root = try object(at: reference, depth: 0) else {
                throw FerryError(.badArchive, "The keyed archive's root object is empty.")
            }
            return root
        }
    }

    /// Returns the object of a reference; a UID is followed once, as archives do; nil is the archive's null object.
    func object(at reference: Int, depth: Int) throws(FerryError) -> ArchivedObject? {
        guard depth <= Self.depthLimit else {
            throw FerryError(
                .badArchive, "The keyed archive's objects are nested more than \(Self.depthLimit) deep.",
                remedy: "Its objects may refer to each other in a circle; use an undamaged copy.")
        }
        let value = try list.value(at: reference)
        guard case .plain(.uid(let position)) = value else {
            return ArchivedObject(archive: self, identity: reference, value: value, depth: depth)
        }
        guard position < objects.count else {
            throw FerryError(.badArchive, "The keyed archive refers to an object that it does not contain.")
        }
        let target = objects[position]
        if try list.isText("$null", at: target) { return nil }
        let object = try list.value(at: target)
        if case .plain(.uid) = object { throw FerryError(.badArchive, "The keyed archive refers to a reference.") }
        return ArchivedObject(archive: self, identity: target, value: object, depth: depth)
    }
}

/// Writes an archive as `NSKeyedArchiver` does; equal calls give equal bytes.
struct KeyedArchiveWriter {
    private enum Object {
        case reserved
        case plain(PropertyTree)
        /// A dictionary: the number of its keys in ``keyLists``, and its values in their order.
        case filled(keys: Int, values: [PropertyTree])
    }

    private var objects: [Object] = [.plain(.string("$null"))]
    /// The sorted keys of dictionaries, shared by the objects of a class: a model has thousands.
    private var keyLists: [[String]] = []
    private var keyListNumbers: [[String]: Int] = [:]
    private var texts: [String: Int] = [:]
    private var classes: [[String]: Int] = [:]

    /// The reference to the archive's null object.
    static let null = PropertyTree.uid(0)

    func encoded(root: PropertyTree) -> [UInt8] {
        // Keys in the order of their code units.
        var writer = PropertyTreeWriter()
        writer.addDictionary(["$archiver", "$objects", "$top", "$version"]) { writer, index in
            switch index {
            case 0: writer.add(.string("NSKeyedArchiver"))
            case 1: writer.addArray(count: objects.count) { add(objects[$1], to: &$0) }
            case 2: writer.add(.dictionary(["root": root]))
            default: writer.add(.integer(100_000))
            }
        }
        return writer.encoded()
    }

    private func add(_ object: Object, to writer: inout PropertyTreeWriter) -> UInt32 {
        switch object {
        case .reserved: writer.add(.null)
        case .plain(let value): writer.add(value)
        case .filled(let keys, let values): writer.addDictionary(keyLists[keys]) { $0.add(values[$1]) }
        }
    }

    // MARK: Objects

    /// Reserves an object, so that the objects of a cycle can refer to it before it is filled.
    mutating func reserve() -> PropertyTree {
        objects.append(.reserved)
        return .uid(objects.count - 1)
    }

    /// - Precondition: The object was reserved and is not filled yet.
    mutating func fill(_ reserved: PropertyTree, _ lineage: [String], _ values: [String: PropertyTree]) {
        guard case .uid(let position) = reserved, case .reserved = objects[position] else {
            preconditionFailure("An object is reserved once and filled once.")
        }
        var values = values
        values["$class"] = classReference(lineage)
        let sorted = values.inOrder { codeUnitOrder($0.key, $1.key) }
        objects[position] = .filled(keys: keyList(sorted.map(\.key)), values: sorted.map(\.value))
    }

    private mutating func keyList(_ keys: [String]) -> Int {
        if let known = keyListNumbers[keys] { return known }
        keyLists.append(keys)
        keyListNumbers[keys] = keyLists.count - 1
        return keyLists.count - 1
    }

    /// Adds an object; `lineage` is the class, then its superclasses.
    mutating func object(_ lineage: [String], _ values: [String: PropertyTree]) -> PropertyTree {
        let object = reserve()
        fill(object, lineage, values)
        return object
    }

    private mutating func classReference(_ lineage: [String]) -> PropertyTree {
        if let known = classes[lineage] { return .uid(known) }
        objects.append(
            .plain(
                .dictionary([
                    "$classname": .string(lineage.first ?? "NSObject"),
                    "$classes": .array(lineage.map { .string($0) }),
                ])))
        classes[lineage] = objects.count - 1
        return .uid(objects.count - 1)
    }

    // MARK: Plain objects

    /// Adds a text, each text once; nil gives ``null``.
    mutating func text(_ text: String?) -> PropertyTree {
        guard let text else { return Self.null }
        if let known = texts[text] { return .uid(known) }
        texts[text] = objects.count
        return plain(.string(text))
    }

    mutating func plain(_ value: PropertyTree) -> PropertyTree {
        objects.append(.plain(value))
        return .uid(objects.count - 1)
    }

    // MARK: Collections

    mutating func array(_ elements: [PropertyTree]) -> PropertyTree {
        object(["NSArray", "NSObject"], ["NS.objects": .array(elements)])
    }

    mutating func set(_ elements: [PropertyTree]) -> PropertyTree {
        object(["NSSet", "NSObject"], ["NS.objects": .array(elements)])
    }

    mutating func dictionary(_ entries: [String: PropertyTree]) -> PropertyTree {
        let sorted = entries.inOrder { codeUnitOrder($0.key, $1.key) }
        let keys = sorted.map { text($0.key) }
        return object(
            ["NSDictionary", "NSObject"], ["NS.keys": .array(keys), "NS.objects": .array(sorted.map(\.value))])
    }

    // MARK: Kept parts

    /// Writes a part of another archive; `known` returns the object of an entity, or of its property, by name.
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
            for (key, value) in values.inOrder(by: { codeUnitOrder($0.key, $1.key) }) {
                written[key] = inner(value, known: known)
            }
            fill(object, lineage, written)
            return object
        }
    }

    /// Writes a value inside an object.
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
