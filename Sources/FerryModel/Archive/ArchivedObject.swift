package import FerryBase

/// An object of a keyed archive: a plain value, a collection, or an object with a class and keyed values.
///
/// Each read happens on demand and throws `.badArchive` if the archive is damaged at that place. A value of another
/// type than the caller asks for is nil, never an error, so that a caller can try one form after another.
package struct ArchivedObject: Sendable {
    let archive: KeyedArchive
    /// The number of the object in its archive, equal for each reference to the object.
    let identity: Int
    /// The value as the property list holds it; collections of the archive are dictionaries there.
    package let value: PropertyListValue
    let depth: Int

    // MARK: Class

    /// The class under which the object was archived; nil for plain values.
    package var className: String? {
        get throws(FerryError) { try classNames.first }
    }

    /// The class and its superclasses, the class first; empty for plain values.
    package var classNames: [String] {
        get throws(FerryError) {
            guard let classReference = try reference(of: "$class"),
                let description = try archive.object(at: classReference, depth: 0)
            else { return [] }
            var names: [String] = []
            if let name = try description.text("$classname") { names.append(name) }
            if let listed = try description.reference(of: "$classes"),
                case .array(let references) = try archive.list.value(at: listed)
            {
                for reference in references {
                    if let name = try archive.list.value(at: reference).plain?.string, !names.contains(name) {
                        names.append(name)
                    }
                }
            }
            return names
        }
    }

    /// Whether the object is of a class or of a subclass of it.
    package func isKind(of name: String) throws(FerryError) -> Bool { try classNames.contains(name) }

    // MARK: Keyed values

    /// Returns the object under a key; nil if the key is missing or its value is nil.
    package func object(_ key: StaticString) throws(FerryError) -> ArchivedObject? {
        guard let reference = try reference(of: key) else { return nil }
        return try archive.object(at: reference, depth: depth + 1)
    }

    package func text(_ key: StaticString) throws(FerryError) -> String? { try object(key)?.text }

    package func integer(_ key: StaticString) throws(FerryError) -> Int64? { try object(key)?.integer }

    /// Returns the flag under a key; a missing key means false, because archives leave false values out.
    package func flag(_ key: StaticString) throws(FerryError) -> Bool { try object(key)?.flag ?? false }

    /// Returns the elements of the collection under a key; nil if the key is missing.
    package func elements(_ key: StaticString) throws(FerryError) -> [ArchivedObject]? { try object(key)?.elements }

    private func reference(of key: StaticString) throws(FerryError) -> Int? {
        guard case .dictionary(let keys, let values) = value else { return nil }
        for (position, reference) in keys.enumerated() where try archive.list.isText(key, at: reference) {
            return values[position]
        }
        return nil
    }

    // MARK: Plain values

    /// The text of a plain string or of an archived (mutable) string.
    package var text: String? {
        get throws(FerryError) {
            switch value {
            case .plain(.string(let text)): return text
            case .dictionary:
                if let text = try object("NS.string")?.text { return text }
                guard let utf8 = try object("NS.bytes")?.value.plain?.data, try isKind(of: "NSString") else {
                    return nil
                }
                return String(decoding: utf8, as: UTF8.self)
            default: return nil
            }
        }
    }

    /// The whole number, also of a real without a fraction.
    package var integer: Int64? {
        switch value {
        case .plain(.integer(let number)): number
        case .plain(.bool(let flag)): flag ? 1 : 0
        case .plain(.real(let number)): Int64(exactly: number)
        default: nil
        }
    }

    package var real: Double? {
        switch value {
        case .plain(.integer(let number)): Double(number)
        case .plain(.bool(let flag)): flag ? 1 : 0
        case .plain(.real(let number)): number
        default: nil
        }
    }

    /// The Boolean; of a number, whether the number is not zero.
    package var flag: Bool? {
        if case .plain(.bool(let flag)) = value { return flag }
        return real.map { $0 != 0 }
    }

    /// The plain bytes, or the bytes of an archived (mutable) data.
    package var data: [UInt8]? {
        get throws(FerryError) {
            if let bytes = value.plain?.data { return bytes }
            for key: StaticString in ["NS.data", "NS.bytes"] {
                if let bytes = try object(key)?.value.plain?.data { return bytes }
            }
            return nil
        }
    }

    /// The seconds of a date since 2001-01-01 UTC.
    package var date: Double? {
        get throws(FerryError) {
            if case .plain(.date(let seconds)) = value { return seconds }
            return try object("NS.time")?.real
        }
    }

    /// Whether the object is an archived `NSNull`.
    package var isNull: Bool {
        get throws(FerryError) {
            if case .plain(.null) = value { return true }
            return try className == "NSNull"
        }
    }

    // MARK: Collections

    /// The elements of an array, a set or an ordered set, without nil elements; nil for any other object.
    package var elements: [ArchivedObject]? {
        get throws(FerryError) {
            switch value {
            case .array(let references), .set(let references): return try objects(references)
            case .dictionary:
                if try reference(of: "NS.keys") != nil { return nil }
                if let references = try references(of: "NS.objects") { return try objects(references) }
                return try numbered(prefix: "NS.object.")
            default: return nil
            }
        }
    }

    /// The entries of a dictionary, in the order of the archive; nil for any other object.
    ///
    /// The property reads both archived forms: `NS.keys` with `NS.objects`, and the form of dictionaries with known
    /// keys (`values` beside `searchMapping`), which a store's model cache uses. Entries without a value are left out.
    package var entries: [(key: ArchivedObject, value: ArchivedObject)]? {
        get throws(FerryError) {
            if let keys = try references(of: "NS.keys"), let values = try references(of: "NS.objects") {
                return try pairs(keys, values)
            }
            if let mapping = try object("searchMapping"), let keys = try mapping.knownReferences(of: "keys"),
                let values = try knownReferences(of: "values")
            {
                // The slots of all keys without a value hold the same object.
                let empty = try object("emptyToken")?.identity
                return try pairs(keys, values).filter { $0.value.identity != empty }
            }
            guard let keys = try numbered(prefix: "NS.key."), let values = try numbered(prefix: "NS.object."),
                keys.count == values.count
            else { return nil }
            return zip(keys, values).map { (key: $0, value: $1) }
        }
    }

    /// The entries of a dictionary whose keys are texts, without other entries; nil for any other object.
    package var entriesByText: [(key: String, value: ArchivedObject)]? {
        get throws(FerryError) {
            guard let entries = try entries else { return nil }
            var named: [(key: String, value: ArchivedObject)] = []
            for (key, value) in entries {
                if let name = try key.text { named.append((name, value)) }
            }
            return named
        }
    }

    private func pairs(
        _ keys: PropertyListValue.References, _ values: PropertyListValue.References
    ) throws(FerryError) -> [(key: ArchivedObject, value: ArchivedObject)] {
        guard keys.count == values.count else {
            throw FerryError(.badArchive, "An archived dictionary has \(keys.count) keys for \(values.count) values.")
        }
        var entries: [(key: ArchivedObject, value: ArchivedObject)] = []
        for (key, value) in zip(keys, values) {
            if let key = try archive.object(at: key, depth: depth + 1),
                let value = try archive.object(at: value, depth: depth + 1)
            {
                entries.append((key, value))
            }
        }
        return entries
    }

    private func objects(_ references: some Sequence<Int>) throws(FerryError) -> [ArchivedObject] {
        var objects: [ArchivedObject] = []
        for reference in references {
            if let object = try archive.object(at: reference, depth: depth + 1) { objects.append(object) }
        }
        return objects
    }

    private func references(of key: StaticString) throws(FerryError) -> PropertyListValue.References? {
        guard let reference = try reference(of: key), case .array(let list) = try archive.list.value(at: reference)
        else { return nil }
        return list
    }

    /// Returns the references of the array under a key, plain or archived as an object.
    private func knownReferences(of key: StaticString) throws(FerryError) -> PropertyListValue.References? {
        if let plain = try references(of: key) { return plain }
        return try object(key)?.references(of: "NS.objects")
    }

    /// Returns elements with one key each (`NS.object.0`, `NS.object.1`, …), the form of other collection classes.
    private func numbered(prefix: String) throws(FerryError) -> [ArchivedObject]? {
        guard case .dictionary(let keys, let values) = value else { return nil }
        var found: [Int: Int] = [:]
        for (position, key) in keys.enumerated() {
            if let name = try archive.list.value(at: key).plain?.string, name.hasPrefix(prefix),
                let number = Int(name.dropFirst(prefix.count))
            {
                found[number] = values[position]
            }
        }
        guard !found.isEmpty else { return nil }
        return try objects(found.inOrder { $0.key < $1.key }.map(\.value))
    }
}

/// A part of an archived model in its archived form, only to be written to an archive again: predicates of validation,
/// requests of fetched properties, default values that are objects.
package indirect enum ArchivedValue: Sendable, Hashable {
    case null
    /// A number, a text or bytes, archived as an object.
    case plain(PropertyTree)
    /// A number or bytes, stored in the owning object itself.
    case inline(PropertyTree)
    /// A list inside an object, archived by the object's class.
    case list([ArchivedValue])
    case object(classes: [String], values: [String: ArchivedValue])
    /// An entity of the same model.
    case entity(String)
    /// A property of an entity of the same model.
    case property(String, of: String)
}

extension ArchivedObject {
    /// The object and every object that it refers to, entities by their names.
    ///
    /// - Throws: `.badArchive` if the archive is damaged there, or the object refers to itself through others.
    var kept: ArchivedValue {
        get throws(FerryError) {
            try archive.copyAllowance.spend(1)
            guard case .dictionary = value else { return try plain }
            let classes = try classNames
            if classes.contains("NSEntityDescription"), let name = try text("NSEntityName") { return .entity(name) }
            if classes.contains("NSPropertyDescription"), let name = try text("NSPropertyName"),
                let entity = try object("NSEntity")?.text("NSEntityName")
            {
                return .property(name, of: entity)
            }
            return .object(classes: classes, values: try keptValues)
        }
    }

    /// The values of the object itself, each in its ``kept`` form.
    var keptValues: [String: ArchivedValue] {
        get throws(FerryError) {
            guard case .dictionary(let keys, let references) = value else { return [:] }
            var values: [String: ArchivedValue] = [:]
            for (key, reference) in zip(keys, references) {
                guard let name = try archive.list.value(at: key).plain?.string, name != "$class" else { continue }
                let part = try archive.object(at: reference, depth: depth + 1)?.kept ?? .null
                values[name] = part
                if case .plain(let value) = part {
                    // Archives refer to objects by UID only.
                    if case .plain(.uid) = try archive.list.value(at: reference) { continue }
                    values[name] = .inline(value)
                }
            }
            return values
        }
    }

    private var plain: ArchivedValue {
        get throws(FerryError) {
            switch value {
            case .plain(.null): return .null
            case .plain(.uid), .dictionary:
                throw FerryError(.badArchive, "The keyed archive refers to a reference.")
            case .plain(let value): return .plain(value)
            case .array(let references), .set(let references):
                return .list(
                    try references.map { reference throws(FerryError) in
                        try archive.object(at: reference, depth: depth + 1)?.kept ?? .null
                    })
            }
        }
    }
}
