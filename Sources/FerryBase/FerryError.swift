/// The one error that a user of Ferry meets.
///
/// A message says what failed, on what, and the remedy says what to do next. Neither ever holds a row's values.
public struct FerryError: Error, Sendable {
    /// What kind of failure this is; new codes may be added in any version.
    public var code: Code
    /// What failed, and on what.
    public var message: String
    /// What the reader can do about it.
    public var remedy: String
    /// Where in the migration it happened; filled in on the way up.
    public var place: Place
    /// The error of the layer below.
    public var cause: (any Error)?

    public init(
        _ code: Code, _ message: String, remedy: String = "", place: Place = Place(), cause: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.remedy = remedy
        self.place = place
        self.cause = cause
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
        /// Stopped early; the same command goes on.
        case resumable
        /// The command line or the call was wrong.
        case usage
    }

    /// A named value, so that a new code breaks no caller.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        public let name: String
        public let consequence: Consequence

        public init(_ name: String, _ consequence: Consequence) {
            self.name = name
            self.consequence = consequence
        }

        public var description: String { name }
    }
}

extension FerryError.Code {
    public static let usage = Self("usage", .usage)

    // Refusals: nothing was touched.
    public static let notFound = Self("notFound", .refused)
    public static let notARegularFile = Self("notARegularFile", .refused)
    public static let notADatabase = Self("notADatabase", .refused)
    public static let notACoreDataStore = Self("notACoreDataStore", .refused)
    public static let storeInUse = Self("storeInUse", .refused)
    public static let hotJournal = Self("hotJournal", .refused)
    public static let unknownVersion = Self("unknownVersion", .refused)
    public static let ambiguousVersion = Self("ambiguousVersion", .refused)
    public static let noSuchVersion = Self("noSuchVersion", .refused)
    public static let unreachable = Self("unreachable", .refused)
    public static let backward = Self("backward", .refused)
    public static let missingPolicy = Self("missingPolicy", .refused)
    public static let unsupported = Self("unsupported", .refused)
    public static let badModel = Self("badModel", .refused)
    public static let badMapping = Self("badMapping", .refused)
    public static let ambiguousChain = Self("ambiguousChain", .refused)
    public static let lossRefused = Self("lossRefused", .refused)
    public static let layoutUnknown = Self("layoutUnknown", .refused)
    public static let mappingsNotGiven = Self("mappingsNotGiven", .refused)
    public static let badExpression = Self("badExpression", .refused)
    public static let badArchive = Self("badArchive", .refused)
    public static let mandatoryValue = Self("mandatoryValue", .refused)
    public static let notUnique = Self("notUnique", .refused)
    public static let damagedSource = Self("damagedSource", .refused)
    /// Pages of the store's file do not fit together.
    public static let storeDamaged = Self("storeDamaged", .refused)
    public static let unknownObject = Self("unknownObject", .refused)
    public static let diskFull = Self("diskFull", .refused)
    public static let sourceChanged = Self("sourceChanged", .refused)
    public static let destinationChanged = Self("destinationChanged", .refused)
    public static let runMoved = Self("runMoved", .refused)
    public static let runDiffers = Self("runDiffers", .refused)
    public static let runActive = Self("runActive", .refused)
    public static let outputExists = Self("outputExists", .refused)
    public static let badSnapshot = Self("badSnapshot", .refused)
    public static let noSnapshot = Self("noSnapshot", .refused)

    // Failures: the store is as before.
    public static let databaseFailed = Self("databaseFailed", .failed)
    public static let fileFailed = Self("fileFailed", .failed)
    public static let snapshotFailed = Self("snapshotFailed", .failed)
    public static let rowFailed = Self("rowFailed", .failed)
    public static let noKeysLeft = Self("noKeysLeft", .failed)
    public static let internalError = Self("internalError", .failed)
    public static let valueTooLarge = Self("valueTooLarge", .failed)
    public static let outOfMemory = Self("outOfMemory", .failed)

    // What was checked does not hold.
    public static let verificationFailed = Self("verificationFailed", .differs)
    public static let snapshotDamaged = Self("snapshotDamaged", .differs)

    // Stopped early; run again to go on.
    public static let interrupted = Self("interrupted", .resumable)
    public static let budgetSpent = Self("budgetSpent", .resumable)
    public static let swapHeld = Self("swapHeld", .resumable)
    public static let storeInUseAtSwap = Self("storeInUseAtSwap", .resumable)
}

extension FerryError: CustomStringConvertible {
    public var description: String { remedy.isEmpty ? message : "\(message) \(remedy)" }
}
