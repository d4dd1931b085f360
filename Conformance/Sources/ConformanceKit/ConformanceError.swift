/// The reason why a case cannot run; a difference is a ``Finding`` instead.
public struct ConformanceError: Error, CustomStringConvertible {
    public let description: String

    public init(_ description: String) { self.description = description }
}
