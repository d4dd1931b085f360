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
