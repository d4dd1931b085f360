/// The error that every throwing call of Ferry throws.
///
/// The message names the failure and its subject, the remedy names the next step. Neither contains values of rows.
public struct FerryError: Error, Sendable {
    /// The kind of failure; any version may add codes.
    public var code: Code
    /// The failure and its subject, as text.
    public var message: String
    /// The next step for the reader; empty if no step helps.
    public var remedy: Remedy
    /// The entity, property, entity mapping and key of the failure; callers add the parts that they know.
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

    /// Makes an error with a remedy from plain text; a string literal is a ``Remedy``.
    @_disfavoredOverload
    public init(
        _ code: Code, _ message: String, remedy: String, place: Place = Place(), cause: (any Error)? = nil
    ) {
        self.init(code, message, remedy: Remedy(remedy), place: place, cause: cause)
    }

    /// The place of an error in a migration.
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

    /// The effect of an error on the store and on the next call.
    public enum Consequence: String, Sendable, Hashable, Codable {
        /// Ferry refused the call before it changed anything.
        case refused
        /// The run failed; the store is unchanged.
        case failed
        /// A check found damage or a difference.
        case differs
        /// The run stopped early; the same call resumes it.
        case resumable
        /// The arguments of the call are wrong.
        case usage
    }
}

extension FerryError: CustomStringConvertible {
    /// The message and the remedy, with settings and calls as Swift code.
    public var description: String { remedy.isEmpty ? message : "\(message) \(remedy)" }
}

/// An error as JSON, for stored reports: a cause that is not a ``FerryError`` is stored as its description.
extension FerryError: Codable {
    /// The cause of a decoded error.
    public struct RecordedCause: Error, Sendable, Hashable, CustomStringConvertible {
        /// The description of the original cause.
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
    /// The kind of failure: a named value and no enumeration, so that a new code breaks no caller.
    ///
    /// Callers handle unknown codes by their ``consequence``. A name never changes.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The name in JSON output and logs.
        public let name: String
        /// The effect on the store.
        public let consequence: Consequence

        public init(_ name: String, _ consequence: Consequence) {
            self.name = name
            self.consequence = consequence
        }

        public var description: String { name }
    }
}

extension FerryError.Code {
    /// An argument is missing, out of range, or contradicts another argument.
    public static let usage = Self("usage", .usage)

    // MARK: Refusals: nothing was changed

    /// No file or folder exists at the path.
    public static let notFound = Self("notFound", .refused)
    /// The path leads to a pipe, a device or a folder, not to a regular file.
    public static let notARegularFile = Self("notARegularFile", .refused)
    /// The file is not an SQLite database: it is encrypted, empty, or of another format.
    public static let notADatabase = Self("notADatabase", .refused)
    /// The database has no Core Data tables or metadata, or has them in an unknown form.
    public static let notACoreDataStore = Self("notACoreDataStore", .refused)
    /// Another program is writing to the store, so Ferry cannot lock it.
    public static let storeInUse = Self("storeInUse", .refused)
    /// The store or its folder is not writable.
    public static let storeReadOnly = Self("storeReadOnly", .refused)
    /// A program was interrupted while writing to the store; its hot journal must be rolled back first.
    public static let hotJournal = Self("hotJournal", .refused)
    /// No given model has the version hashes of the store.
    public static let unknownVersion = Self("unknownVersion", .refused)
    /// Several model versions match.
    public static let ambiguousVersion = Self("ambiguousVersion", .refused)
    /// No given model has this name, or the version hashes in a mapping model.
    public static let noSuchVersion = Self("noSuchVersion", .refused)
    /// No chain of mapping models and inferred mappings leads to the target.
    public static let unreachable = Self("unreachable", .refused)
    /// The target is older than the store's version.
    public static let backward = Self("backward", .refused)
    /// A mapping model names a migration policy, but the program has not registered one with this name.
    public static let missingPolicy = Self("missingPolicy", .refused)
    /// Ferry does not support this case: the message names the entity and the reason.
    public static let unsupported = Self("unsupported", .refused)
    /// A model file cannot be read, contradicts itself, or has a name that Core Data does not allow.
    public static let badModel = Self("badModel", .refused)
    /// A mapping model cannot be read, does not fit its models, or is incomplete or ambiguous.
    public static let badMapping = Self("badMapping", .refused)
    /// Two chains lead to the target, and each keeps data that the other loses.
    public static let ambiguousChain = Self("ambiguousChain", .refused)
    /// The migration would lose data, and the configuration does not allow the loss.
    public static let lossRefused = Self("lossRefused", .refused)
    /// Core Data's name for a table or a column of the target is not known.
    public static let layoutUnknown = Self("layoutUnknown", .refused)
    /// Mapping models of the chain are next to the models, but were not given.
    public static let mappingsNotGiven = Self("mappingsNotGiven", .refused)
    /// A value expression or a predicate cannot be read, or does not fit the model.
    public static let badExpression = Self("badExpression", .refused)
    /// A mapping compares objects with each other more often than the configuration allows.
    public static let quadratic = Self("quadratic", .refused)
    /// A property list or a keyed archive in a file is damaged or too large.
    public static let badArchive = Self("badArchive", .refused)
    /// A mandatory attribute or relationship would be empty.
    public static let mandatoryValue = Self("mandatoryValue", .refused)
    /// An attribute cannot take the values that its expression gives for some objects.
    public static let invalidValue = Self("invalidValue", .refused)
    /// A value of the store must be whole in memory, and needs more than the memory limit.
    public static let memoryLimitTooLow = Self("memoryLimitTooLow", .refused)
    /// Rows share values for which the target has a uniqueness constraint.
    public static let notUnique = Self("notUnique", .refused)
    /// Rows of the store break the rules of its model, and the configuration does not say how to migrate them.
    public static let damagedSource = Self("damagedSource", .refused)
    /// Pages of the store's file do not fit together.
    public static let storeDamaged = Self("storeDamaged", .refused)
    /// A database object that is not Core Data's cannot be copied, or an object to drop does not exist.
    public static let unknownObject = Self("unknownObject", .refused)
    /// A volume has less free space than the run may need.
    public static let diskFull = Self("diskFull", .refused)
    /// Another program changed the store since the run began.
    public static let sourceChanged = Self("sourceChanged", .refused)
    /// The migrated store was changed or removed after its verification.
    public static let destinationChanged = Self("destinationChanged", .refused)
    /// The run's folder was moved while a journal in it was open.
    public static let runMoved = Self("runMoved", .refused)
    /// An unfinished run is not the run of this call, or cannot be read.
    public static let runDiffers = Self("runDiffers", .refused)
    /// Another process works on this store.
    public static let runActive = Self("runActive", .refused)
    /// A file or folder exists at the path of an output.
    public static let outputExists = Self("outputExists", .refused)
    /// The path of an output belongs to SQLite, to a run, to snapshots or to external files.
    public static let reservedPath = Self("reservedPath", .refused)
    /// A file name leaves no room for the names of the files beside it.
    public static let nameTooLong = Self("nameTooLong", .refused)
    /// The snapshot cannot be restored.
    public static let badSnapshot = Self("badSnapshot", .refused)
    /// The snapshot does not exist, or is the only one and the store has its content already.
    public static let noSnapshot = Self("noSnapshot", .refused)
    /// The log of runs cannot be read, and only the log names the snapshot that must not be removed.
    public static let badLog = Self("badLog", .refused)
    /// No migration of the store is running that `control` could change.
    public static let noRun = Self("noRun", .refused)
    /// The running migration cannot follow the order now.
    public static let cannotControl = Self("cannotControl", .refused)
    /// The question before the migration was answered with no.
    public static let declined = Self("declined", .refused)

    // MARK: Failures: the store is unchanged

    /// SQLite reported an error.
    public static let databaseFailed = Self("databaseFailed", .failed)
    /// The system reported an error on a file.
    public static let fileFailed = Self("fileFailed", .failed)
    /// A snapshot could not be made, or does not decode to the content of the store.
    public static let snapshotFailed = Self("snapshotFailed", .failed)
    /// A row cannot be migrated: an expression or a policy failed on the row, or the row breaks a constraint.
    public static let rowFailed = Self("rowFailed", .failed)
    /// The primary keys of an entity's table have reached the largest integer.
    public static let noKeysLeft = Self("noKeysLeft", .failed)
    /// A defect of Ferry; please report it.
    public static let internalError = Self("internalError", .failed)
    /// A value that must be whole in memory needs more than the memory limit.
    public static let valueTooLarge = Self("valueTooLarge", .failed)
    /// The system has no memory left.
    public static let outOfMemory = Self("outOfMemory", .failed)
    /// A hook between two steps threw an error, changed a store that it must not change, or left it open.
    public static let stageFailed = Self("stageFailed", .failed)

    /// The command that runs at each event failed, which stops the migration.
    public static let eventCommandFailed = Self("eventCommandFailed", .failed)

    // MARK: Failed checks

    /// The migrated store differs from the result of the mapping models; the store is unchanged.
    public static let verificationFailed = Self("verificationFailed", .differs)
    /// The store has the target version by its metadata, but lacks tables or columns of it; the store is unchanged.
    public static let storeIncomplete = Self("storeIncomplete", .differs)
    /// The content of a snapshot has changed since the snapshot was taken.
    public static let snapshotDamaged = Self("snapshotDamaged", .differs)

    // MARK: Stopped early: the next call resumes the run

    /// The task was cancelled, or the caller requested a stop.
    public static let interrupted = Self("interrupted", .resumable)
    /// The budget of the call is spent.
    public static let budgetSpent = Self("budgetSpent", .resumable)
    /// Everything except the swap is done: the configuration holds it back.
    public static let swapHeld = Self("swapHeld", .resumable)
    /// An app has the store open, so the migrated store cannot replace it yet.
    public static let storeInUseAtSwap = Self("storeInUseAtSwap", .resumable)

    /// Every code of this version.
    public static let all: [Self] = [
        usage,
        notFound, notARegularFile, notADatabase, notACoreDataStore, storeInUse, storeReadOnly, hotJournal,
        unknownVersion, ambiguousVersion, noSuchVersion, unreachable, backward, missingPolicy, unsupported, badModel,
        badMapping, ambiguousChain, lossRefused, layoutUnknown, mappingsNotGiven, badExpression, quadratic,
        badArchive, mandatoryValue, invalidValue, memoryLimitTooLow, notUnique, damagedSource, storeDamaged,
        unknownObject,
        diskFull, sourceChanged,
        destinationChanged, runMoved, runDiffers, runActive, outputExists, reservedPath, nameTooLong, badSnapshot,
        noSnapshot, badLog, noRun, cannotControl, declined,
        databaseFailed, fileFailed, snapshotFailed, rowFailed, stageFailed, noKeysLeft, internalError, valueTooLarge,
        outOfMemory, eventCommandFailed,
        verificationFailed, storeIncomplete, snapshotDamaged,
        interrupted, budgetSpent, swapHeld, storeInUseAtSwap,
    ]
}
