internal import FerryBase

extension VerificationSummary {
    mutating func sort(by checks: [String]) {
        differences = checks.flatMap { check in differences.filter { $0.check.rawValue == check } }
    }

    /// Adds to the difference of the same check and entity, which keeps its first example.
    mutating func add(check: String, entity: String?, property: String? = nil, count: Int64, example: String?) {
        guard count > 0 else { return }
        let check = VerificationCheck(rawValue: check)
        if let index = differences.firstIndex(where: {
            $0.check == check && $0.entity == entity && $0.property == property
        }) {
            differences[index].count += count
        } else {
            differences.append(
                Difference(check: check, entity: entity, property: property, count: count, example: example))
        }
    }
}

/// A condition that a destination must meet; a check throws only if it cannot go on reading.
protocol Check: Sendable {
    static var name: String { get }
    /// Whether quick verification makes the check, too, as it does unless a check says otherwise.
    static var isQuick: Bool { get }
    /// Any store, unless a check says otherwise.
    static var scope: CheckScope { get }
    init()
    /// The parts that run concurrently with other checks, each on its own, in the order in which they report.
    func parts(in context: VerificationContext) throws -> [CheckPart]
    /// The parts that need the outcomes of the first parts of all checks.
    func laterParts(in context: VerificationContext) throws -> [CheckPart]
    /// The work that needs the lookup file, for the calling thread while walkers run the parts; nil if there is none.
    ///
    /// Beside the first parts, work that needs none of their outcomes.
    func workBeside(_ parts: PartsStage, in context: VerificationContext) throws -> (() throws -> Void)?
    /// Does the rest of the check, after all parts.
    func finish(_ outcomes: [PartOutcome], in context: VerificationContext) throws
    func run(in context: VerificationContext) throws
}

extension Check {
    static var isQuick: Bool { true }
    static var scope: CheckScope { .any }

    func parts(in context: VerificationContext) throws -> [CheckPart] {
        [CheckPart(name: Self.name, subject: nil) { context, _ in try Self().run(in: context) }]
    }

    func laterParts(in context: VerificationContext) throws -> [CheckPart] { [] }

    func workBeside(_ parts: PartsStage, in context: VerificationContext) throws -> (() throws -> Void)? { nil }

    func finish(_ outcomes: [PartOutcome], in context: VerificationContext) throws {}

    func run(in context: VerificationContext) throws {
        preconditionFailure("\(Self.name) is made in parts")
    }
}

enum PartsStage { case first, later }

/// The stores that a check needs: a migrated store with its source, or one store on its own.
enum CheckScope: Sendable {
    case migration
    case store
    case any

    func includes(storeAlone: Bool) -> Bool { self == .any || storeAlone == (self == .store) }
}

/// Every check, in the order in which checks run.
///
/// The others run only if the first leaves the destination readable; the last needs memory that they no longer do.
let allChecks: [any Check.Type] = [
    SchemaCheck.self,
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
    LinksCheck.self,
    ValuesCheck.self,
    MetadataCheck.self,
]
