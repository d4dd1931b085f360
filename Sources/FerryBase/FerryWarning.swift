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
    /// What kind of warning it is: a named value, so that a new code breaks no caller.
    ///
    /// A name stays what it is.
    public struct Code: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
        /// The name that JSON output has.
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public var description: String { rawValue }
    }
}

extension FerryWarning.Code {
    /// Something that the rows hold is not taken along; the report's losses count it.
    public static let loss = Self(rawValue: "loss")
    /// No entity mapping reads an entity: its objects are dropped.
    public static let droppedEntity = Self(rawValue: "droppedEntity")
    /// An entity mapping only adds an entity: it stays empty.
    public static let emptyEntity = Self(rawValue: "emptyEntity")
    /// A relationship stays empty: no entity mapping makes the objects that it leads to.
    public static let emptyRelationship = Self(rawValue: "emptyRelationship")
    /// A mandatory relationship is empty in some rows: the app must relate them before it saves them.
    public static let emptyMandatoryRelationship = Self(rawValue: "emptyMandatoryRelationship")
    /// An entity mapping gives a mandatory attribute no value: the first object that it makes stops the run.
    public static let mandatoryValue = Self(rawValue: "mandatoryValue")
    /// A relationship and its inverse are both mapped, with different outcomes: the later one wins.
    public static let bothSidesMapped = Self(rawValue: "bothSidesMapped")
    /// Two entity mappings of a mapping model carry objects of one entity to its continuation: each may become two.
    public static let doubledObjects = Self(rawValue: "doubledObjects")
    /// A relationship becomes one to one: of several objects one stays related.
    public static let oneToOne = Self(rawValue: "oneToOne")
    /// A mapping model names a property that its destination does not have, and gives it no value.
    public static let unknownProperty = Self(rawValue: "unknownProperty")
    /// A part of a mapping model's file says too little to be used, and is left out.
    public static let leftOutOfMapping = Self(rawValue: "leftOutOfMapping")
    /// A part of a mapping model's file says too little, and is taken for what it most likely means.
    public static let completedMapping = Self(rawValue: "completedMapping")
    /// A model version cannot be read, and is passed over.
    public static let modelPassedOver = Self(rawValue: "modelPassedOver")
    /// A mapping model that was not given cannot be read.
    public static let mappingPassedOver = Self(rawValue: "mappingPassedOver")
    /// A mapping model leads between two versions with equal version hashes: it never runs.
    public static let mappingOfEqualVersions = Self(rawValue: "mappingOfEqualVersions")
    /// Folders beside the models were not searched for mapping models that were not given.
    public static let mappingsNotSearched = Self(rawValue: "mappingsNotSearched")
    /// Rows of the store break its own rules; the message says what becomes of them.
    public static let damagedRows = Self(rawValue: "damagedRows")
    /// Pages of the store's file do not fit together.
    public static let damagedPages = Self(rawValue: "damagedPages")
    /// The migration writes no row, and looks at none.
    public static let rowsNotChecked = Self(rawValue: "rowsNotChecked")
    /// Two values may come to name one external file, which only verification finds, and none was asked for.
    public static let sharedFilesNotChecked = Self(rawValue: "sharedFilesNotChecked")
    /// An object of the database that is not Core Data's is left out, as was asked.
    public static let droppedObject = Self(rawValue: "droppedObject")
    /// Persistent history of objects that do not keep their keys is left out.
    public static let droppedHistory = Self(rawValue: "droppedHistory")
    /// A table or a column of an earlier version, with rows in it, is left behind.
    public static let leftover = Self(rawValue: "leftover")
    /// A hot journal was rolled back before anything else.
    public static let recoveredJournal = Self(rawValue: "recoveredJournal")
    /// The store cannot be written, so that no lock keeps other programs out of it.
    public static let notLocked = Self(rawValue: "notLocked")
    /// Another program has the store open, so that the migration takes more of disk and memory.
    public static let openElsewhere = Self(rawValue: "openElsewhere")
    /// A run that was not finished has left a folder behind.
    public static let unfinishedRun = Self(rawValue: "unfinishedRun")
    /// The output could not be given the permissions of the store.
    public static let permissionsNotSet = Self(rawValue: "permissionsNotSet")
    /// The log of runs could not be read, and was begun anew.
    public static let logReplaced = Self(rawValue: "logReplaced")
    /// The migration is done, but cleaning up behind it failed: the next call on the store finishes that.
    public static let cleanUpFailed = Self(rawValue: "cleanUpFailed")
    /// A warning of a version that gave warnings no code.
    public static let unnamed = Self(rawValue: "unnamed")

    /// Every code of this version.
    public static let all: [Self] = [
        loss, droppedEntity, emptyEntity, emptyRelationship, emptyMandatoryRelationship, mandatoryValue,
        bothSidesMapped, doubledObjects, oneToOne, unknownProperty, leftOutOfMapping, completedMapping, modelPassedOver,
        mappingPassedOver, mappingOfEqualVersions, mappingsNotSearched, damagedRows, damagedPages, rowsNotChecked,
        sharedFilesNotChecked, droppedObject, droppedHistory, leftover, recoveredJournal, notLocked, openElsewhere,
        unfinishedRun, permissionsNotSet, logReplaced, cleanUpFailed, unnamed,
    ]
}
