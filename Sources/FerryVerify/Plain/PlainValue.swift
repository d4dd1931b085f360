package import FerryModel
internal import Foundation

/// A decoded value of an attribute, constant or JSON element.
///
/// Text is kept as UTF-8 bytes, because Swift finds texts with different bytes equal, and a migration must not change
/// one into the other.
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

    /// NaN is nil, as in a store.
    static func number(_ value: Double) -> PlainValue { value.isNaN ? .null : .real(value) }

    package var isNull: Bool {
        switch self {
        case .null, .json(.null): true
        default: false
        }
    }

    /// The value with JSON scalars decoded, and JSON containers as their text.
    package var plain: PlainValue {
        guard case .json(let element) = self else { return self }
        switch element {
        case .null: return .null
        case .boolean(let value): return .boolean(value)
        case .integer(let value): return .integer(value)
        case .real(let value): return .real(value)
        case .string(let bytes): return .text(Array(bytes))
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

/// What a name of an entity's property stands for.
package enum PlainProperty: Sendable {
    case relationship(destination: String, isToMany: Bool)
    /// A composite, whose elements have values.
    case composite
    case other
}

/// The source of the plain evaluator's objects: a store, or a table of values in a test.
package protocol PlainObjectSource {
    /// The value of a stored attribute, own or inherited, or of a composite's element (`composite.element`).
    func value(of attribute: String, in object: PlainObject) throws -> PlainValue
    /// The text or data of a stored attribute, if it is too long to be read as one value; else nil.
    func longText(of attribute: String, in object: PlainObject) throws -> PlainText?
    func property(_ name: String, of entity: String) -> PlainProperty
    /// Calls the body with each object of exactly this entity, in key order.
    func eachObject(of entity: String, _ body: (PlainObject) throws -> Void) throws
    /// Calls the body with the objects of an entity that can meet an equality, and perhaps with others, in key order.
    ///
    /// - Returns: False if the source has no look-up; the body was not called then.
    func eachObject(
        of entity: String, meeting equality: PlainEvaluator.Equality, _ body: (PlainObject) throws -> Void
    ) throws -> Bool
    /// Calls the body with each related object, in the order of the order column, or else of the key.
    ///
    /// The body may follow relationships, including this one.
    func eachRelated(_ relationship: String, of object: PlainObject, _ body: (PlainObject) throws -> Void) throws
}

/// Converts values to an attribute type's storage; a value that does not fit is a failure, never another value.
package enum PlainConversion {
    /// - Throws: ``PlainFailure``.
    package static func stored(_ value: PlainValue, as type: AttributeType) throws -> PlainValue {
        let value = value.plain
        if value.isNull { return .null }
        switch type {
        case .integer16: return .integer(try integer(value, in: Int64(Int16.min)...Int64(Int16.max)))
        case .integer32: return .integer(try integer(value, in: Int64(Int32.min)...Int64(Int32.max)))
        case .integer64: return .integer(try integer(value, in: .min ... .max))
        case .double, .decimal: return .real(try number(value).real)
        case .float:
            let real = try number(value).real
            let float = Float(real)
            guard float.isFinite || !real.isFinite else { throw PlainFailure("the value exceeds a Float") }
            return .real(Double(float))
        case .date:
            if case .text = value { throw PlainFailure("not a date") }
            return .real(try number(value).real)
        case .boolean: return .integer(try boolean(value) ? 1 : 0)
        case .string, .uri: return .text(try text(value))
        case .uuid: return .blob(try uuid(value))
        case .binary, .transformable:
            guard case .blob = value else { throw PlainFailure("the value is not data") }
            return value
        case .undefined, .objectID, .composite: throw PlainFailure("the type stores no values")
        }
    }

    private static func integer(_ value: PlainValue, in range: ClosedRange<Int64>) throws -> Int64 {
        let integer: Int64
        switch try number(value) {
        case .integer(let whole): integer = whole
        case .real(let real):
            guard let whole = Int64(exactly: real.rounded(.towardZero)) else {
                throw PlainFailure("the value exceeds an integer")
            }
            integer = whole
        }
        guard range.contains(integer) else { throw PlainFailure("the value exceeds the integer type") }
        return integer
    }

    /// The number of a value, or of a text that is a number as a whole.
    private static func number(_ value: PlainValue) throws -> PlainNumber {
        if let number = PlainNumber(value) { return number }
        if case .text(let bytes) = value, bytes.allSatisfy({ "0123456789+-.eE".utf8.contains($0) }) {
            let text = String(decoding: bytes, as: UTF8.self)
            if let integer = Int64(text) { return .integer(integer) }
            if let real = Double(text), real.isFinite { return .real(real) }
        }
        throw PlainFailure("the value is not a number")
    }

    private static func boolean(_ value: PlainValue) throws -> Bool {
        if case .text(let bytes) = value {
            switch String(decoding: bytes, as: UTF8.self).lowercased() {
            case "true", "yes", "1": return true
            case "false", "no", "0": return false
            default: throw PlainFailure("neither true nor false")
            }
        }
        guard let number = PlainNumber(value) else { throw PlainFailure("the value is not a Boolean") }
        return number.real != 0
    }

    private static func text(_ value: PlainValue) throws -> [UInt8] {
        switch value {
        case .text(let bytes): return bytes
        case .boolean(let flag): return Array((flag ? "1" : "0").utf8)
        case .integer(let integer): return Array(String(integer).utf8)
        case .real(let real):
            let text = real.description
            return Array((text.hasSuffix(".0") ? String(text.dropLast(2)) : text).utf8)
        case .blob(let bytes) where bytes.count == 16:
            // By hand, for it is made for each value: `uuidString` doubles the time of such a column.
            var text: [UInt8] = []
            text.reserveCapacity(36)
            for (place, byte) in bytes.enumerated() {
                if place == 4 || place == 6 || place == 8 || place == 10 { text.append(UInt8(ascii: "-")) }
                text.append(hexadecimal(byte >> 4))
                text.append(hexadecimal(byte & 15))
            }
            return text
        default: throw PlainFailure("the value is not text")
        }
    }

    /// The digit of a number below 16.
    private static func hexadecimal(_ number: UInt8) -> UInt8 {
        number < 10 ? UInt8(ascii: "0") + number : UInt8(ascii: "A") + number - 10
    }

    private static func uuid(_ value: PlainValue) throws -> [UInt8] {
        switch value {
        case .blob(let bytes): return bytes
        case .text(let bytes):
            guard bytes.count == 36, let uuid = UUID(uuidString: String(decoding: bytes, as: UTF8.self))?.uuid else {
                throw PlainFailure("not a UUID")
            }
            return withUnsafeBytes(of: uuid) { Array($0) }
        default: throw PlainFailure("the value is not a UUID")
        }
    }
}
