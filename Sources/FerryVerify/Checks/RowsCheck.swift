internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// Every row of the destination against the row that the plain evaluator makes of its source, cell by cell; missing
/// rows and rows too many.
///
/// Objects that keep their keys are compared in one walk through source and destination in key order; new objects in a
/// second one, in the order in which their keys were given.
struct RowsCheck: Check {
    static let name = "rows"
    static let isQuick = false
    static let scope = CheckScope.migration

    func run(in context: VerificationContext) throws {
        var counts = RecountedMappings(context.step.entityMappings, known: context.progress.state.counts)
        let roots = context.destination.tables.keys.sorted(by: codeUnitOrder)
        for (number, root) in roots.enumerated() {
            try context.pausing("rows:\(root)") {
                let walk = try RowWalk(
                    root: root, number: number, from: context.progress.state.rows, in: context)
                try walk.run(&counts)
                context.progress.state.counts = counts.counts
            }
        }
        counts.compare(in: context)
    }
}

/// What each entity mapping read, wrote, dropped and merged by verification's own count.
struct RecountedMappings {
    private(set) var counts: [EntityMappingCounts]

    init(_ mappings: [ResolvedEntityMapping], known: [EntityMappingCounts]?) {
        let own = mappings.map { EntityMappingCounts(name: $0.name, source: $0.source, destination: $0.destination) }
        counts = known.flatMap { $0.map(\.name) == own.map(\.name) ? $0 : nil } ?? own
    }

    subscript(mapping: ResolvedEntityMapping) -> EntityMappingCounts {
        get { counts[mapping.position] }
        set { counts[mapping.position] = newValue }
    }

    func compare(in context: VerificationContext) {
        for recounted in counts {
            // What a policy made of an object only its code tells.
            guard let reported = context.verification.counts?.first(where: { $0.name == recounted.name }),
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
