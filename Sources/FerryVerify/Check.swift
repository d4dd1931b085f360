/// What verification found.
package struct VerificationReport: Sendable {
    package var mode: Verification.Mode
    /// Rows compared.
    package var checked: Int64
    /// Values made by a policy in code, which cannot be recomputed.
    package var notRecomputed: Int64
    package var differences: [Difference]

    package init(mode: Verification.Mode) {
        self.mode = mode
        checked = 0
        notRecomputed = 0
        differences = []
    }

    /// One kind of difference; the example is a place (table and key), never a value.
    package struct Difference: Sendable, Hashable, Codable {
        package var check: String
        package var entity: String?
        package var count: Int64
        package var example: String?

        package init(check: String, entity: String?, count: Int64, example: String?) {
            self.check = check
            self.entity = entity
            self.count = count
            self.example = example
        }
    }

    /// Puts differences into the order of their checks, whichever were made first.
    mutating func sort(by checks: [String]) {
        differences = checks.flatMap { check in differences.filter { $0.check == check } }
    }

    /// Adds to the difference of the same check and entity; the first example is kept.
    mutating func add(check: String, entity: String?, count: Int64, example: String?) {
        guard count > 0 else { return }
        if let index = differences.firstIndex(where: { $0.check == check && $0.entity == entity }) {
            differences[index].count += count
        } else {
            differences.append(Difference(check: check, entity: entity, count: count, example: example))
        }
    }
}

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

/// Every check, in the order in which they run, of which the others can only be made after the first; adding one means
/// adding its line here.
///
/// Which are made before COMMIT in place too, says ``VerificationInPlace``.
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
    SharedFilesCheck.self,
    AppObjectsCheck.self,
    RowsCheck.self,
    RelationshipsCheck.self,
]
