internal import FerryBase
internal import FerryEngine
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerryStore

/// Finds the piece of a plan's work that cannot be divided and takes longest: a budget may be overrun by as much.
struct LongestUnit {
    /// Rows in a second, on a machine of today with a solid-state disk; what matters is the order of magnitude.
    private enum Rate {
        static let index = 1_500_000.0
        static let joinTable = 1_000_000.0
        static let transaction = 1_000_000.0
        static let chunk = 500_000.0
    }

    /// What the chunk sizer lets a chunk take.
    private static let chunkSeconds = 0.5

    let plan: MigrationPlan
    let configuration: Configuration
    let store: OpenedStore
    let inspection: StoreInspection
    /// What the first step does where it is one in place; nil without a step.
    let statements: StatementsInPlace?

    /// - Throws: ``FerryError`` when a version cannot be laid out.
    func find() throws -> PlanReport.LongestUnit? {
        guard plan.refusals.isEmpty else { return nil }
        var longest: PlanReport.LongestUnit?
        var units: [PlanReport.LongestUnit] = []
        if plan.isInPlace {
            units = [transaction(plan.steps, step: 1)]
        } else {
            for (index, step) in plan.steps.enumerated() {
                units += step.mode == .inPlace ? [transaction([step], step: index + 1)] : try copy(step, index + 1)
            }
        }
        for unit in units where unit.seconds > longest?.seconds ?? -1 { longest = unit }
        return longest
    }

    private var allRows: Int64 { inspection.entities.map(\.rows).reduce(0, +) }

    private func transaction(_ steps: [StepPlan], step: Int) -> PlanReport.LongestUnit {
        var rows = allRows
        // Of one step the store's schema tells which tables are written at all.
        if steps.count == 1, step == 1, let plan = inPlacePlan {
            let touched = Set(plan.touched.map { $0.uppercased() })
            rows = inspection.entities.filter { touched.contains($0.table.uppercased()) }.map(\.rows).reduce(0, +)
            rows += inspection.joinTables.filter { touched.contains($0.table.uppercased()) }.map(\.rows).reduce(0, +)
        }
        return .init(
            kind: .transaction, name: FileLayer.name(of: store.path), step: step, rows: rows,
            seconds: Double(rows) / Rate.transaction)
    }

    private var inPlacePlan: InPlacePlan? {
        do {
            return try statements?.plan()
        } catch {
            // What stands in its way is said elsewhere; all rows are a bound.
            return nil
        }
    }

    private func copy(_ step: StepPlan, _ number: Int) throws -> [PlanReport.LongestUnit] {
        let layout = try StoreLayout.canonical(for: step.resolved.destination.model, foundTriggers: .assumed)
        // Rows of later steps are not known; those of the first are as good a guess as any.
        var rows: [String: Int64] = [:]
        var largest: (name: String, rows: Int64) = ("", 0)
        for mapping in step.partitions.flatMap(\.entityMappings) {
            let found = mapping.rows > 0 ? mapping.rows : number > 1 ? allRows : 0
            if let table = layout.table(of: mapping.mapping.destination) { rows[table.name, default: 0] += found }
            if found >= largest.rows { largest = (mapping.mapping.name, found) }
        }
        var units = layout.indexes.map { index in
            unit(.index, index.name, number, rows: rows[index.table] ?? 0, at: Rate.index)
        }
        let links = inspection.joinTables.map(\.rows).max() ?? 0
        units += layout.joinTables.map { table in
            let known = inspection.joinTables.first { $0.table == table.name }?.rows
            let owner = layout.table(of: table.relationship.entity).flatMap { rows[$0.name] } ?? 0
            return unit(.joinTable, table.name, number, rows: known ?? max(links, owner), at: Rate.joinTable)
        }
        units.append(chunk(of: largest.name, largest.rows, number))
        return units
    }

    private func chunk(of name: String, _ all: Int64, _ step: Int) -> PlanReport.LongestUnit {
        let size: Int64 =
            switch configuration.chunkSize {
            case .rows(let rows): Int64(rows)
            case .automatic: Int64(Rate.chunk * Self.chunkSeconds)
            }
        return unit(.chunk, name, step, rows: min(size, all), at: Rate.chunk)
    }

    private func unit(
        _ kind: PlanReport.LongestUnit.Kind, _ name: String, _ step: Int, rows: Int64, at rate: Double
    ) -> PlanReport.LongestUnit {
        .init(kind: kind, name: name, step: step, rows: rows, seconds: Double(rows) / rate)
    }
}
