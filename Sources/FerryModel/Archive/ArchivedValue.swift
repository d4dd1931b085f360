internal import FerryBase

/// A part of an archived model that is kept as it is, because nothing but the archive needs it: predicates of
/// validation, requests of fetched properties, default values that are objects.
package indirect enum ArchivedValue: Sendable, Hashable {
    case null
    /// A number, a text or bytes that is an object of its own.
    case plain(PropertyTree)
    /// A number or bytes that stands in the object itself.
    case inline(PropertyTree)
    /// A list within an object, as its own class archives it.
    case list([ArchivedValue])
    case object(classes: [String], values: [String: ArchivedValue])
    /// An entity of the same model.
    case entity(String)
    /// A property of an entity of the same model.
    case property(String, of: String)
}

extension ArchivedObject {
    /// The object with everything that it refers to, entities by their names.
    ///
    /// - Throws: `.badArchive` when the archive is damaged there, or the object leads back to itself.
    var kept: ArchivedValue {
        get throws(FerryError) {
            try archive.countKept()
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

    /// The values of the object itself, each as it is ``kept``.
    var keptValues: [String: ArchivedValue] {
        get throws(FerryError) {
            guard case .dictionary(let keys, let references) = value else { return [:] }
            var values: [String: ArchivedValue] = [:]
            for (key, reference) in zip(keys, references) {
                guard case .string(let name) = try archive.list.value(at: key), name != "$class" else { continue }
                let part = try archive.object(at: reference, depth: depth + 1)?.kept ?? .null
                values[name] = part
                if case .plain(let value) = part {
                    // Archives refer to objects by UID only.
                    if case .uid = try archive.list.value(at: reference) { continue }
                    values[name] = .inline(value)
                }
            }
            return values
        }
    }

    private var plain: ArchivedValue {
        get throws(FerryError) {
            switch value {
            case .null: return .null
            case .bool(let flag): return .plain(.bool(flag))
            case .integer(let number): return .plain(.integer(number))
            case .real(let number): return .plain(.real(number))
            case .date(let seconds): return .plain(.date(seconds))
            case .data(let bytes): return .plain(.data(bytes))
            case .string(let text): return .plain(.string(text))
            case .array(let references), .set(let references):
                var elements: [ArchivedValue] = []
                for reference in references {
                    elements.append(try archive.object(at: reference, depth: depth + 1)?.kept ?? .null)
                }
                return .list(elements)
            case .uid, .dictionary: throw FerryError(.badArchive, "The keyed archive refers to a reference.")
            }
        }
    }
}
