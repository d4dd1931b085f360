internal import FerryMapping
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// Entity mappings that go through one table side by side, so that each of its pages is read once for all of them.
struct SharedPass {
    var plans: [EntityMappingPlan]

    /// Puts the mappings of a step, in the order of its partitions, into passes; no mapping comes before one that it
    /// may need.
    ///
    /// Mappings that keep their keys need nothing of each other: what became of an object follows from its own key. So
    /// those that stand one after another may go in any order, and those of one table go together.
    static func passes(of plans: [EntityMappingPlan], in context: StepContext) throws -> [SharedPass] {
        var passes: [SharedPass] = []
        var tables: [String: Int] = [:]
        for plan in plans {
            guard Self.isIndependent(plan.mapping) else {
                tables = [:]
                passes.append(SharedPass(plans: [plan]))
                continue
            }
            let table = try context.sourceTable(of: plan.mapping)
            if let known = tables[table] {
                passes[known].plans.append(plan)
            } else {
                tables[table] = passes.count
                passes.append(SharedPass(plans: [plan]))
            }
        }
        return passes
    }

    private static func isIndependent(_ mapping: ResolvedEntityMapping) -> Bool {
        mapping.keepsPrimaryKey && mapping.policy == nil && mapping.unique.isEmpty && mapping.iteration == nil
    }

    /// How many source objects there are; elements of an iteration are counted as they come.
    var total: Int64? {
        plans.contains { $0.isEstimated || $0.mapping.iteration != nil } ? nil : plans.reduce(0) { $0 + $1.rows }
    }

    /// What the first rows hold in values of any size, on average.
    ///
    /// It tells rows of ordinary width, for which a chunk begins with many, from rows with pictures in them.
    func rowBytes(in context: StepContext) throws -> Int {
        guard let table = plans.first.flatMap({ context.source.table(of: $0.mapping.source) }) else { return 0 }
        let sizes = table.columns.filter { ["BLOB", "VARCHAR"].contains($0.type.uppercased()) }.map { column in
            // The length of a BLOB is known without reading it; that of a text is not.
            "CASE typeof(\(column.name)) WHEN 'blob' THEN length(\(column.name)) WHEN 'text' "
                + "THEN length(CAST(\(column.name) AS BLOB)) ELSE 0 END"
        }
        guard !sizes.isEmpty else { return 0 }
        let sum = sizes.joined(separator: " + ")
        return try context.connection.with(.length, context.options.valueBytes) {
            do {
                let bytes = try context.connection.integer(
                    "SELECT sum(bytes) / count(*) FROM (SELECT \(sum) AS bytes FROM source.\(table.name) LIMIT 64)")
                return Int(clamping: bytes ?? 0)
            } catch let error as DatabaseError where error.isTooBig {
                return context.options.valueBytes
            }
        }
    }
}
