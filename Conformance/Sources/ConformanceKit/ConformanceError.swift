/// Why a case could not be tried; what differs is no error but a ``Finding``.
public struct ConformanceError: Error, CustomStringConvertible {
    public let description: String

    public init(_ description: String) { self.description = description }
}
