/// One thing that must hold for a destination.
///
/// A check compares and counts; it stops only where it cannot go on reading.
protocol Check: Sendable {
    /// The name that differences carry.
    static var name: String { get }
    /// Whether quick verification makes this check too.
    static var isQuick: Bool { get }
    static var scope: CheckScope { get }
    /// Whether the others can only be made after it.
    static var isFirst: Bool { get }
    init()
    /// What can be made of it beside other checks, each part by itself, in the order in which they report.
    func parts(in context: VerificationContext) throws -> [CheckPart]
    /// What can be made of it beside other checks once those are made, of what they have found.
    func laterParts(_ outcomes: [String: PartOutcome], in context: VerificationContext) throws -> [CheckPart]
    /// Whether there is work for ``runBeside(in:)``.
    func hasWorkBeside(in context: VerificationContext) throws -> Bool
    /// Makes what needs the lookup file, on the calling thread, while walkers make the later parts.
    func runBeside(in context: VerificationContext) throws
    /// Makes what is left when all parts are made.
    func finish(_ outcomes: [PartOutcome], in context: VerificationContext) throws
    /// Makes the whole check, where it is one part.
    func run(in context: VerificationContext) throws
}

extension Check {
    static var isFirst: Bool { false }

    func parts(in context: VerificationContext) throws -> [CheckPart] {
        [CheckPart(name: Self.name, subject: nil) { context, _ in try Self().run(in: context) }]
    }

    func laterParts(_ outcomes: [String: PartOutcome], in context: VerificationContext) throws -> [CheckPart] { [] }

    func hasWorkBeside(in context: VerificationContext) throws -> Bool { false }

    func runBeside(in context: VerificationContext) throws {}

    func finish(_ outcomes: [PartOutcome], in context: VerificationContext) throws {}

    func run(in context: VerificationContext) throws {
        preconditionFailure("\(Self.name) is made in parts")
    }
}

/// What a check can be made of.
enum CheckScope: Sendable {
    /// A migrated store and the one it came from.
    case migration
    /// One store by itself.
    case store
    case any

    func includes(storeAlone: Bool) -> Bool { self == .any || storeAlone == (self == .store) }
}

/// Every check, in the order in which they run; adding one means adding its file and its line here.
let allChecks: [any Check.Type] = [
    SchemaCheck.self,
    MetadataCheck.self,
    HeaderNumbersCheck.self,
    IntegrityCheck.self,
    TallyCheck.self,
    IndexesCheck.self,
    KeysCheck.self,
    CountsCheck.self,
    EntityNumbersCheck.self,
    ReferencesCheck.self,
    ConstraintsCheck.self,
    DerivedAttributesCheck.self,
    RTreesCheck.self,
    ExternalFilesCheck.self,
    ExternalContentsCheck.self,
    CarriedObjectsCheck.self,
    RowsCheck.self,
    RelationshipsCheck.self,
]
