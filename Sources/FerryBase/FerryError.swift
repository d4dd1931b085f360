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
