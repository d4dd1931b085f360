/// A decoded value in the plain evaluator: what one attribute, constant or JSON element is worth.
///
/// Text is kept as its UTF-8 bytes, because two texts that Swift calls equal may differ in bytes, and a migration must
/// not change one into the other.
package enum PlainValue: Sendable, Hashable {
    case null
    case boolean(Bool)
    case integer(Int64)
    case real(Double)
    case text([UInt8])
    case blob([UInt8])
    case object(PlainObject)
    case json(PlainJSON)

    package static func string(_ text: String) -> PlainValue { .text(Array(text.utf8)) }

    package var isNull: Bool {
        switch self {
        case .null, .json(.null): true
        default: false
        }
    }

    /// The same value with JSON scalars as what they stand for, and JSON containers as their text.
    package var plain: PlainValue {
        guard case .json(let element) = self else { return self }
        switch element {
        case .null: return .null
        case .boolean(let value): return .boolean(value)
        case .integer(let value): return .integer(value)
        case .real(let value): return .real(value)
        case .string(let bytes): return .text(bytes)
        case .array, .object: return .text(element.text)
        }
    }
}

/// An object of the source: its entity and its `Z_PK`.
package struct PlainObject: Sendable, Hashable {
    package var entity: String
    package var key: Int64

    package init(entity: String, key: Int64) {
        self.entity = entity
        self.key = key
    }
}

/// Where the plain evaluator finds objects: a store, or a table of values in a test.
package protocol PlainObjectSource {
    /// The value of a stored attribute, own or inherited, or of a composite's element (`composite.element`).
    func value(of attribute: String, in object: PlainObject) throws -> PlainValue
    /// Whether the name is that of a composite, whose elements have values.
    func isComposite(_ name: String, of entity: String) -> Bool
    /// Whether the entity has a relationship of this name.
    func isRelationship(_ name: String, of entity: String) -> Bool
    /// Whether a relationship may lead to several objects.
    func isToMany(_ name: String, of entity: String) -> Bool
    /// The entity that a relationship leads to.
    func destination(of relationship: String, in entity: String) -> String?
    /// Calls the body with each object of exactly an entity, in the order of the keys.
    func eachObject(of entity: String, _ body: (PlainObject) throws -> Void) throws
    /// Calls the body with each related object, in the order of the order column, else of the key.
    ///
    /// The body may walk further, along the same relationship too.
    func eachRelated(_ relationship: String, of object: PlainObject, _ body: (PlainObject) throws -> Void) throws
}
