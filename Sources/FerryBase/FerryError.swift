/// The one error that a user of Ferry meets.
///
/// A message says what failed, on what, and the remedy says what to do next. Neither ever holds a row's values.
public struct FerryError: Error, Sendable {
    /// What kind of failure this is; new codes may be added in any version.
    public var code: Code
    /// What failed, and on what.
    public var message: String
    /// What the reader can do about it; empty where there is nothing to be done.
    public var remedy: Remedy
    /// Where in the migration it happened; filled in on the way up.
    public var place: Place
    /// The error of the layer below.
    public var cause: (any Error)?

    public init(
        _ code: Code, _ message: String, remedy: Remedy = "", place: Place = Place(), cause: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.remedy = remedy
        self.place = place
        self.cause = cause
    }

    /// The same with a remedy that is put together as plain text; a literal is a ``Remedy``.
    @_disfavoredOverload
    public init(
        _ code: Code, _ message: String, remedy: String, place: Place = Place(), cause: (any Error)? = nil
    ) {
        self.init(code, message, remedy: Remedy(remedy), place: place, cause: cause)
    }

    /// Where in a migration an error happened.
    public struct Place: Sendable, Hashable, Codable {
        public var entityMapping: String?
        public var entity: String?
        public var property: String?
        public var primaryKey: Int64?
        /// The path of the mapping model's file.
        public var mappingModel: String?
        /// The paths of the files that hold the models of the step.
        public var models: [String]

        public init(
            entityMapping: String? = nil, entity: String? = nil, property: String? = nil, primaryKey: Int64? = nil,
            mappingModel: String? = nil, models: [String] = []
        ) {
            self.entityMapping = entityMapping
            self.entity = entity
            self.property = property
            self.primaryKey = primaryKey
            self.mappingModel = mappingModel
            self.models = models
        }
    }

    /// What an error means for the store and for the next step of the user.
    public enum Consequence: String, Sendable, Hashable, Codable {
        /// Refused before anything changed.
        case refused
        /// Failed; the store is as before.
        case failed
        /// Something that was checked is damaged or differs.
        case differs
        /// Stopped early; the same call goes on.
        case resumable
        /// The call was wrong.
        case usage
    }
}

extension FerryError: CustomStringConvertible {
    /// The message and the remedy, in the words of the library.
    public var description: String { remedy.isEmpty ? message : "\(message) \(remedy)" }
}

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
