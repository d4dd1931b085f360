internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerryPreflight
internal import FerrySQLite
internal import FerryStore

/// A step's work and disk space, as far as they are known before it runs.
struct StepEstimate {
    /// The one transaction that keeps and alters tables, then the operations that fill the others.
    var statements: [WorkItem] = []
    var operations: [WorkItem] = []
    var verification: [WorkItem] = []
    var disk: DiskNeed.Step

    /// The most that a store counts, relative to the first one: a mapping may make far fewer objects than it can.
    private static let mostGrowth = 8.0

    /// The estimates of a plan's steps.
    ///
    /// - Throws: ``DatabaseError``, and ``FerryError`` when a version cannot be laid out.
    static func all(
        of planned: Planned, on connection: Connection, verify: VerifyMode, jobs: Int
    ) throws -> [Self] {
        let bytes = try connection.contentBytes()
        guard planned.plan.refusals.isEmpty else {
            return planned.plan.steps.map { _ in Self(disk: .init(destinationBytes: bytes)) }
        }
        var sizes = try TableSizes(of: planned.layout, planned.inspection, rows: planned.rows, on: connection)
        var size = Double(bytes)
        return try planned.plan.steps.enumerated().map { index, step in
            let work = try work(of: step, index, planned, sizes)
            // Pages of dropped tables stay in a file that keeps tables.
            size = max(work.altering == nil ? 0 : size, min(work.after.bytes, mostGrowth * Double(bytes)))
            sizes = work.after
            return Self(
                statements: work.statements, operations: work.operations,
                verification: work.verification(verify, jobs: jobs),
                disk: .init(
                    peak: Int64(min(work.peak(verifies: verify != .none), 0x1p52)), destinationBytes: Int64(size)))
        }
    }

    private static func work(
        of step: StepPlan, _ index: Int, _ planned: Planned, _ sizes: TableSizes
    ) throws -> StepWork {
        let source = sizes.layout
        let destination = try StoreLayout.canonical(for: step.resolved.destination.model, foundTriggers: .assumed)
        var altering: StepProgram?
        if index == 0, step.mode == .inPlace { _ = try planned.inPlace?.attempt() }
        if index == 0, step.mode == .inPlace, let found = planned.inPlace?.found {
            altering = found
        } else if let part = step.mode == .inPlace ? step : step.partInPlace {
            altering = program(inPlace: part, from: source, to: destination)
        }
        let filling =
            step.mode == .copy ? try StepProgram(copying: step, source: source, destination: destination) : nil
        return StepWork(
            step: step, number: index + 1, before: sizes, after: sizes.after(step.resolved, in: destination),
            altering: altering, filling: filling)
    }

    /// Returns nil if the step cannot run in place: the run tells why.
    private static func program(
        inPlace step: StepPlan, from source: StoreLayout, to destination: StoreLayout
    ) -> StepProgram? {
        do throws(StepObstacle) {
            return try StepProgram(
                inPlace: step.resolved, source: source, schema: InPlaceSchema(of: source), destination: destination,
                keptPart: step.keptPart)
        } catch {
            return nil
        }
    }
}
