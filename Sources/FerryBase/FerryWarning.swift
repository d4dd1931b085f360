/// What should be known of a migration that runs all the same.
///
/// ``code`` and ``subject`` are for programs, ``message`` is for people. None of them ever holds a row's values.
public struct FerryWarning: Sendable, Hashable {
    /// What kind of warning this is; new codes may be added in any version.
    public var code: Code
    /// What it is about.
    public var subject: Subject
    /// What is to be known, as a sentence or two.
    public var message: String

    public init(_ code: Code, _ message: String, about subject: Subject = Subject()) {
        self.code = code
        self.message = message
        self.subject = subject
    }

    /// What a warning is about: as much of it as applies.
    public struct Subject: Sendable, Hashable, Codable {
        /// An entity of the store's version, or of the one that a step leads to where only that one has it.
        public var entity: String?
        /// An attribute or a relationship of the entity.
        public var property: String?
        public var entityMapping: String?
        /// A table or another object of the store's database; a column as `TABLE.COLUMN`.
        public var object: String?
        /// A file or a folder.
        public var path: String?

        public init(
            entity: String? = nil, property: String? = nil, entityMapping: String? = nil, object: String? = nil,
            path: String? = nil
        ) {
            self.entity = entity
            self.property = property
            self.entityMapping = entityMapping
            self.object = object
            self.path = path
        }
    }
}

extension FerryWarning: CustomStringConvertible {
    public var description: String { message }
}

/// An object of code, subject and message; the text alone, as earlier versions wrote warnings, is read as a message.
extension FerryWarning: Codable {
    private enum Key: String, CodingKey {
        case code, subject, message
    }

    public init(from decoder: any Decoder) throws {
        let values: KeyedDecodingContainer<Key>
        do {
            values = try decoder.container(keyedBy: Key.self)
        } catch DecodingError.typeMismatch {
            self.init(.unnamed, try decoder.singleValueContainer().decode(String.self))
            return
        }
        self.init(
            try values.decode(Code.self, forKey: .code), try values.decode(String.self, forKey: .message),
            about: try values.decode(Subject.self, forKey: .subject))
    }

    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Key.self)
        try values.encode(code, forKey: .code)
        try values.encode(subject, forKey: .subject)
        try values.encode(message, forKey: .message)
    }
}
