internal import FerryBase
internal import FerryExpression
internal import FerryModel
internal import FerrySQLite

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The value of an attribute.
public enum MigrationValue: Sendable, Hashable {
    case null
    case boolean(Bool)
    /// Integer 16, 32 and 64.
    case integer(Int64)
    /// Double, Float and Decimal, which SQLite holds as a double.
    case double(Double)
    /// String and URI.
    case string(String)
    case date(Date)
    case uuid(UUID)
    /// Binary Data, and the stored form of Transformable.
    case data(Data)

    public var isNull: Bool { self == .null }
    public var string: String? { if case .string(let value) = self { value } else { nil } }
    public var data: Data? { if case .data(let value) = self { value } else { nil } }
    public var date: Date? { if case .date(let value) = self { value } else { nil } }
    public var uuid: UUID? { if case .uuid(let value) = self { value } else { nil } }

    /// An integer, or a Boolean as 0 or 1.
    public var integer: Int64? {
        switch self {
        case .integer(let value): value
        case .boolean(let flag): flag ? 1 : 0
        default: nil
        }
    }

    /// A double, or an integer as one.
    public var double: Double? {
        switch self {
        case .double(let value): value
        case .integer(let value): Double(value)
        default: nil
        }
    }

    /// A Boolean, or an integer that is not 0.
    public var boolean: Bool? {
        switch self {
        case .boolean(let flag): flag
        case .integer(let value): value != 0
        default: nil
        }
    }
}

extension MigrationValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByNilLiteral
{
    public init(stringLiteral value: String) { self = .string(value) }
    public init(integerLiteral value: Int64) { self = .integer(value) }
    public init(floatLiteral value: Double) { self = .double(value) }
    public init(booleanLiteral value: Bool) { self = .boolean(value) }
    public init(nilLiteral: ()) { self = .null }
}

extension MigrationValue {
    /// A column's value in its attribute's type, or by its storage class if a column of the type should not hold it.
    init(_ value: Value, of type: AttributeType) {
        switch (type, value) {
        case (.boolean, .integer(let integer)): self = .boolean(integer != 0)
        case (.date, .real(let seconds)): self = .date(Date(timeIntervalSinceReferenceDate: seconds))
        case (.date, .integer(let seconds)): self = .date(Date(timeIntervalSinceReferenceDate: Double(seconds)))
        case (.double, .integer(let integer)), (.float, .integer(let integer)), (.decimal, .integer(let integer)):
            self = .double(Double(integer))
        case (.uuid, .blob(let bytes)) where bytes.count == 16: self = .uuid(UUID(bytes))
        default: self.init(raw: value)
        }
    }

    /// A column's value by its storage class alone.
    init(raw value: Value) {
        switch value {
        case .null: self = .null
        case .integer(let integer): self = .integer(integer)
        case .real(let real): self = .double(real)
        case .text(let text): self = .string(text)
        case .blob(let bytes): self = .data(Data(bytes))
        }
    }

    /// The value in SQLite's form, for any attribute; nil for NULL.
    var plain: DefaultValue? {
        switch self {
        case .null: nil
        case .boolean(let flag): .integer(flag ? 1 : 0)
        case .integer(let integer): .integer(integer)
        case .double(let real): real.isNaN ? nil : .real(real)
        case .string(let text): .text(text)
        case .date(let date): .real(date.timeIntervalSinceReferenceDate)
        case .uuid(let uuid): .blob(uuid.bytes)
        case .data(let data): .blob(Array(data))
        }
    }

    /// The value in the form of an attribute's column; throws ``FerryError`` `.rowFailed`, which does not show the
    /// value.
    func stored(in attribute: Attribute) throws(FerryError) -> Value {
        guard let stored = stored(as: attribute.type, isExternal: attribute.allowsExternalStorage) else {
            throw refusal(by: attribute)
        }
        return stored
    }

    /// The value in the form of a column of a type, or nil if the type cannot hold it.
    func stored(as type: AttributeType, isExternal: Bool) -> Value? {
        let plain = Value(self.plain)
        switch (type, plain) {
        case (_, .null): return .null
        case (.integer16, .integer(let integer)) where Int16(exactly: integer) != nil: return plain
        case (.integer32, .integer(let integer)) where Int32(exactly: integer) != nil: return plain
        case (.integer64, .integer), (.boolean, .integer(0)), (.boolean, .integer(1)): return plain
        case (.double, .integer(let integer)), (.decimal, .integer(let integer)), (.date, .integer(let integer)),
            (.float, .integer(let integer)):
            return .real(Double(integer))
        case (.float, .real(let real)): return .real(Double(Float(real)))
        case (.double, .real), (.decimal, .real), (.date, .real): return plain
        case (.string, .text), (.uri, .text): return plain
        case (.uuid, .blob(let bytes)) where bytes.count == 16: return plain
        case (.binary, .blob(let bytes)), (.transformable, .blob(let bytes)):
            // Contents in the row of an attribute with external storage begin with 01.
            return isExternal ? .blob([1] + bytes) : plain
        default: return nil
        }
    }

    /// The error for a value that an attribute cannot hold; it does not show the value.
    func refusal(by attribute: Attribute) -> FerryError {
        FerryError(
            .rowFailed,
            "A migration policy gave \(attribute.name), which is \(attribute.type.sourceName), \(kind).",
            remedy: "Give it a value of the attribute's type.", place: .init(property: attribute.name))
    }

    private var kind: String {
        switch self {
        case .null: "nil"
        case .boolean: "a Boolean"
        case .integer: "an integer that it cannot hold"
        case .double: "a floating-point number"
        case .string: "a string"
        case .date: "a date"
        case .uuid: "a UUID"
        case .data: "binary data"
        }
    }
}

extension Value {
    init(_ value: FunctionValue) {
        switch value {
        case .null: self = .null
        case .integer(let integer): self = .integer(integer)
        case .real(let real): self = .real(real)
        case .text(let bytes): self = .text(String(decoding: bytes, as: UTF8.self))
        case .blob(let bytes): self = .blob(Array(bytes))
        }
    }
}

extension UUID {
    fileprivate init(_ bytes: [UInt8]) {
        self = bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }

    fileprivate var bytes: [UInt8] { withUnsafeBytes(of: uuid) { Array($0) } }
}
