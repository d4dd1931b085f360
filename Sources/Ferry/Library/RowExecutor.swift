/// What carries the rows of an entity mapping; there may be more in a later version.
public struct RowExecutor: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public var description: String { rawValue }

    /// Statements of SQL.
    public static let set = Self(rawValue: "set")
    /// Swift, one row after another.
    public static let row = Self(rawValue: "row")
}
