internal import FerryMapping
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// The objects of tables that stay whose entity mappings have not had their turn: a copy of all tables would not have
/// them yet, so no policy may find them.
struct RowsToCome {
    private struct Rows {
        var numbers: [Int64]
        /// New objects, which a policy may have inserted already, have higher keys.
        var last: Int64

        var areOthers: String { "(Z_PK > \(last) OR NOT \(numbers.sorted().rowCondition()))" }
    }

    /// By the name of the table.
    private var tables: [String: Rows] = [:]
    private var positions: Set<Int> = []

    /// After the last mapping no object is still to come.
    static let none = RowsToCome()

    private init() {}

    /// Those of the mappings after a pass, which is given by the positions of its mappings.
    init(after pass: [Int], in context: StepContext) throws {
        guard let kept = context.step.keptPart?.positions else { return }
        let passes = StepOperation.passes(context.step, context.source)
        guard let place = passes.firstIndex(where: { !Set($0).isDisjoint(with: pass) }) else { return }
        for position in passes[(place + 1)...].joined() where kept.contains(position) {
            let mapping = context.step.resolved.entityMappings[position]
            let table = try context.sql.destinationTable(of: mapping)
            positions.insert(position)
            var rows =
                try tables[table]
                ?? Rows(numbers: [], last: NewKeys.lastKeptKey(inTableOf: mapping.destination, context))
            rows.numbers.append(try context.sql.destinationNumber(of: mapping))
            tables[table] = rows
        }
    }

    func hold(_ mapping: ResolvedEntityMapping) -> Bool { positions.contains(mapping.position) }

    /// SQL of the rows of a table of the new store that are not to come, for a FROM clause.
    func others(in table: String) -> String {
        guard let rows = tables[table] else { return "main.\(table)" }
        return "(SELECT * FROM main.\(table) WHERE \(rows.areOthers))"
    }

    /// A condition that only rows of the table satisfy that are not to come; begins with AND, or is empty.
    func condition(on table: String) -> String { tables[table].map { " AND \($0.areOthers)" } ?? "" }
}
