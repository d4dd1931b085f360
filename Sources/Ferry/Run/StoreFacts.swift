internal import FerryBase
internal import FerryModel
internal import FerryPlan
internal import FerryPreflight
internal import FerrySQLite
internal import FerryStore

/// The store's version and the target version of a migration.
struct MigrationEnds {
    var version: ModelVersion
    var target: ModelVersion
    /// The join tables of the target whose names no rule determines.
    var nameRefusals: [FerryError] = []
    /// The store whose tables, columns and indexes the new store gets.
    var layoutStore: String?
    /// About what an unfinished attempt left in the store, if the run takes that over.
    var warnings: [FerryWarning] = []
}

/// What is read of a store before its migration is planned.
struct StoreFacts {
    /// How much is read of the store's rows.
    enum Reading {
        /// As little as possible, for a plan without scans, and after the snapshot: no step needs counts.
        case little
        /// What a migration reads before it begins.
        case all
        /// Nothing, with the counts of an earlier call.
        case known([String: Int64])
    }

    let ends: MigrationEnds
    let layout: StoreLayout
    private(set) var inspection: StoreInspection
    /// Rows of exactly each entity, counted or estimated.
    private(set) var rows: [String: Int64]
    /// Whether the rows of some entity are estimated, or taken for it.
    private(set) var areEstimated: Bool
    /// What is asked about rows: of all tables whose rows are counted.
    private(set) var scans: TableScans
    /// The store's tables whose pages and rows are checked: those that the run writes; nil for all.
    private(set) var checkedTables: Set<String>?
    /// Whether losses are counted in full.
    let countsLosses: Bool

    /// Reads the facts; of all rows only the number in tables that a run turns out to write, if it `isScoped`.
    init(of store: OpenedStore, _ ends: MigrationEnds, _ reading: Reading, isScoped: Bool) throws {
        self.ends = ends
        var (counting, known) = (StoreInspection.Counting.estimated, [String: Int64]?.none)
        switch reading {
        case .little: countsLosses = false
        case .all: (countsLosses, counting) = (true, isScoped ? .estimated : .exact)
        case .known(let rows): (countsLosses, known) = (false, rows)
        }
        (inspection, layout) = try store.inspect(ends.version, counting: counting)
        rows = known ?? inspection.rowsOfEntities
        areEstimated = known == nil && inspection.entities.contains(where: \.isEstimated)
        scans = TableScans(on: store.sourceGuard.connection, of: counting.tables)
    }

    /// Counts the rows of the tables that a run writes, or of all with nil: only these are checked.
    mutating func count(in tables: Set<String>?, of store: OpenedStore) throws {
        checkedTables = tables
        // Counting the rows of tables that nothing writes would take longer than the rest, and comparing counts, too.
        if tables?.isEmpty == true { return areEstimated = true }
        let counting = tables.map(StoreInspection.Counting.exactly) ?? .exact
        inspection = try store.inspect(ends.version, counting: counting).0
        (rows, areEstimated) = (inspection.rowsOfEntities, inspection.entities.contains(where: \.isEstimated))
        scans = TableScans(on: store.sourceGuard.connection, of: tables)
    }

    /// Entities whose rows are counted, though those of others are estimated.
    var countedEntities: Set<String> {
        guard let checkedTables, !checkedTables.isEmpty else { return [] }
        return Set(inspection.entities.filter { !$0.isEstimated }.map(\.name))
    }

    /// The rows of the entities that were counted; estimates are in no snapshot's manifest.
    var countedRows: [String: Int64] {
        guard let checkedTables else { return rows }
        return rows.filter { entity, _ in layout.table(of: entity).map { checkedTables.contains($0.name) } == true }
    }

    /// Whether the run writes rows; if not, it ignores their damage.
    var writesRows: Bool { checkedTables?.isEmpty != true }
}

/// A plan with the facts about the store on which it is based.
@dynamicMemberLookup
struct Planned {
    var plan: MigrationPlan
    var facts: StoreFacts
    /// The program of the first step, if it runs in place; nil for a plan without steps.
    let inPlace: ProgramInPlace?
    /// Why steps are copies: by the executor that was asked for, and by what only the store shows.
    let copying: Planner.Copying
    var obstacles = Planner.Copying()
    /// The properties whose values are computed anew.
    var transformed: [Transformation] = []
    /// The estimates of the steps.
    var steps: [StepEstimate] = []

    subscript<Value>(dynamicMember path: KeyPath<StoreFacts, Value>) -> Value { facts[keyPath: path] }
}

extension StoreInspection {
    var rowsOfEntities: [String: Int64] { Dictionary(entities.map { ($0.name, $0.rows ?? 0) }, uniquingKeysWith: +) }
}
