/// One thing that must hold for a destination.
///
/// A check compares and counts; it stops only where it cannot go on reading.
protocol Check: Sendable {
    /// The name that differences carry.
    static var name: String { get }
    /// Whether quick verification makes this check too.
    static var isQuick: Bool { get }
    static var scope: CheckScope { get }
    init()
    func run(in context: VerificationContext) throws
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
