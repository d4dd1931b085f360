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
            let total = try context.expectedRows(in: table)
            return try Self.ranges(of: table, in: context).map { name, range in
                part(name, of: table, total) { context in
                    let walk = try context.keptWalk(of: table.root) { try RowWalk(of: table.root, in: context) }
                    walk.restart()
                    try walk.compareKept(in: range)
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
            last: RowWalk.isDivisible(table.root, in: context) && context.newKeyMappings(into: table.root).isEmpty
                ? .max : highest, on: context.connection)
    }

    /// Compares new objects whose first key follows from the counts of earlier ranges.
    func laterParts(in context: VerificationContext) throws -> [CheckPart] {
        try context.destinationTables.flatMap { table -> [CheckPart] in
            guard let rows = try NewRows(table.root, in: context)?.rows() else { return [] }
            let total = try context.expectedRows(in: table)
            return rows.map { name, made in
                part(name, of: table, total) { context in
                    let walk = try RowWalk(of: table.root, in: context)
                    try walk.compareNew(made)
                    return walk
                }
            }
        }
    }

    private func part(
        _ name: String, of table: EntityTable, _ total: Int64?,
        _ compare: @escaping @Sendable (VerificationContext) throws -> RowWalk
    ) -> CheckPart {
        CheckPart(name: name, subject: table.name, total: total) { context, outcome in
            let walk = try compare(context)
            context.report.checked += walk.checked
            walk.save(to: &outcome)
        }
    }

    /// Root tables that no part compares: with objects that `unique` looks up, or of policies.
    private func undivided(in context: VerificationContext) -> [EntityTable] {
        context.destinationTables.filter { table in
            if KeptTables.hold(table.name, in: context) { return false }
            let isDivided =
                RowWalk.isDivisible(table.root, in: context)
                && (context.newKeyMappings(into: table.root).isEmpty || NewRows(table.root, in: context) != nil)
            return !isDivided
        }
    }

    /// Compares the other tables.
    func workBeside(_ parts: PartsStage, in context: VerificationContext) throws -> (() throws -> Void)? {
        let tables = parts == .first ? undivided(in: context) : []
        return tables.isEmpty ? nil : { for table in tables { try compare(table, in: context) } }
    }

    /// Compares a table one range after the other: each is a unit that a later call does not repeat.
    private func compare(_ table: EntityTable, in context: VerificationContext) throws {
        let (root, result, progress) = (table.root, Self.name(ofWalk: table.root), context.progress)
        let walk = try RowWalk(
            of: root, finding: Self.objects(of: root, in: context),
            recording: context.relationForms.get().associated,
            total: RowWalk.isDivisible(root, in: context) ? nil : context.expectedRows(in: table),
            after: progress.state.outcomes[result], in: context)
        try Self.compare(table, by: walk, in: context) { name, work in
            try progress.once(name, in: context) {
                try work()
                context.report.checked += walk.checked
                walk.checked = 0
                walk.save(to: &progress.state.outcomes[result, default: PartOutcome()])
            }
        }
    }

    private static func name(ofWalk root: String) -> String { "all rows:\(root)" }

    /// Walks again over the new objects of a root table that one walk has compared, only to record the associations of a
    /// mapping.
    static func walkAgain(_ root: String, recording mapping: Int, in context: VerificationContext) throws {
        let report = context.report
        defer { context.report = report }
        let walk = try RowWalk(
            of: root, finding: objects(of: root, in: context), recording: [mapping], addsLinks: false, in: context)
        try compare(context.destinationTable(of: root), by: walk, in: context) { _, work in try work() }
    }

    /// Compares all rows of a table that no part compares, or those of new objects if parts compare the others.
    ///
    /// `unit` does the work on a range, unless an earlier call did.
    private static func compare(
        _ table: EntityTable, by walk: RowWalk, in context: VerificationContext,
        unit: (_ name: String, _ work: () throws -> Void) throws -> Void
    ) throws {
        let root = table.root
        if !RowWalk.isDivisible(root, in: context) {
            for (name, range) in try ranges(of: table, in: context) {
                try unit(name) { try walk.compareKept(in: range) }
            }
            walk.endKept()
        }
        let mappings = context.newKeyMappings(into: root)
        let (first, isAtEnd) = try context.highestKeptKey(in: root).addingReportingOverflow(1)
        // No key follows the last one.
        if isAtEnd, mappings.contains(where: { $0.policy == nil }) { throw NewRows.noKeysLeft(in: root) }
        if isAtEnd { return }
        var next = walk.nextKey ?? first
        try walk.begin(KeyRange(above: next - 1))
        for mapping in mappings {
            if mapping.policy != nil {
                try unit("inserted:\(root):\(mapping.position)") {
                    let inserted = context.verification.policies.newKeys[mapping.position]?[root] ?? 0
                    next = try NewRows.key(inserted, after: next, in: root)
                    try walk.passInserted(before: next)
                    walk.nextKey = next
                }
                continue
            }
            for (name, range) in try NewRows.ranges(of: mapping, in: context) {
                try unit("new:\(name)") {
                    try walk.compareNew(mapping, of: range, next: &next)
                    walk.nextKey = next
                }
            }
        }
        try unit("rest:\(root)") {
            if context.step.hasPolicies {
                try walk.passInserted(before: nil)
            } else {
                try walk.reportAdditionalRows(before: nil)
            }
        }
    }

    /// The objects of a root table that mappings find by `unique`; nil if none does.
    private static func objects(of root: String, in context: VerificationContext) throws -> UniqueObjects? {
        let mappings = context.newKeyMappings(into: root)
        guard mappings.contains(where: { !$0.unique.isEmpty }) else { return nil }
        return try UniqueObjects(mappings, of: root, in: context)
    }

    func finish(_ outcomes: [PartOutcome], in context: VerificationContext) throws {
        var counts = RecountedMappings(context.step.entityMappings)
        let walks = undivided(in: context).map { Self.name(ofWalk: $0.root) }
        for outcome in outcomes + walks.compactMap({ context.progress.state.outcomes[$0] }) {
            counts.add(outcome.counts ?? [])
        }
        counts.compare(in: context)
    }
}

/// The rows that each entity mapping read, wrote, dropped and merged, as counted by verification.
struct RecountedMappings {
    /// By the position of the mapping.
    var byMapping: [EntityMappingCounts]

    init(_ mappings: [ResolvedEntityMapping]) {
        byMapping = mappings.map {
            EntityMappingCounts(name: $0.name, source: $0.source, destination: $0.destination)
        }
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
