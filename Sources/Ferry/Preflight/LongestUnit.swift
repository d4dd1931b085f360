internal import FerryBase
internal import FerryEngine
internal import FerryMapping
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
    /// What each step does that is copied.
    let programs: [StepProgram?]
    let configuration: Configuration
    let store: OpenedStore
    let inspection: StoreInspection
    /// What the first step does where it is one in place; nil without a step.
    let statements: StatementsInPlace?

    func find() -> PlanReport.LongestUnit? {
        guard plan.refusals.isEmpty else { return nil }
        var longest: PlanReport.LongestUnit?
        var units: [PlanReport.LongestUnit] = []
        if plan.isInPlace {
            units = [transaction(plan.steps, step: 1)]
        } else {
            for (index, (step, program)) in zip(plan.steps, programs).enumerated() {
                units += program.map { copy(step, $0, index + 1) } ?? [transaction([step], step: index + 1)]
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

    private func copy(_ step: StepPlan, _ program: StepProgram, _ number: Int) -> [PlanReport.LongestUnit] {
        var units: [PlanReport.LongestUnit] = []
        for case (.index(let index), let rows) in program.operations.map({ ($0.work, $0.rows) }) {
            units.append(unit(.index, index.name, number, rows: rows ?? 0, at: Rate.index))
        }
        let links = inspection.joinTables.map(\.rows).max() ?? 0
        units += program.joinTables.map { fill in
            let known = inspection.joinTables.first { $0.table == fill.table.name }?.rows
            return unit(
                .joinTable, fill.table.name, number, rows: known ?? max(links, fill.owners), at: Rate.joinTable)
        }
        var largest: (name: String, rows: Int64) = ("", 0)
        for mapping in (number == 1 ? step : step.assuming(rows: allRows)).partitions.flatMap(\.entityMappings)
        where mapping.rows >= largest.rows {
            largest = (mapping.mapping.name, mapping.rows)
        }
        return units + [chunk(of: largest.name, largest.rows, number)]
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
