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

extension FerryError {
    /// What kind of failure an error is: a named value, so that a new code breaks no caller.
    ///
    /// Code that branches on codes takes those that it does not know by their ``consequence``. A name stays what it is.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The name that JSON output and logs have.
        public let name: String
        /// What it means for the store.
        public let consequence: Consequence

        public init(_ name: String, _ consequence: Consequence) {
            self.name = name
            self.consequence = consequence
        }

        public var description: String { name }
    }
}

extension FerryError.Code {
    /// A call that cannot be meant: an argument is missing, out of range, or contradicts another one.
    public static let usage = Self("usage", .usage)

    // MARK: Refusals: nothing was touched

    /// No file or folder stands at a path.
    public static let notFound = Self("notFound", .refused)
    /// A pipe, a device or a folder stands where a file is read or written.
    public static let notARegularFile = Self("notARegularFile", .refused)
    /// The file is no SQLite database: encrypted, empty, or something else.
    public static let notADatabase = Self("notADatabase", .refused)
    /// The database has none of Core Data's tables or metadata, or not in a form that is known.
    public static let notACoreDataStore = Self("notACoreDataStore", .refused)
    /// Another program writes to the store, so that it cannot be held still.
    public static let storeInUse = Self("storeInUse", .refused)
    /// The store, or its folder, cannot be written.
    public static let storeReadOnly = Self("storeReadOnly", .refused)
    /// A program ended in the middle of a transaction on the store; its journal must be rolled back first.
    public static let hotJournal = Self("hotJournal", .refused)
    /// None of the models given has the version hashes of the store.
    public static let unknownVersion = Self("unknownVersion", .refused)
    /// Several versions can be meant.
    public static let ambiguousVersion = Self("ambiguousVersion", .refused)
    /// No model that is given has this name, or the versions that a mapping model was made for.
    public static let noSuchVersion = Self("noSuchVersion", .refused)
    /// No chain of mapping models and inferred mappings leads to the target.
    public static let unreachable = Self("unreachable", .refused)
    /// The target is older than the store's version.
    public static let backward = Self("backward", .refused)
    /// A mapping model names a migration policy, which is code, and none of that name is registered.
    public static let missingPolicy = Self("missingPolicy", .refused)
    /// Something that Ferry cannot do: the message names the entity and the reason.
    public static let unsupported = Self("unsupported", .refused)
    /// A model file cannot be read, or contradicts itself.
    public static let badModel = Self("badModel", .refused)
    /// A mapping model cannot be read, does not fit its models, or leaves something open.
    public static let badMapping = Self("badMapping", .refused)
    /// Two ways lead to the target, and each keeps rows that the other loses.
    public static let ambiguousChain = Self("ambiguousChain", .refused)
    /// The migration would lose something, and losses are refused.
    public static let lossRefused = Self("lossRefused", .refused)
    /// Core Data's name for a table or a column of the target follows from no rule.
    public static let layoutUnknown = Self("layoutUnknown", .refused)
    /// Mapping models lie beside the models and lead along the way, but are not given.
    public static let mappingsNotGiven = Self("mappingsNotGiven", .refused)
    /// A value expression or a predicate cannot be read, or does not fit the model.
    public static let badExpression = Self("badExpression", .refused)
    /// A property list or a keyed archive in a file is damaged or too large.
    public static let badArchive = Self("badArchive", .refused)
    /// A mandatory attribute or relationship would be empty.
    public static let mandatoryValue = Self("mandatoryValue", .refused)
    /// Rows share values that a uniqueness constraint of the target makes unique.
    public static let notUnique = Self("notUnique", .refused)
    /// Rows of the store break its own rules, and it was not said what becomes of them.
    public static let damagedSource = Self("damagedSource", .refused)
    /// Pages of the store's file do not fit together.
    public static let storeDamaged = Self("storeDamaged", .refused)
    /// An object of the store that is not Core Data's cannot be carried over, or one that is to be dropped is not there.
    public static let unknownObject = Self("unknownObject", .refused)
    /// A volume has not the room that the run can need.
    public static let diskFull = Self("diskFull", .refused)
    /// Another program changed the store since the run began.
    public static let sourceChanged = Self("sourceChanged", .refused)
    /// The migrated store was changed, or taken away, after it was verified.
    public static let destinationChanged = Self("destinationChanged", .refused)
    /// The run's folder was moved while a journal in it was open.
    public static let runMoved = Self("runMoved", .refused)
    /// An unfinished run is not the one that is asked for, or cannot be read.
    public static let runDiffers = Self("runDiffers", .refused)
    /// Another process works on this store.
    public static let runActive = Self("runActive", .refused)
    /// A file stands where one is to be written.
    public static let outputExists = Self("outputExists", .refused)
    /// The snapshot that is named cannot be restored.
    public static let badSnapshot = Self("badSnapshot", .refused)
    /// There is no such snapshot.
    public static let noSnapshot = Self("noSnapshot", .refused)
    /// The log of runs cannot be read where it decides what may be removed.
    public static let badLog = Self("badLog", .refused)

    // MARK: Failures: the store is as before

    /// SQLite reported an error.
    public static let databaseFailed = Self("databaseFailed", .failed)
    /// The system reported an error on a file.
    public static let fileFailed = Self("fileFailed", .failed)
    /// A snapshot could not be made, or does not decode to what the store holds.
    public static let snapshotFailed = Self("snapshotFailed", .failed)
    /// A row cannot be migrated: an expression or a policy failed on it, or it breaks a constraint.
    public static let rowFailed = Self("rowFailed", .failed)
    /// The keys of an entity's table are at the end of all keys.
    public static let noKeysLeft = Self("noKeysLeft", .failed)
    /// Something that cannot happen did; please report it.
    public static let internalError = Self("internalError", .failed)
    /// A value that must be whole in memory takes more of it than the memory limit allows.
    public static let valueTooLarge = Self("valueTooLarge", .failed)
    /// The system has no memory left.
    public static let outOfMemory = Self("outOfMemory", .failed)
    /// A hook between two steps has thrown an error, or has not left its store as it must be.
    public static let stageFailed = Self("stageFailed", .failed)

    // MARK: What was checked does not hold

    /// The migrated store is not what the mapping models say; the store is as before.
    public static let verificationFailed = Self("verificationFailed", .differs)
    /// A snapshot is not what it was when it was taken.
    public static let snapshotDamaged = Self("snapshotDamaged", .differs)

    // MARK: Stopped early: the next call goes on

    /// The task was cancelled, or the run was told to stop.
    public static let interrupted = Self("interrupted", .resumable)
    /// The budget of the call is spent.
    public static let budgetSpent = Self("budgetSpent", .resumable)
    /// Everything is done but the swap, as was asked for.
    public static let swapHeld = Self("swapHeld", .resumable)
    /// An app has the store open, so that the migrated one cannot take its place yet.
    public static let storeInUseAtSwap = Self("storeInUseAtSwap", .resumable)

    /// Every code of this version.
    public static let all: [Self] = [
        usage,
        notFound, notARegularFile, notADatabase, notACoreDataStore, storeInUse, storeReadOnly, hotJournal,
        unknownVersion, ambiguousVersion, noSuchVersion, unreachable, backward, missingPolicy, unsupported, badModel,
        badMapping, ambiguousChain, lossRefused, layoutUnknown, mappingsNotGiven, badExpression, badArchive,
        mandatoryValue, notUnique, damagedSource, storeDamaged, unknownObject, diskFull, sourceChanged,
        destinationChanged, runMoved, runDiffers, runActive, outputExists, badSnapshot, noSnapshot, badLog,
        databaseFailed, fileFailed, snapshotFailed, rowFailed, stageFailed, noKeysLeft, internalError, valueTooLarge,
        outOfMemory,
        verificationFailed, snapshotDamaged,
        interrupted, budgetSpent, swapHeld, storeInUseAtSwap,
    ]
}
