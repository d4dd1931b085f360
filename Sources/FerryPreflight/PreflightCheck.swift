package import FerryBase
package import FerryEngine
internal import FerryMapping
internal import FerryModel
package import FerryPlan
package import FerrySQLite
package import FerryStore

/// A question to a store before its migration: it reads, and gives what it finds as values.
protocol PreflightCheck {
    init(input: PreflightInput, findings: PreflightFindings)

    var input: PreflightInput { get }
    /// What this check and those before it have found.
    var findings: PreflightFindings { get set }

    /// Says about which rows ``check()`` will ask, so that one pass over a table answers all checks.
    func ask() throws
    mutating func check() throws
}

/// What the checks know: the plan, and what was read of the store before it.
package struct PreflightInput {
    /// The store, as `main`.
    package var path: String
    package var connection: Connection
    package var plan: MigrationPlan
    package var inPlace: ProgramInPlace
    package var layout: StoreLayout
    package var inspection: StoreInspection
    /// The rows of exactly each entity.
    package var rows: [String: Int64]
    /// The tables whose pages and rows are checked; nil for all.
    package var checkedTables: Set<String>?
    package var scans: TableScans
    /// Those of the run's first step.
    package var options: EngineOptions
    /// Whether properties of a mirrored store may get another name or type.
    package var breaksSync: Bool

    package init(
        path: String, connection: Connection, plan: MigrationPlan, inPlace: ProgramInPlace,
        layout: StoreLayout, inspection: StoreInspection, rows: [String: Int64], checkedTables: Set<String>?,
        scans: TableScans, options: EngineOptions, breaksSync: Bool
    ) {
        (self.path, self.connection, self.plan) = (path, connection, plan)
        (self.inPlace, self.layout, self.inspection, self.rows) = (inPlace, layout, inspection, rows)
        (self.checkedTables, self.scans) = (checkedTables, scans)
        (self.options, self.breaksSync) = (options, breaksSync)
    }

    /// The step that reads the store; the stores that later steps read do not exist yet.
    var step: StepPlan { plan.steps[0] }
    /// Whether the run writes rows; if not, it ignores their damage.
    var writesRows: Bool { checkedTables?.isEmpty != true }
    var isInPlace: Bool { step.mode == .inPlace }
    /// Whether a later step copies: the copy heals damage that the first step keeps, and cannot carry every object.
    var isCopiedLater: Bool { isInPlace && !plan.isInPlace }

    func checks(_ table: String) -> Bool { checkedTables?.contains(table) != false }

    /// The requirements of the step that reads the store.
    var rowChecks: RowChecks { rowChecks(ofStep: 0, rows: rows) }

    /// The requirements of a step of the plan, as if it read the rows of the store.
    func rowChecks(ofStep index: Int, rows: [String: Int64]) -> RowChecks {
        RowChecks(
            ofStep: index, of: plan, scans: scans, layout: layout, rows: rows,
            longestValue: options.wholeValueBytes, now: options.now)
    }
}

/// What the checks find in a store.
package struct PreflightFindings {
    package internal(set) var refusals: [FerryError] = []
    package internal(set) var warnings: [FerryWarning] = []
    /// The losses by damage that is left out.
    package internal(set) var losses: [ChainLoss] = []
    package internal(set) var damage: [StoreDamage] = []
    /// Healed damage that the run's steps do not count themselves.
    package internal(set) var healed: [StoreDamage] = []
    package internal(set) var kept: [StoreDamage] = []
    package internal(set) var leftovers: [(leftover: Leftover, rows: Int64?)] = []
    package internal(set) var droppedObjects: [String] = []
}

extension PreflightCheck {
    func ask() {}

    var connection: Connection { input.connection }
    var layout: StoreLayout { input.layout }
    var step: StepPlan { input.step }
    var options: EngineOptions { input.options }
    var isInPlace: Bool { input.isInPlace }
    var isCopiedLater: Bool { input.isCopiedLater }

    mutating func refuse(_ refusal: FerryError) { findings.refusals.append(refusal) }

    mutating func warn(_ code: FerryWarning.Code, _ message: String, about subject: FerryWarning.Subject) {
        findings.warnings.append(FerryWarning(code, message, about: subject))
    }

    /// Notes rows, or values of a property, that are left out; `rows` is nil if they cannot be counted.
    mutating func noteLoss(_ entity: String, _ property: String? = nil, rows: Int64?, because what: String) {
        noteLoss(entity, property, rows.map { .exactly($0) } ?? .atMost(input.rows[entity] ?? 0), .damaged(what))
    }

    @discardableResult
    mutating func noteLoss(
        _ entity: String, _ property: String?, _ count: ChainLoss.Count, _ cause: ChainLoss.Cause
    ) -> ChainLoss {
        let loss = ChainLoss(
            entity: entity, property: property, entities: [entity],
            version: step.versions.last ?? step.resolved.destination.name, step: 1, cause: cause, count: count)
        findings.losses.append(loss)
        return loss
    }
}
