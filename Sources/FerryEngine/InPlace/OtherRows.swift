internal import FerryBase
internal import FerryMapping
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// Looks for rows of unknown entities in tables that were not counted, while a statement goes over them anyway.
///
/// A row that the statement leaves out calls a function. Without such rows SQLite's own count of what it has changed is
/// the number of all rows.
package struct OtherRows {
    /// The cause of the error that ends a run in place which needs to know its rows beforehand; the store is as before.
    ///
    /// There are rows of unknown entities, or the statements of the plan do not go over all rows.
    package struct NeedsCounts: Error {}

    private static let function = "ferry_other_row"

    private let step: StepPlan
    private let plan: InPlacePlan
    private let found = Found()

    private final class Found { var rows: Int64 = 0 }

    init(_ step: StepPlan, _ plan: InPlacePlan, on connection: Connection) throws {
        (self.step, self.plan) = (step, plan)
        guard !step.uncounted.isEmpty else { return }
        guard step.uncounted.isSubset(of: plan.counted) else { throw Self.needsCounts }
        try connection.register(Self.function, arguments: 0, deterministic: false) { [found] _, result in
            found.rows += 1
            result.set(0 as Int64)
        }
    }

    static var needsCounts: FerryError {
        FerryError(
            .damagedSource, "Rows that were not counted beforehand have a Z_ENT that is no entity of their table.",
            remedy: "Run the command again with a snapshot: then all rows are looked at first.", cause: NeedsCounts())
    }

    /// A statement in the form that tells of other rows, where they were not looked for.
    func counting(_ statement: InPlaceStatement, into destination: StoreLayout) -> InPlaceStatement {
        guard let table = statement.countedEntity.flatMap({ destination.table(of: $0) }),
            let old = plan.continued[table.name], step.uncounted.contains(old),
            let sql = statement.telling(of: Self.function)
        else { return statement }
        var telling = statement
        telling.sql = sql
        return telling
    }

    /// - Throws: ``FerryError`` with ``NeedsCounts`` as its cause when rows were left out.
    func requireNone() throws { if found.rows > 0 { throw Self.needsCounts } }

    /// Adds what was counted on the way to what was counted beforehand, by entities of the store.
    func add(_ written: [String: Int64], to rows: inout [String: Int64]) {
        guard !step.uncounted.isEmpty else { return }
        for mapping in step.resolved.entityMappings where rows[mapping.source] == nil {
            rows[mapping.source] = written[mapping.destination]
        }
    }
}
