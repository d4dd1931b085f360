/// A warning about a migration that runs nevertheless.
///
/// ``code`` and ``subject`` are for programs, ``message`` is for people. None contains values of rows.
public struct FerryWarning: Sendable, Hashable {
    /// The kind of warning; any version may add codes.
    public var code: Code
    /// The entity, property, entity mapping, database object or path of the warning.
    public var subject: Subject
    /// The warning in one or two sentences.
    public var message: String

    public init(_ code: Code, _ message: String, about subject: Subject = Subject()) {
        self.code = code
        self.message = message
        self.subject = subject
    }

    /// The subject of a warning; parts that do not apply are nil.
    public struct Subject: Sendable, Hashable, Codable {
        /// An entity of the store's version, or of the step's destination version if only that has the entity.
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

/// A JSON object; earlier versions wrote the message alone, which is decoded as ``Code/unnamed``.
extension FerryWarning: Codable {
    private enum CodingKeys: CodingKey {
        case code, subject, message
    }

    public init(from decoder: any Decoder) throws {
        let values: KeyedDecodingContainer<CodingKeys>
        do {
            values = try decoder.container(keyedBy: CodingKeys.self)
        } catch DecodingError.typeMismatch {
            self.init(.unnamed, try decoder.singleValueContainer().decode(String.self))
            return
        }
        self.init(
            try values.decode(Code.self, forKey: .code), try values.decode(String.self, forKey: .message),
            about: try values.decode(Subject.self, forKey: .subject))
    }
}

extension FerryWarning {
    /// The kind of warning: a named value and no enumeration, so that a new code breaks no caller.
    ///
    /// A name never changes.
    public struct Code: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
        /// The name in JSON output.
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public var description: String { rawValue }
    }
}

extension FerryWarning.Code {
    /// The migration drops data of rows; the report's losses count the rows.
    public static let loss = Self(rawValue: "loss")
    /// No entity mapping reads an entity: its objects are dropped.
    public static let droppedEntity = Self(rawValue: "droppedEntity")
    /// An entity mapping only adds an entity, which stays empty.
    public static let emptyEntity = Self(rawValue: "emptyEntity")
    /// A relationship stays empty: no entity mapping makes its destination objects.
    public static let emptyRelationship = Self(rawValue: "emptyRelationship")
    /// A mandatory relationship is empty in some rows: the app must set it before it saves the objects.
    public static let emptyMandatoryRelationship = Self(rawValue: "emptyMandatoryRelationship")
    /// A to-many relationship has fewer or more objects in some rows than the new version allows.
    public static let wrongCount = Self(rawValue: "wrongCount")
    /// An entity mapping compares each object with each object of another entity; the message has the expected time.
    public static let quadratic = Self(rawValue: "quadratic")
    /// An entity mapping gives a mandatory attribute no value: its first object stops the run.
    public static let mandatoryValue = Self(rawValue: "mandatoryValue")
    /// A relationship and its inverse are both mapped, with different outcomes: the later mapping wins.
    public static let bothSidesMapped = Self(rawValue: "bothSidesMapped")
    /// Two entity mappings carry objects of one entity to the entity that continues it: an object may become two.
    public static let doubledObjects = Self(rawValue: "doubledObjects")
    /// A mapping model names a property, without a value, that the destination entity does not have.
    public static let unknownProperty = Self(rawValue: "unknownProperty")
    /// A part of a mapping model's file is too incomplete to be used, and is ignored.
    public static let leftOutOfMapping = Self(rawValue: "leftOutOfMapping")
    /// A part of a mapping model's file is incomplete; Ferry uses its most likely meaning.
    public static let completedMapping = Self(rawValue: "completedMapping")
    /// A model version cannot be read, and is ignored.
    public static let modelPassedOver = Self(rawValue: "modelPassedOver")
    /// Stores of the target version in a folder of models differ in their layout: the new store follows none of them.
    public static let layoutNotTaken = Self(rawValue: "layoutNotTaken")
    /// The form of a fetch index of the new version is not known: the new store does not have it.
    public static let indexLeftOut = Self(rawValue: "indexLeftOut")
    /// A given mapping model that leads from a version on the way is not used: its way loses more.
    public static let mappingNotUsed = Self(rawValue: "mappingNotUsed")
    /// A mapping model that the call does not give cannot be read.
    public static let mappingPassedOver = Self(rawValue: "mappingPassedOver")
    /// A mapping model leads between two versions with equal version hashes: it never runs.
    public static let mappingOfEqualVersions = Self(rawValue: "mappingOfEqualVersions")
    /// Ferry did not search all folders beside the models for mapping models.
    public static let mappingsNotSearched = Self(rawValue: "mappingsNotSearched")
    /// Rows of the store break the rules of its model; the message says how they are migrated.
    public static let damagedRows = Self(rawValue: "damagedRows")
    /// Pages of the store's file do not fit together.
    public static let damagedPages = Self(rawValue: "damagedPages")
    /// The rows of tables that the migration does not write were not checked.
    public static let rowsNotChecked = Self(rawValue: "rowsNotChecked")
    /// Two values may name one external file; only verification finds such files, and the call has none.
    public static let sharedFilesNotChecked = Self(rawValue: "sharedFilesNotChecked")
    /// A database object that is not Core Data's is dropped, as configured.
    public static let droppedObject = Self(rawValue: "droppedObject")
    /// Persistent history of objects that do not keep their keys is dropped.
    public static let droppedHistory = Self(rawValue: "droppedHistory")
    /// A table or a column of an earlier version, with rows in it, is not migrated.
    public static let leftover = Self(rawValue: "leftover")
    /// A column that an unfinished attempt left in the store is adopted, as configured.
    public static let adopted = Self(rawValue: "adopted")
    /// A table or a column that an unfinished attempt left in the store cannot be adopted; the message says why.
    public static let notAdopted = Self(rawValue: "notAdopted")
    /// The store is not writable, so it cannot be locked against other programs.
    public static let notLocked = Self(rawValue: "notLocked")
    /// The budget is shorter than the transaction on the store, which cannot be divided.
    public static let budgetTooShort = Self(rawValue: "budgetTooShort")
    /// Another program is using the store, and the call waits for it.
    public static let waitingForStore = Self(rawValue: "waitingForStore")
    /// An unfinished run has left a folder behind.
    public static let unfinishedRun = Self(rawValue: "unfinishedRun")
    /// The permissions of the store could not be copied to the output.
    public static let permissionsNotSet = Self(rawValue: "permissionsNotSet")
    /// The log of runs could not be read; Ferry began a new log.
    public static let logReplaced = Self(rawValue: "logReplaced")
    /// The migration is done, but work after it failed: Ferry recovered, or the next call on the store finishes the cleanup.
    public static let cleanUpFailed = Self(rawValue: "cleanUpFailed")
    /// The process used more memory than its limit.
    public static let memoryLimitPassed = Self(rawValue: "memoryLimitPassed")
    /// A warning from a version of Ferry whose warnings had no codes.
    public static let unnamed = Self(rawValue: "unnamed")

    /// Every code of this version.
    public static let all: [Self] = [
        loss, droppedEntity, emptyEntity, emptyRelationship, emptyMandatoryRelationship, wrongCount, quadratic,
        mandatoryValue,
        bothSidesMapped, doubledObjects, unknownProperty, leftOutOfMapping, completedMapping, modelPassedOver,
        layoutNotTaken, indexLeftOut, mappingNotUsed, mappingPassedOver, mappingOfEqualVersions, mappingsNotSearched,
        damagedRows, damagedPages, rowsNotChecked,
        sharedFilesNotChecked, droppedObject, droppedHistory, leftover, adopted, notAdopted, notLocked, budgetTooShort,
        waitingForStore, unfinishedRun, permissionsNotSet, logReplaced, cleanUpFailed, memoryLimitPassed,
        unnamed,
    ]
}
