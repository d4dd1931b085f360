internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// Every destination row equals the row that the plain evaluator makes of its source, and no other row exists.
///
/// Objects that keep their keys are compared in one walk through source and destination in key order, range by range. A
/// second walk compares new objects in the order in which their keys were given, range by range (``NewRows``) unless
/// `unique` finds objects again.
struct RowsCheck: Check {
    static let name = "rows"
    static let isQuick = false
    static let scope = CheckScope.migration

    func parts(in context: VerificationContext) throws -> [CheckPart] {
        try context.destinationTables.flatMap { table -> [CheckPart] in
            if let kept = keptPart(of: table, in: context) { return [kept] }
            guard RowWalk.isDivisible(table.root, in: context) else { return [] }
            return try Self.ranges(of: table, in: context).map { name, range in
                try part(name, of: table, in: context) { context, counts in
                    let walk = try context.keptWalk(of: table.root) {
                        try RowWalk(.kept, of: table.root, in: context)
                    }
                    try walk.run(in: range, &counts)
                    return walk
                }
            } + (try NewRows(table.root, in: context)?.counts() ?? [])
        }
    }

    /// The reported counts of a kept table; nil for any other table.
    private func keptPart(of table: EntityTable, in context: VerificationContext) -> CheckPart? {
        guard KeptTables.hold(table.name, in: context) else { return nil }
        let names = Set(context.mappings(into: table.root).map(\.name))
        let counts = (context.verification.counts ?? []).filter { names.contains($0.name) }
        return CheckPart(name: "kept rows:\(table.root)", subject: table.name) { _, outcome in outcome.counts = counts }
    }

    static func ranges(
        of table: EntityTable, in context: VerificationContext
    ) throws -> [(name: String, range: KeyRange)] {
        let highest = try context.highestKeptKey(in: table.root)
        return try KeyRange.parts(
            "rows:\(table.root)", of: "destination.\(table.name)", columns: table.columns.count, reaching: highest,
            // Higher keys are those of new objects.
            last: context.newKeyMappings(into: table.root).isEmpty ? .max : highest, on: context.connection)
    }

    /// Compares new objects whose first key follows from the counts of earlier ranges.
    func laterParts(in context: VerificationContext) throws -> [CheckPart] {
        try context.destinationTables.flatMap { table in
            try (NewRows(table.root, in: context)?.rows() ?? []).map { name, made in
                try part(name, of: table, in: context) { context, counts in
                    let walk = try RowWalk(.made(made), of: table.root, in: context)
                    try walk.run(&counts)
                    return walk
                }
            }
        }
    }

    private func part(
        _ name: String, of table: EntityTable, in context: VerificationContext,
        _ compare: @escaping @Sendable (VerificationContext, inout RecountedMappings) throws -> RowWalk
    ) throws -> CheckPart {
        let total = try context.expectedRows(in: table.root)
        return CheckPart(name: name, subject: table.name, total: total) { context, outcome in
            var counts = RecountedMappings(context.step.entityMappings, known: nil)
            let walk = try compare(context, &counts)
            (outcome.counts, outcome.rows) = (counts.byMapping.filter { $0.read > 0 }, walk.done)
            let unshown = walk.keys.unshown
            if !unshown.isEmpty { outcome.unshown = unshown }
            let links = walk.linkSums
            if !links.isEmpty { outcome.links = links }
        }
    }

    /// Root tables that no part compares: with objects that `unique` looks up, or of policies.
    private func undivided(
        in context: VerificationContext
    ) -> [(number: Int, root: String, isDivisible: Bool)] {
        context.destinationTables.enumerated().compactMap { number, table in
            if KeptTables.hold(table.name, in: context) { return nil }
            let root = table.root
            let isDivisible = RowWalk.isDivisible(root, in: context)
            if isDivisible, context.newKeyMappings(into: root).isEmpty || NewRows(root, in: context) != nil {
                return nil
            }
            return (number, root, isDivisible)
        }
    }

    func hasWorkBeside(_ parts: PartsStage, in context: VerificationContext) throws -> Bool {
        parts == .first && !undivided(in: context).isEmpty
    }

    func runBeside(_ parts: PartsStage, in context: VerificationContext) throws {
        if parts == .later { return }
        let progress = context.progress
        var counts = RecountedMappings(context.step.entityMappings, known: progress.state.counts)
        for (number, root, isDivisible) in undivided(in: context) {
            let objects = try Self.objects(of: root, number: number, in: context)
            try context.pausing("rows:\(root)") {
                let walk = try RowWalk(
                    isDivisible ? .new : .all, of: root, finding: objects, from: progress.state.rows, in: context)
                try walk.run(&counts)
                progress.state.counts = counts.byMapping
                walk.saveLinks(to: &progress.state)
            }
        }
    }

    /// The objects of a root table that mappings find by `unique`; nil if none does.
    private static func objects(
        of root: String, number: Int, in context: VerificationContext
    ) throws -> UniqueObjects? {
        let mappings = context.newKeyMappings(into: root)
        guard mappings.contains(where: { !$0.unique.isEmpty }) else { return nil }
        let objects = try UniqueObjects(mappings, of: root, number: number, in: context)
        try objects.fill()
        return objects
    }

    /// Walks again over the new objects of a root table that one walk has compared, only to record the associations of
    /// mappings.
    static func walkAgain(_ root: String, recording mappings: Set<Int>, in context: VerificationContext) throws {
        let report = context.report
        defer { context.report = report }
        guard let number = context.destinationTables.firstIndex(where: { $0.root == root }) else { return }
        var counts = RecountedMappings(context.step.entityMappings, known: nil)
        let walk = try RowWalk(
            RowWalk.isDivisible(root, in: context) ? .new : .all, of: root,
            finding: objects(of: root, number: number, in: context), recording: mappings, in: context)
        try walk.run(&counts)
    }

    func finish(_ outcomes: [PartOutcome], in context: VerificationContext) throws {
        var counts = RecountedMappings(context.step.entityMappings, known: context.progress.state.counts)
        try context.progress.once("counts of parts", in: context) {
            for outcome in outcomes { counts.add(outcome.counts ?? []) }
            context.progress.state.counts = counts.byMapping
        }
        counts.compare(in: context)
    }
}

/// The rows that each entity mapping read, wrote, dropped and merged, as counted by verification.
struct RecountedMappings {
    /// By the position of the mapping.
    var byMapping: [EntityMappingCounts]

    init(_ mappings: [ResolvedEntityMapping], known: [EntityMappingCounts]?) {
        let own = mappings.map { EntityMappingCounts(name: $0.name, source: $0.source, destination: $0.destination) }
        byMapping = known.flatMap { $0.map(\.name) == own.map(\.name) ? $0 : nil } ?? own
    }

    mutating func add(_ others: [EntityMappingCounts]) {
        for other in others {
            guard let index = byMapping.firstIndex(where: { $0.name == other.name }) else { continue }
            byMapping[index].read += other.read
            byMapping[index].written += other.written
            byMapping[index].dropped += other.dropped
            byMapping[index].merged += other.merged
        }
    }

    func compare(in context: VerificationContext) {
        for recounted in byMapping {
            // A policy's counts depend on its code.
            guard let reported = context.verification.counts?.first(where: { $0.name == recounted.name }),
                reported.isEstimated != true,
                context.step.entityMapping(named: recounted.name)?.policy == nil
            else { continue }
            let wrong = [
                (reported.read, recounted.read), (reported.written, recounted.written),
                (reported.dropped, recounted.dropped), (reported.merged, recounted.merged),
            ].filter { $0.0 != $0.1 }
            context.report(
                CountsCheck.self, entity: recounted.destination, count: Int64(wrong.count),
                example: "entity mapping \(recounted.name)")
        }
    }
}
