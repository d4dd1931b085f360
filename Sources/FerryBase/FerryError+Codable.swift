/// An error as text, for reports that are kept: its cause stays behind as what it said.
extension FerryError: Codable {
    /// The cause of an error that was written down and read again.
    public struct RecordedCause: Error, Sendable, Hashable, CustomStringConvertible {
        /// What the cause said of itself.
        public var description: String
    }

    private enum Key: String, CodingKey {
        case code, consequence, message, remedy, place, cause, causeText
    }

    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        let code = Code(
            try values.decode(String.self, forKey: .code), try values.decode(Consequence.self, forKey: .consequence))
        var cause: (any Error)?
        if let text = try values.decodeIfPresent(String.self, forKey: .causeText) {
            cause = RecordedCause(description: text)
        } else if values.contains(.cause) {
            cause = try FerryError(from: values.superDecoder(forKey: .cause))
        }
        self.init(
            code, try values.decode(String.self, forKey: .message),
            remedy: try values.decode(Remedy.self, forKey: .remedy),
            place: try values.decode(Place.self, forKey: .place),
            cause: cause)
    }

    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Key.self)
        try values.encode(code.name, forKey: .code)
        try values.encode(code.consequence, forKey: .consequence)
        try values.encode(message, forKey: .message)
        try values.encode(remedy, forKey: .remedy)
        try values.encode(place, forKey: .place)
        switch cause {
        case nil: break
        case let error as FerryError: try error.encode(to: values.superEncoder(forKey: .cause))
        case let error?: try values.encode("\(error)", forKey: .causeText)
        }
    }
}
