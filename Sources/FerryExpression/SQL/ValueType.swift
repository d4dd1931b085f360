package import FerryModel

/// What a translated expression yields.
package enum ValueType: Sendable, Hashable {
    /// Always nil.
    case null
    /// What a column of an attribute of this type holds: the type's own storage, or nil.
    case attribute(AttributeType)
    /// The key of an object of this entity, or nil.
    case object(entity: String)
    /// A value of JSON: its type is known only row by row.
    case dynamic
}

extension ValueType {
    /// What messages call a value of the type.
    var title: String {
        switch self {
        case .null: "nil"
        case .attribute(let type): type.sourceName
        case .object(let entity): "an object of \(entity)"
        case .dynamic: "a value of JSON"
        }
    }

    var isText: Bool { self == .attribute(.string) || self == .attribute(.uri) }

    /// Whether comparing two such values is comparing numbers.
    var isNumber: Bool { if case .attribute(let type) = self { type.isNumeric || type == .date } else { false } }

    var isInteger: Bool {
        if case .attribute(let type) = self { type.isInteger || type == .boolean } else { false }
    }

    /// Whether such a value is always stored as a real: what SQL's own arithmetic may be used on.
    var isReal: Bool { self == .attribute(.double) || self == .attribute(.float) }
}

extension Expression.Constant {
    var type: ValueType {
        switch self {
        case .null: .null
        case .boolean: .attribute(.boolean)
        case .integer: .attribute(.integer64)
        case .double: .attribute(.double)
        case .string: .attribute(.string)
        }
    }
}
