/// One thing that must hold for a destination.
///
/// A check compares and counts; it stops only where it cannot go on reading.
protocol Check: Sendable {
    /// The name that differences carry.
    static var name: String { get }
    /// Whether quick verification makes this check too.
    static var isQuick: Bool { get }
    init()
    func run(in context: VerificationContext) throws
}

/// Every check, in the order in which they run; adding one means adding its file and its line here.
let allChecks: [any Check.Type] = [
    SchemaCheck.self,
    MetadataCheck.self,
    IntegrityCheck.self,
    IndexesCheck.self,
    KeysCheck.self,
    CountsCheck.self,
    ReferencesCheck.self,
    ConstraintsCheck.self,
    DerivedAttributesCheck.self,
    RTreesCheck.self,
    CarriedObjectsCheck.self,
    RowsCheck.self,
    RelationshipsCheck.self,
]
